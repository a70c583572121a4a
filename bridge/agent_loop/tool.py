"""A tool as the loop sees it: a name, a schema, and what a call of it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.agent_loop.command_tool import Ran


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave: text for the model.

    `ran` are the commands that ran in it; `is_script` tells that a script of the
    definition ran, `is_crash` that it failed by a fault of its own.
    """

    text: str
    ok: bool = True
    ran: tuple[Ran, ...] = ()
    is_script: bool = False
    is_crash: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """Something the model may call. `parameters` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]
    call: Callable[[dict[str, Any]], ToolResult]


def refused(why: object) -> ToolResult:
    """A call that could not be done, as the model is told."""
    return ToolResult(f"error: {why}", ok=False)


def clipped(text: str, max_chars: int) -> str:
    """The text, its middle left out where it is longer than `max_chars`."""
    if len(text) <= max_chars:
        return text
    half = max_chars // 2
    gap = len(text) - 2 * half
    return f"{text[:half]}\n… {gap:,} characters left out …\n{text[-half:]}"
