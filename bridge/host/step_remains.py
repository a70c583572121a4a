"""What is left of step workflows in a session: signs, and records that are broken."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.errors import BridgeError, StateUnavailable
from bridge.store import step_states

if TYPE_CHECKING:
    from bridge.host.context import HookContext
    from bridge.store.variables import Holder


def end_broken(
    hook: HookContext, holder: Holder, broken: step_states.BrokenState
) -> str | None:
    """Put a broken record aside; what its user is told, None if it stays."""
    try:
        with step_states.changing(hook.store) as state:
            step_states.put_aside(state, holder, broken.why)
    except (BridgeError, OSError):
        return None
    remove_stale_sign(hook)
    return (
        f"the session's workflow has ended, and is not in force: {broken.path} "
        f"{broken.why}. It was put aside, see `hostbridge doctor`"
    )


def remove_stale_sign(hook: HookContext) -> None:
    """Remove the sign of a session in which no workflow is left, under any id."""
    with suppress(StateUnavailable, OSError), step_states.changing(hook.store) as state:
        step_states.remove_sign(state, hook.session.session_id, hook.session.ids)
