"""Which open sessions could take a request, and what to do if none could."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from bridge.config import Settings, git_of_caller
from bridge.errors import (
    BridgeError,
    CannotWaitHere,
    NoHost,
    StateRefused,
    StateUnavailable,
)
from bridge.protocol.ids import check_id
from bridge.protocol.request import Request
from bridge.protocol.status import Stage
from bridge.protocol.wording import in_shell
from bridge.routes import OWN, OwnRoute
from bridge.store import sessions, switch, wakeups
from bridge.store.clock import uptime
from bridge.store.sessions import Session
from bridge.store.store import Store
from bridge.store.switch import eligible

if TYPE_CHECKING:
    from bridge.bound.budgets import HeldBack

_LATER = "leave it for a later session: `hostbridge submit --timeout 1d`"
_BY_ROUTE: dict[OwnRoute, str] = {
    "local": "`--route local` (a local model)",
    "claude": "`--route claude` (claude -p)",
    "endpoint": "`--route endpoint`",
}
_ANSWERED_HERE = "have it answered here: "
_HERE = (
    f"{_ANSWERED_HERE}{_BY_ROUTE['local']}, {_BY_ROUTE['claude']} or "
    f"{_BY_ROUTE['endpoint']}, or BRIDGE_CLI_FALLBACK for every ask"
)
# The other routes have no conversation that is open.
_CLOSED = "ask a closed one: `--route claude --session ID`"
_OPEN_ALREADY = (
    "if it is open already, answer its question about trust, or type something into it"
)
_NO_COMMIT = (
    "Nothing was committed, and another try here would end the same way: ask the user "
    "to commit in a terminal of their own. "
)
_DIAGNOSE = "see what is wrong with `hostbridge doctor`"


def eligible_hosts(store: Store, request: Request) -> list[Session]:
    """Live sessions that may take the request."""
    live = sessions.live_sessions(
        store, which=lambda session: session.may_take(request)
    )
    return eligible(store, live, request)


def held_back_of(
    store: Store, request: Request, able: Sequence[Session]
) -> HeldBack | None:
    """What holds a request back in these sessions, which may take it."""
    if not able:
        return None
    from bridge.bound.budgets import held_back

    return held_back(request, able, store.claimed(), uptime(store.clock))


def waits_for(store: Store, request: Request | None) -> HeldBack | None:
    """The limit that a request waits for; None where none holds it back."""
    if request is None or request.stage_at(store.now_ms()) is not Stage.WAITING:
        return None
    return held_back_of(store, request, eligible_hosts(store, request))


def near_budgets(store: Store, request: Request | None) -> tuple[str, ...]:
    """The budgets that are nearly used up, of the session that holds a request."""
    claim = request.claim if request else None
    if claim is None or claim.route != "host":
        return ()
    from bridge.bound.budgets import about, uses_of

    now = uptime(store.clock)
    live = sessions.live_sessions(store, which=lambda s: s.host == claim.host)
    return tuple(
        f"{about(session, use)} are used ({use.key})"
        for session in live
        for use in uses_of(session, now)
        if use.is_near
    )


class NoHostReason(NamedTuple):
    """Why no open session could take a request, and the ways out.

    The first way out also helps a request that waits already. `is_chosen`: somebody
    chose it, with `--session` or `off --session`.
    """

    why: str
    ways: tuple[str, ...]
    is_chosen: bool = False


OFF = NoHostReason(
    "hostbridge is off in this project (`hostbridge off`)", ("`hostbridge on`", _LATER)
)
OFF_HERE = NoHostReason(
    "hostbridge is off in this shell (BRIDGE_OFF is set)", ("unset BRIDGE_OFF", _LATER)
)


class Hosts:
    """The open sessions that a program may ask."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    @property
    def is_off(self) -> bool:
        """Whether hostbridge is off, by the environment or by `hostbridge off`."""
        return self._settings.off or switch.is_off(self._store)

    def of(self, request: Request) -> list[Session]:
        """The sessions that may take the request."""
        return eligible_hosts(self._store, request)

    def can_answer(self, request: Request, *, within_s: float) -> bool:
        """Whether any may take it in this time, while the caller waits.

        A budget that is used up for longer is known beforehand, and that nothing wakes
        a session; when a busy agent ends is not.
        """
        from bridge.host.wake_problems import may_hear

        able = self.of(request)
        if not may_hear(self._store, able) or self.would_wait_for_itself(request):
            return False
        limit = held_back_of(self._store, request, able)
        return limit is None or limit.wait_s <= within_s

    def wake(self, request: Request) -> None:
        """Wake the sessions that may take it."""
        # The request is durable: a failed wake-up costs time, not the request.
        with suppress(StateUnavailable, StateRefused):
            wakeups.wake(self._store, self.of(request))

    def would_wait_for_itself(
        self, request: Request, client: int | None = None
    ) -> bool:
        """Whether the only host that could answer is waiting for the asker.

        That is the process `client`, by default the one that this runs under. A
        background subagent may wait, since the main thread is free to answer.
        """
        pid = self._settings.host_pid if client is None else client
        if pid is None:
            return False
        if any(host.host.pid != pid for host in self.of(request)):
            return False
        if request.parent_request_id is None:
            return True
        parent = self._store.find(check_id(request.parent_request_id))
        claim = parent.request.claim if parent and parent.request else None
        return not (claim and claim.background)

    def refuse_to_wait(
        self, request: Request, begun: str, way: str, asked: str
    ) -> None:
        """Refuse to wait in the foreground for what only the asker's session can do.

        Raises:
            CannotWaitHere: so it is; `begun` says what goes on without anybody waiting,
                and `way` how to see what came of it. `asked` is the id of that.
        """
        if self.would_wait_for_itself(request):
            # Whoever is not told tries the same commit again, or without the hook.
            is_commit = git_of_caller().index_file is not None
            raise CannotWaitHere(
                f"{begun} {asked}; this runs inside the only open session, which "
                f"answers when its turn comes. {_NO_COMMIT if is_commit else ''}{way}",
                request_id=asked,
            )

    def none_for(
        self,
        request: Request,
        *,
        can_be_left: bool = True,
        otherwise: str | None = None,
        routes: Collection[OwnRoute] = OWN,
    ) -> NoHost:
        """The error for a request that none could take: why, and what to do.

        Unless it `can_be_left`, no way out is to leave it for a later session.
        `otherwise` is how its asker has it answered without one; by default on one of
        these `routes`, which its definition takes.
        """
        reason = self._why_none(request)
        ways = [way for way in reason.ways if can_be_left or way != _LATER]
        if otherwise is not None and not self.is_off:
            ways = [otherwise, *(way for way in ways if way != _HERE)]
        elif len(routes) < len(OWN):
            ways = [here for way in ways if (here := _on_these(routes, way))]
        return NoHost(reason.why, ways=ways, stage=str(Stage.NO_HOST))

    def why_waiting(self, request: Request) -> NoHostReason | None:
        """Why a request waits for a session: none could take it, or none may now."""
        able = self.of(request)
        if self.is_off or not able:
            return self._why_none(request)
        limit = held_back_of(self._store, request, able)
        return NoHostReason(limit.why, (limit.cure,)) if limit else None

    def _why_none(self, request: Request) -> NoHostReason:
        if self._settings.off:
            return OFF_HERE
        if self.is_off:
            return OFF
        from bridge.host.install import find_dropped
        from bridge.host.nearby_sessions import find_nearby

        project = self._store.place.project
        live = sessions.live_sessions(self._store)
        has_hooks = bool(live) or self._has_hooks()
        owner = str(self._store.place.owner)
        if not live and self._has_lost_hooks():
            why = (
                f"the session that is open in {owner} has no hooks of hostbridge any "
                "more (`hostbridge uninstall`)"
            )
            ways = ("`hostbridge install`, then type something into it", _LATER, _HERE)
            reason = NoHostReason(why, ways)
        elif not live and (dropped := find_dropped(self._settings, project)):
            cure = f"correct that, then start `claude` in {owner}"
            reason = NoHostReason(dropped, (cure, _LATER, _HERE, _DIAGNOSE))
        else:
            reason = why_no_host(request, live, owner, has_hooks=has_hooks)
        if live or not (nearby := find_nearby(self._store)):
            return reason
        ask = in_shell("hostbridge", "-C", nearby.project, "ask")
        ask_there = f"ask that one: `{ask}`"
        why = f"{reason.why}; one is open in {nearby.project}"
        return NoHostReason(why, (ask_there, *reason.ways))

    def _has_hooks(self) -> bool:
        """Whether a session here would have our hooks, or has had them."""
        # Of the plugin, perhaps.
        has_had = (self._store.place.state / "sessions").is_dir()
        return has_had or self._is_installed()

    def _has_lost_hooks(self) -> bool:
        """Whether a session is open here that an uninstall took the hooks from."""
        from bridge.store.pins import Pins

        place = self._store.place
        is_unserved = any(Pins(place.guard).unserved(place))
        return is_unserved and not self._is_installed()

    def _is_installed(self) -> bool:
        from bridge.host.install import Installer

        try:
            return Installer(self._settings, self._store.place.project).is_installed()
        except BridgeError:
            return True


def _on_these(routes: Collection[OwnRoute], way: str) -> str:
    """A way out, which names these routes only; empty if it was nothing else."""
    if way != _HERE:
        return way
    named = " or ".join(text for route, text in _BY_ROUTE.items() if route in routes)
    return named and _ANSWERED_HERE + named


def why_no_host(
    request: Request, live: Sequence[Session], project: str, *, has_hooks: bool = True
) -> NoHostReason:
    """Why none of the live sessions could take a request."""
    meant = [s for s in live if request.session in (None, *s.ids)]
    willing = [session for session in meant if session.may_take(request)]
    if willing:
        on = " or ".join(f"`hostbridge on --session {s.session_id}`" for s in willing)
        why = "the bridge is switched off in every session that could take it"
        return NoHostReason(why, (on, _LATER), is_chosen=True)
    if meant:
        return NoHostReason(
            "every open session that could take it has declined",
            (
                "restart the session, perhaps with another model",
                "`hostbridge doctor --live` shows whether it takes any",
            ),
        )
    if request.session is not None:
        known = ", ".join(s.session_id for s in live) or "none"
        return NoHostReason(
            f"session {request.session!r} is not open in {project} (open: {known})",
            (
                f"open it again: `claude --resume {request.session}`",
                "ask without naming a session",
                _LATER,
            ),
            is_chosen=bool(live),
        )
    start = f"start `claude` in {project}"
    if not has_hooks:
        start = f"`hostbridge install` first (it was never run here), then {start}"
    here = _CLOSED if request.context_from else _HERE
    return NoHostReason(
        f"no Claude Code session with hostbridge is open in {project}",
        (start, _OPEN_ALREADY, _LATER, here, _DIAGNOSE),
    )
