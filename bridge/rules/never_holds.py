"""What a condition asks for and can never be, judging by its compiled form. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.diagnostic import did_you_mean
from bridge.policy.rule_set import TOOL_EVENTS
from bridge.policy.tool_names import KNOWN, is_known

if TYPE_CHECKING:
    from collections.abc import Iterator

# Names that are null in all other events.
_ONLY_IN = {
    "prompt": {"on_user_prompt"},
    "tool_output": {"on_after_tool"},
    **dict.fromkeys(("tool_name", "tool_input", "command"), TOOL_EVENTS),
}


def never_holding(code: Any, event: str) -> Iterator[str]:
    """What is wrong in the compiled condition of a rule of this event."""
    match code:
        case ["name", _, name] if event not in _ONLY_IN.get(name, {event}):
            yield f"{event} has no {name}: it is null there"
        case ["compare", _, ["name", _, "tool_name"], "==", str(tool)]:
            yield from _unknown(tool)
        case ["compare", _, ["name", _, "tool_name"], "in", ["list", _, *tools]]:
            for tool in tools:
                yield from _unknown(tool)
        case ["matches", _, _, str(glob)] if not set(glob) & set("*?["):
            yield f"matches(…, {glob!r}) is this whole text only; a part is '*{glob}*'"
    for part in code if isinstance(code, list) else ():
        yield from never_holding(part, event)


def _unknown(tool: Any) -> Iterator[str]:
    if isinstance(tool, str) and "|" in tool:
        yield f"no tool is named {tool!r}: write tool_name in {tool.split('|')}"
    elif isinstance(tool, str) and not is_known(tool):
        yield f"no tool is named {tool!r}{did_you_mean(tool, KNOWN)}"
