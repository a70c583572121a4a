"""The queue: its operations, each as a whole in Redis (`queue.lua`), and its news.

Redis decides who holds an entry and which answer is first; it keeps time, too. A lease
is renewed while the work goes on; one that has run out may be taken by another machine.
What is in Redis may be lost: who asks puts the same entry there again.

| operation | an entry that is | becomes |
| --- | --- | --- |
| put | unknown | waiting |
| take | waiting, or held by nobody who renews | held, with the next epoch; or lost |
| renew | held, of this epoch | held for longer |
| publish | not answered, cancelled or lost | answered; a failure: of this epoch only |
| hand_back | held, of this epoch | waiting |
| cancel | waiting or held | cancelled |

Nothing here is trusted: keys may hold anything, and what is of another form is dropped.
"""

from __future__ import annotations

import secrets
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from bridge.errors import NoQueue
from bridge.protocol import plain_json
from bridge.protocol.record import json_object
from bridge.remote.keys import (
    GROUP,
    KEPT_S,
    LEASE_S,
    LEVELS,
    MAX_BYTES,
    MAX_KINDS,
    MAX_NEEDS_BYTES,
    SILENT_S,
    TAKEN_S,
    Address,
    Needs,
    News,
    Offer,
    Overview,
    Standing,
    Taken,
    Waiting,
)

if TYPE_CHECKING:
    from redis.commands.core import Script

_CONNECT_S = 5.0
_LOOK_S = 0.25
# Every so many takes begin with the lowest level.
_TURN = 8


class Queue:
    """A queue in Redis; threads may share it.

    Every method raises `NoQueue` if Redis cannot be reached or refuses.
    """

    def __init__(self, address: Address, password: str | None) -> None:
        self.address = address
        self._prefix = address.key()
        options: dict[str, Any] = {
            "db": address.db,
            "username": address.user,
            "password": password,
            "socket_timeout": _CONNECT_S,
            "socket_connect_timeout": _CONNECT_S,
            "retry": Retry(NoBackoff(), 0),
            "protocol": 2,
            "client_name": "hostbridge",
        }
        if address.scheme == "unix":
            options |= {"unix_socket_path": address.path}
            del options["socket_connect_timeout"]
        else:
            options |= {"host": address.host, "port": address.port}
        if address.scheme == "rediss":
            options |= {"ssl": True, "ssl_ca_certs": address.ca}
        self.client = redis.Redis(**options)
        source = Path(__file__).with_name("queue.lua").read_text()
        self._script: Script = self.client.register_script(source)

    def close(self) -> None:
        """Close its connections."""
        with suppress(redis.RedisError):
            self.client.close()

    def check(self) -> None:
        """Say something to Redis, so that what is wrong shows."""
        with self._in_our_words():
            self.client.ping()

    def put(
        self,
        entry: str,
        request: bytes,
        needs: Needs,
        *,
        level: str,
        left_ms: int,
        tries: int,
        to: str,
        machine: str,
    ) -> Standing:
        """Put an entry there, unless it is; its news go to `to` from now on."""
        state, epoch, by = self._run(
            "put", entry, request, needs.text, needs.kind, level, left_ms, tries, to,
            machine, KEPT_S * 1000,
        )  # fmt: skip
        return Standing(_text(state), _number(epoch), _text(by))

    def take(
        self, address: str, machine: str, kinds: Sequence[str], *, lease_s: float
    ) -> Taken | str:
        """Take the first entry of these kinds; otherwise the place of the last news."""
        if not kinds:
            kinds = ["none"]
        found = self._run(
            "take", "", address, machine, int(lease_s * 1000), KEPT_S * 1000, _TURN,
            *kinds,
        )  # fmt: skip
        if len(found) == 1:
            return _text(found[0])
        entry, epoch, left_ms, request, asker = found
        return Taken(_text(entry), int(epoch), int(left_ms), request, _text(asker))

    def renew(self, taken: Taken, address: str, *, lease_s: float = LEASE_S) -> str:
        """Hold it for longer; how it stands, `held` if it is still held by this."""
        lease_ms = int(lease_s * 1000)
        return _text(self._run("renew", taken.entry, taken.epoch, address, lease_ms))

    def publish(
        self, taken: Taken, answer: bytes, *, is_valid: bool, machine: str
    ) -> str:
        """Publish the answer to an entry; `won`, `late`, or `unknown`."""
        asker = taken.entry.partition(".")[0]
        found = self._run(
            "publish", taken.entry, taken.epoch, answer, int(is_valid), machine,
            KEPT_S * 1000, asker,
        )  # fmt: skip
        return _text(found)

    def hand_back(self, taken: Taken, needs: Needs) -> str:
        """Let others take what this holds."""
        return _text(self._run("hand_back", taken.entry, taken.epoch, needs.text))

    def cancel(self, entry: str) -> str:
        """Take an entry back, and have its holder stop."""
        return _text(self._run("cancel", entry, KEPT_S * 1000))

    def say(
        self, entry: str, what: str, value: bytes, *, to: Literal["to", "holder"]
    ) -> None:
        """Leave something with an entry, and tell its asker (`to`) or its holder."""
        self._run("say", entry, what, value, to, what)

    def read(self, entry: str, *names: str) -> list[bytes | None]:
        """What an entry holds under these names."""
        with self._in_our_words():
            key = self.address.key("r", entry)
            found: Any = self.client.hmget(key, list(names))
        return [each if each and len(each) <= MAX_BYTES else None for each in found]

    def took(self, entry: str) -> None:
        """The answer has arrived: it need not be kept for long."""
        with self._in_our_words():
            self.client.expire(self.address.key("r", entry), TAKEN_S)

    def late(self, machine: str) -> Iterator[tuple[str, str, bytes]]:
        """The late answers for a machine, each once: entry, who answered, answer."""
        key = self.address.key("late", machine)
        with self._in_our_words():
            found: Any = self.client.xrange(key, count=100)
            if found:
                self.client.xdel(key, *[place for place, _ in found])
        for _, each in found:
            yield (
                _text(each.get(b"entry")),
                _text(each.get(b"machine")),
                each.get(b"answer", b""),
            )

    def kinds(self) -> dict[str, Needs]:
        """The kinds of work that are there; what is of another form is left out."""
        found: dict[str, Needs] = {}
        with self._in_our_words():
            each: tuple[bytes, bytes]
            for each in self.client.hscan_iter(self.address.key("kinds"), count=500):
                if len(found) >= MAX_KINDS:
                    break
                if len(each[1]) <= MAX_NEEDS_BYTES and (needs := _needs(each[1])):
                    found[_text(each[0])] = needs
        return found

    def announce(self, offer: Offer) -> None:
        """Say what this machine serves."""
        text = plain_json.dumps(offer.to_data()).decode()
        with self._in_our_words():
            self._script(
                keys=[self.address.key("machines")],
                args=["announce", self._prefix, GROUP, offer.machine, text],
            )

    def leave(self, machine: str) -> None:
        """Say that this machine serves no longer."""
        with self._in_our_words():
            self.client.hdel(self.address.key("machines"), machine)

    def hear(
        self,
        places: Mapping[str, str],
        wait_s: float,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> list[News]:
        """What is new in streams after these places; waits for it for so long.

        Redis is asked once, and answers when there is something. `should_stop` is asked
        several times a second.
        """
        block_ms = max(1, int(wait_s * 1000))
        command = ("XREAD", "COUNT", 100, "BLOCK", block_ms, "STREAMS")
        until_s = time.monotonic() + wait_s + _CONNECT_S
        with self._in_our_words():
            pool = self.client.connection_pool
            line: Any = pool.get_connection()
            try:
                line.send_command(*command, *places, *places.values())
                while not line.can_read(_LOOK_S):
                    if should_stop() or time.monotonic() > until_s:
                        line.disconnect()
                        return []
                found = line.read_response()
            except BaseException:
                line.disconnect()
                raise
            finally:
                pool.release(line)
        return [*_news(found)]

    def look(self) -> Overview:
        """What is on the queue, and who serves."""
        with self._in_our_words():
            seconds, micros = self.client.time()
            now_ms = seconds * 1000 + micros // 1000
            kinds = [
                self._waiting(k, needs, now_ms) for k, needs in self.kinds().items()
            ]
            said: Any = self.client.hgetall(self.address.key("machines"))
        machines = []
        for text in said.values():
            at_ms, _, body = text.partition(b" ")
            offer = _offer(body)
            ago_s = (now_ms - _number(at_ms)) / 1000
            if offer is not None and ago_s <= SILENT_S:
                machines.append((offer, max(0.0, ago_s)))
        return Overview(
            tuple(kinds), tuple(sorted(machines, key=lambda m: m[0].machine))
        )

    def _waiting(self, kind: str, needs: Needs, now_ms: int) -> Waiting:
        waiting: dict[str, int] = {}
        held: dict[str, int] = {}
        lost, oldest = 0, None
        for level in LEVELS:
            key = self.address.key("s", level, kind)
            with suppress(redis.ResponseError):
                length: Any = self.client.xlen(key)
                pending: Any = self.client.xpending(key, GROUP)
                held[level] = pending["pending"]
                waiting[level] = max(0, length - held[level])
                dead: Any = self.client.xpending_range(
                    key, GROUP, "-", "+", 1000, idle=int(LEASE_S * 1000)
                )
                lost += len(dead)
                if waiting[level] and (since := self._first(key)) is not None:
                    oldest = min(since, oldest or since)
        oldest_s = None if oldest is None else max(0.0, (now_ms - oldest) / 1000)
        return Waiting(needs, waiting, held, lost, oldest_s)

    def _first(self, key: str) -> int | None:
        """When the first entry of a stream came that nobody has taken."""
        groups: Any = self.client.xinfo_groups(key)
        last = next(_text(g["last-delivered-id"]) for g in groups)
        found: Any = self.client.xrange(key, min=f"({last}", count=1)
        return _number(found[0][0].partition(b"-")[0]) if found else None

    def _run(self, name: str, entry: str, *args: Any) -> Any:
        key = self.address.key("r", entry)
        named = () if name in ("take", "renew") else (entry,)
        with self._in_our_words():
            return self._script(
                keys=[key], args=[name, self._prefix, GROUP, *named, *args]
            )

    @contextmanager
    def _in_our_words(self) -> Iterator[None]:
        try:
            yield
        except redis.RedisError as exc:
            raise in_our_words(self.address, exc) from None
        except (OSError, ssl.SSLError) as exc:
            raise in_our_words(self.address, exc) from None


# What Redis or TLS says, in part: what it means, what helps, and whether it may pass.
_MEANINGS: tuple[tuple[str, str, str, bool], ...] = (
    ("certificate", "its certificate is not trusted",
     "name the file of its authority: `&ca=FILE` at the end of BRIDGE_QUEUE", False),
    ("SSL", "it speaks no TLS, or another one",
     "use redis:// instead of rediss://, or the other way round", False),
    ("WRONGPASS", "it refuses this user or password",
     "correct the user in BRIDGE_QUEUE, and BRIDGE_QUEUE_PASSWORD", False),
    ("NOAUTH", "it wants a password", "set BRIDGE_QUEUE_PASSWORD", False),
    ("username-password", "it refuses this user or password",
     "correct the user in BRIDGE_QUEUE, and BRIDGE_QUEUE_PASSWORD", False),
    ("uthenticat", "it refuses this user or password",
     "correct the user in BRIDGE_QUEUE, and BRIDGE_QUEUE_PASSWORD", False),
    ("permission", "its ACL refuses this user something",
     "give the user the rights that docs/many-machines.md lists", False),
    ("NOPERM", "its ACL refuses this user something",
     "give the user the rights that docs/many-machines.md lists", False),
    ("OOM", "it is full (maxmemory)",
     "give it more memory, or let machines answer what waits", False),
    ("maxmemory", "it is full (maxmemory)",
     "give it more memory, or let machines answer what waits", False),
    ("MISCONF", "it cannot write to its disk",
     "see its log; make room on its disk", True),
    ("unknown command", "it is too old: XAUTOCLAIM is in Redis 6.2 and later",
     "install Redis 6.2 or later, or Valkey", False),
    ("READONLY", "it is a replica: it takes nothing", "name the primary", True),
    ("LOADING", "it is starting", "wait until it has read its files", True),
)  # fmt: skip


def in_our_words(address: Address, error: Exception) -> NoQueue:
    """An error of Redis, as ours."""
    said = " ".join(str(error).split())[:300] or type(error).__name__
    for sign, meaning, cure, is_passing in _MEANINGS:
        if sign in said:
            # What Redis says may hold the user's name, and never the password.
            return NoQueue(f"{address}: {meaning} ({said})", cure, passes=is_passing)
    is_lost = isinstance(error, (OSError, redis.ConnectionError, redis.TimeoutError))
    if is_lost:
        cure = "start Redis, or correct BRIDGE_QUEUE; see: hostbridge doctor"
        return NoQueue(f"{address} cannot be reached ({said})", cure, passes=True)
    return NoQueue(f"{address}: {said}", "see: hostbridge doctor", passes=False)


def new_address(machine: str) -> str:
    """An address of this process, at which it hears what is new."""
    return f"{machine}.{secrets.token_hex(8)}"


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _number(value: Any) -> int:
    digits = value if isinstance(value, bytes) else b""
    return int(digits) if digits.isdigit() and len(digits) < 19 else 0  # noqa: PLR2004


def _news(found: Any) -> Iterator[News]:
    for stream, entries in found or ():
        for place, said in entries:
            facts = dict(zip(said[::2], said[1::2], strict=False)) if said else {}
            what = _text(facts.get(b"what") or facts.get(b"kind"))
            yield News(_text(stream), _text(place), what, _text(facts.get(b"entry")))


def _needs(data: bytes) -> Needs | None:
    with suppress(ValueError, RecursionError):
        return Needs.model_validate(json_object(data))
    return None


def _offer(data: bytes) -> Offer | None:
    with suppress(ValueError, RecursionError):
        return Offer.model_validate(json_object(data))
    return None
