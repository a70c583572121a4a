"""Fields of `tool_input` that a rule asks for, and that its tools do not have. Pure.

Source: Claude Code tools reference, "Tool input"; tools that are not listed here, and
those of MCP servers, may have any field.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bridge.hints import did_you_mean
from bridge.policy.condition import operations
from bridge.policy.tool_classes import tools_of

_SHELL = (
    "command description timeout timeout_ms run_in_background persistent "
    "dangerouslyDisableSandbox"
)
_FIELDS = {
    **dict.fromkeys(tools_of("bash"), _SHELL),
    "Edit": "file_path old_string new_string replace_all",
    "MultiEdit": "file_path edits",
    "NotebookEdit": "notebook_path new_source cell_id cell_type edit_mode",
    "Read": "file_path offset limit pages",
    "WebFetch": "url prompt",
    "WebSearch": "query allowed_domains blocked_domains",
    "Write": "file_path content",
}


def missing(asked: Iterable[str], rule: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the fields that a compiled rule asks for, if that is known."""
    tools = rule.get("tools") or [*dict.fromkeys(_tools_in(rule.get("when")))]
    if not tools or not _FIELDS.keys() >= {*tools}:
        return
    known = {field for tool in tools for field in _FIELDS[tool].split()}
    for field in sorted({*asked} - known):
        names = " and ".join(tools)
        hint = did_you_mean(field, known)
        yield f"tool_input of {names} has no field {field!r}{hint}"


def asked_in(condition: Any) -> Iterator[str]:
    """The fields of `tool_input` that a compiled condition asks for."""
    for each in operations(condition):
        match each:
            case ["get" | "get_or", _, ["name", _, "tool_input"], str(field), *_]:
                yield field


def _tools_in(condition: Any) -> Iterator[str]:
    """The tools that a condition is about; only a shell's call has a `command`."""
    match condition:
        case ["not", *_]:
            return
        case ["name", _, "command"]:
            yield "Bash"
        case ["compare", _, ["name", _, "tool_name"], "==", str(tool)]:
            yield tool
        case ["compare", _, ["name", _, "tool_name"], "in", ["list", _, *tools]]:
            yield from map(str, tools)
    for part in condition if isinstance(condition, list) else ():
        yield from _tools_in(part)
