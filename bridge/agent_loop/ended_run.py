"""The end of a run without an answer, and a tool's call that may bring it."""

from collections.abc import Callable
from typing import Any

from bridge.agent_loop.tool import ToolResult, refused
from bridge.agent_loop.workspace import Refused
from bridge.errors import ExtraMissing
from bridge.policy.command_grants import NotGranted
from bridge.protocol.failure_codes import MEANINGS
from bridge.protocol.judge import Judgement


class RunEnded(Exception):
    """The run is over without an answer."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        known = code if code in MEANINGS else "agent_error"
        self.verdict = Judgement(code=known, complaint=message)


def carry_out(
    tool: Callable[[dict[str, Any]], ToolResult], arguments: dict[str, Any]
) -> ToolResult:
    """Call a tool; what it may not do is its result.

    Raises:
        Ended: it needs what is not installed.
    """
    try:
        return tool(arguments)
    except ExtraMissing as exc:
        raise RunEnded("extra_missing", str(exc)) from None
    except (Refused, NotGranted, OSError) as exc:
        return refused(exc)
