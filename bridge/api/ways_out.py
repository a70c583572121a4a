"""Why no open session could take a request, and every way out of that."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from bridge.api.hosts import may_take
from bridge.errors import NoHost
from bridge.host.nearby_sessions import find_nearby
from bridge.protocol.status import Stage
from bridge.store import sessions, switch

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.protocol.request import Request
    from bridge.store.sessions import Session
    from bridge.store.store import Store

_LATER = "leave it for a later session: `hostbridge submit --timeout 86400`"
_HERE = (
    "have it answered here: `--route local` (a local model), `--route claude` "
    "(claude -p) or `--route endpoint`, or BRIDGE_CLI_FALLBACK for every ask"
)


def no_host(
    store: Store, request: Request, *, lease_s: float, is_off_here: bool
) -> NoHost:
    """The error for a request that no live session could take.

    `is_off_here` is whether the environment of who asks says so (`BRIDGE_OFF`).
    """
    if is_off_here:
        why, ways = _off_by("BRIDGE_OFF is set", "unset BRIDGE_OFF")
    elif switch.is_off(store):
        why, ways = _off_by("`hostbridge off`", "`hostbridge on`")
    else:
        live = sessions.live_sessions(store, lease_s=lease_s)
        why, ways = _cause(store.place.owner, request, live)
        if not live and (nearby := find_nearby(store.place, lease_s=lease_s)):
            why += f"; one is open in {nearby.project}"
            ways = (
                f"ask that one: `hostbridge -C {shlex.quote(str(nearby.project))} ask`",
                *ways,
            )
    return NoHost(f"{why}. Ways out: {'; '.join(ways)}", stage=str(Stage.NO_HOST))


def _off_by(cause: str, cure: str) -> tuple[str, tuple[str, ...]]:
    return f"the bridge is switched off here ({cause})", (cure, _LATER)


def _cause(
    project: Path, request: Request, live: list[Session]
) -> tuple[str, tuple[str, ...]]:
    """Why none of the live sessions could take a request, and the ways out."""
    meant = [session for session in live if may_take(session, request)]
    if meant:
        on = " or ".join(f"`hostbridge on --session {s.session_id}`" for s in meant)
        return "the bridge is switched off in every session that could take it", (
            on,
            _LATER,
        )
    if request.session is not None:
        known = ", ".join(s.session_id for s in live) or "none"
        return (
            f"session {request.session!r} is not open in {project} (open: {known})",
            (
                "ask without naming a session",
                f"open it again: `claude --resume {request.session}`",
                _LATER,
            ),
        )
    return f"no Claude Code session with hostbridge is open in {project}", (
        f"start `claude` in {project} (after `hostbridge install`)",
        _LATER,
        _HERE,
        "see what is wrong with `hostbridge doctor`",
    )
