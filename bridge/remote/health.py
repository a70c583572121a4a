"""How a queue is, and what is wrong with it: for `status --queue` and `doctor`."""

from __future__ import annotations

import re
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import redis

from bridge.protocol.wording import in_shell, seconds
from bridge.remote.keys import Address, Needs, Offer, Overview, Waiting

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.remote.queue import Queue

_OLDEST = (6, 2)
_FAR_S = 60.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_CONFIG = ("appendonly", "appendfsync", "maxmemory-policy", "maxmemory")
_SHORT = 8


class Trouble(NamedTuple):
    """Something wrong: what was found, why that matters, what to do."""

    found: str
    cause: str
    cure: str


class Facts(NamedTuple):
    """What Redis says of itself; empty for what it does not tell this user."""

    version: str
    config: dict[str, str]
    ahead_s: float

    @property
    def words(self) -> str:
        """In one line."""
        said = [f"{key} {value}" for key, value in self.config.items()]
        return ", ".join([f"Redis {self.version or '(no version)'}", *said])


def facts_of(queue: Queue) -> Facts:
    """Ask Redis for its version, its settings and its time.

    Raises:
        NoQueue: it cannot be reached, or refuses this user.
    """
    queue.check()
    info: Any = {}
    config: Any = {}
    with suppress(redis.ResponseError):
        info = queue.client.info("server")
    with suppress(redis.ResponseError):
        config = queue.client.config_get(*_CONFIG)
    queue.look()
    micros = queue.client.time()
    ahead_s = micros[0] + micros[1] / 1e6 - time.time()
    told = {_text(key): _text(value) for key, value in config.items()}
    return Facts(
        _text(info.get("valkey_version") or info.get("redis_version")),
        {key: told[key] for key in _CONFIG if key in told},
        ahead_s,
    )


def troubles(queue: Queue, settings: Settings) -> Iterator[Trouble]:
    """What is wrong with the queue and with what waits there, the worst first.

    Raises:
        NoQueue: it cannot be used at all.
    """
    facts, address = facts_of(queue), queue.address
    numbers = [int(each) for each in re.findall(r"\d+", facts.version)[:2]]
    if numbers and tuple(numbers) < _OLDEST:
        yield Trouble(
            f"{address} is version {facts.version}",
            "entries of dead machines are taken by XAUTOCLAIM, which is in 6.2",
            "install Redis 6.2 or later, or Valkey",
        )
    yield from _settings(address, facts)
    if address.scheme == "redis" and address.host not in _LOOPBACK:
        yield Trouble(
            f"{address} is reached without TLS",
            "whoever is on the way reads what is asked and answered, and the password",
            "have Redis speak TLS, and name it by rediss://",
        )
    if (apart_s := round(abs(facts.ahead_s))) > _FAR_S:
        yield Trouble(
            f"the clock of Redis differs by {seconds(apart_s)} from this one",
            "deadlines hold anyway; the times in the records of two machines differ",
            "set both clocks by NTP",
        )
    file = settings.queue_password_file
    with suppress(OSError):
        if file is not None and stat.S_IMODE(file.stat().st_mode) & 0o077:
            yield Trouble(
                f"{file} can be read by others",
                "it holds the password of the queue",
                in_shell("chmod", "600", file),
            )
    seen = queue.look()
    for kind in seen.kinds:
        count = sum(kind.waiting.values())
        if count and (why := why_waiting(kind, seen)):
            yield Trouble(
                f"{count} wait for {kind.needs}: {why}",
                "no machine that serves this queue takes them",
                "serve them: hostbridge serve --queue, in that project",
            )
        if kind.lost:
            yield Trouble(
                f"{kind.lost} of {kind.needs} are held by machines that are gone",
                "their leases have run out, and nobody has taken them since",
                "serve them: hostbridge serve --queue, in that project",
            )


def _settings(address: Address, facts: Facts) -> Iterator[Trouble]:
    config = facts.config
    if config.get("appendonly", "yes") != "yes":
        yield Trouble(
            f"{address} has `appendonly {config['appendonly']}`",
            "a restart forgets what waits and what was answered: askers put it there "
            "again, and it may run twice",
            "set `appendonly yes` in its redis.conf",
        )
    elif config.get("appendfsync", "always") == "no":
        yield Trouble(
            f"{address} has `appendfsync no`",
            "a power cut forgets up to half a minute",
            "set `appendfsync everysec`, or `always`",
        )
    policy = config.get("maxmemory-policy", "noeviction")
    if policy != "noeviction" and config.get("maxmemory", "0") != "0":
        yield Trouble(
            f"{address} has `maxmemory-policy {policy}`",
            "when it is full it throws away what waits, instead of saying so",
            "set `maxmemory-policy noeviction`",
        )


def why_waiting(kind: Waiting, seen: Overview) -> str:
    """Why nobody takes what is of a kind; empty if some machine serves it."""
    needs, machines = kind.needs, [offer for offer, _ in seen.machines]
    if not machines:
        return "no machine serves this queue"
    of_route = [m for m in machines if needs.route is None or needs.route in m.routes]
    if not of_route:
        return f"no machine offers the route {needs.route}"
    same = [m for m in of_route if _has(m, needs)]
    if not same:
        others = [m.machine for m in of_route if needs.agent in m.agents]
        if others and needs.digest:
            return f"{', '.join(others)} has another definition of it"
        return "no machine has this agent"
    near = [m for m in same if m.project == needs.project]
    if not near:
        where = ", ".join(f"{m.machine} ({m.project[:_SHORT]})" for m in same)
        return (
            f"it is of the project {needs.project[:_SHORT]}, and {where} serves "
            "another; name one by `&project=NAME` in BRIDGE_QUEUE on both sides"
        )
    if needs.same_commit and not any(m.commit == needs.commit for m in near):
        return "no machine has this commit checked out"
    return ""


def _has(offer: Offer, needs: Needs) -> bool:
    if needs.digest is None:
        # The client's own agent, or one that needs no definition.
        return needs.agent not in offer.agents
    return bool(offer.agents.get(needs.agent) == needs.digest)


def lines_of(queue: Queue) -> Iterator[str]:
    """The queue for people, a line each.

    Raises:
        NoQueue: it cannot be used.
    """
    facts, seen = facts_of(queue), queue.look()
    yield f"queue {queue.address}: {facts.words}"
    levels = {
        level: sum(kind.waiting.get(level, 0) for kind in seen.kinds)
        for level in ("high", "normal", "low")
    }
    held = sum(sum(kind.held.values()) for kind in seen.kinds)
    oldest = max((k.oldest_s for k in seen.kinds if k.oldest_s is not None), default=0)
    waits = ", ".join(f"{count} {level}" for level, count in levels.items())
    since = f"; the oldest for {seconds(round(oldest))}" if any(levels.values()) else ""
    yield f"waiting: {waits}; held: {held}{since}"
    for kind in seen.kinds:
        count = sum(kind.waiting.values())
        if count and (why := why_waiting(kind, seen)):
            yield f"  {count} wait for {kind.needs}: {why}"
        if kind.lost:
            yield f"  {kind.lost} of {kind.needs}: the machines that had them are gone"
    yield f"machines: {len(seen.machines) or 'none'}"
    for offer, ago_s in seen.machines:
        routes = ", ".join(offer.routes)
        commit = f", commit {offer.commit[:_SHORT]}" if offer.commit else ""
        yield (
            f"  {offer.machine}: {routes}; {offer.busy} of {offer.slots} at work; "
            f"project {offer.project[:_SHORT]}{commit}; heard {ago_s:.0f} s ago"
        )


def data_of(queue: Queue) -> dict[str, Any]:
    """The same as data."""
    facts, seen = facts_of(queue), queue.look()
    return {
        "queue": str(queue.address),
        "version": facts.version,
        "config": facts.config,
        "clockAheadS": round(facts.ahead_s, 3),
        "waiting": [
            {
                "needs": kind.needs.to_data(),
                "waiting": kind.waiting,
                "held": kind.held,
                "lost": kind.lost,
                "oldestS": kind.oldest_s,
                "why": why_waiting(kind, seen) if any(kind.waiting.values()) else "",
            }
            for kind in seen.kinds
        ],
        "machines": [
            offer.to_data() | {"heardS": round(ago_s, 1)}
            for offer, ago_s in seen.machines
        ],
    }


def _text(value: Any) -> str:
    return (
        value.decode("utf-8", "replace")
        if isinstance(value, bytes)
        else str(value or "")
    )
