"""What the agent of a request was told, word for word, as far as that is recorded.

In an open session and by `claude -p` it follows from the request; in a run of our own
the run's log has it, where long texts are cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.protocol.contract import full_prompt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.protocol.request import Request

# Of the run's log: one message that the run begins with.
TOLD = "told"


def told_to(
    request: Request | None, turns: Iterable[dict[str, Any]]
) -> tuple[tuple[str, str], ...]:
    """Role and words of each message; none for what nobody has been told yet."""
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
