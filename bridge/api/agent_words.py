"""The exact prompt of a request's agent, as far as it is recorded.

For an open session and `claude -p` it follows from the request; on the routes local and
endpoint it is in the run's log, where long texts are cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.protocol.contract import full_prompt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.protocol.request import Request

# In the run's log: one message that the run begins with.
TOLD = "told"


def told_to(
    request: Request | None, turns: Iterable[dict[str, Any]]
) -> tuple[tuple[str, str], ...]:
    """Role and text of each message; nothing if no agent has been told anything yet."""
    logged = [event for event in turns if event.get("event") == TOLD]
    if logged:
        return tuple((str(e.get("role")), str(e.get("text"))) for e in logged)
    claim = request.claim if request else None
    if request is None or claim is None:
        return ()
    if claim.route == "host":
        words = full_prompt(request.spoken, request.answer_schema)
        return (("user", words),) if claim.launched_at is not None else ()
    if claim.route == "claude":
        from bridge.claude_cli.command import prompt_of

        return (("user", prompt_of(request)),)
    return ()
