"""A tool of the loop, and the result of a call."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bridge.agent_loop.command_tool import Ran


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call: text for the model.

    `ran` lists the commands that it ran. `is_script` means that the tool is a script of
    the definition, `is_crash` that this script is broken.
    """

    text: str
    ok: bool = True
    ran: tuple[Ran, ...] = ()
    is_script: bool = False
    is_crash: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call; `parameters` is the JSON Schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]
    call: Callable[[dict[str, Any]], ToolResult]


def object_schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """The JSON Schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def refused(why: object) -> ToolResult:
    """The result of a call that was refused."""
    return ToolResult(f"error: {why}", ok=False)


def clipped(text: str, max_chars: int) -> str:
    """The text, without its middle if it is longer than `max_chars`."""
    if len(text) <= max_chars:
        return text
    half = max_chars // 2
    gap = len(text) - 2 * half
    return f"{text[:half]}\n… {gap:,} characters left out …\n{text[-half:]}"
