"""The tool by which an agent of our own loop asks who asks it, where it may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agent_loop.ended_run import RunEnded
from bridge.agent_loop.tool import Tool, ToolResult, object_schema, refused
from bridge.protocol.question import KEY, MOST, read_question, told

if TYPE_CHECKING:
    from bridge.protocol.outcome import Control
    from bridge.protocol.request import Request

NAME = "ask_question"
_ABOUT = (
    "Ask who wants your answer something that only they can say, once for all that you "
    "need. `choices`: the replies to choose from; or `form`: the JSON Schema of the "
    "reply; a text otherwise."
)
_PARAMETERS = object_schema(
    {
        "words": {"type": "string", "minLength": 1, "maxLength": 2000},
        "choices": {"type": "array", "items": {"type": "string"}, "maxItems": 20},
        "form": {"type": "object"},
    },
    "words",
)


def ask_tool(request: Request, control: Control) -> tuple[Tool, ...]:
    """The tool, for an agent that may ask; otherwise none."""
    if not request.is_told_to_ask:
        return ()
    asked = len(request.exchanges)

    def call(arguments: dict[str, Any]) -> ToolResult:
        nonlocal asked
        if asked >= MOST:
            return refused(f"you have asked {MOST} questions, the most; answer now")
        question = read_question({KEY: {**arguments, "form": _form(arguments)}})
        if isinstance(question, str):
            return refused(question)
        exchange = control.ask(question)
        if exchange is None:
            raise RunEnded("agent_stopped", "it asked, and nobody has replied yet")
        asked += 1
        return ToolResult(told(exchange, is_last=asked >= MOST))

    return (Tool(NAME, _ABOUT, _PARAMETERS, call),)


def _form(arguments: dict[str, Any]) -> dict[str, Any]:
    if choices := arguments.get("choices"):
        return {"enum": choices}
    form: dict[str, Any] = arguments.get("form") or {"type": "string"}
    return form
