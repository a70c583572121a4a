"""What a condition asks for and can never be, judging by its compiled form. Pure.

Fields of `tool_input` are those that the rule's tools have.

Source: Claude Code tools reference, "Tool input"; tools that are not listed here, and
those of MCP servers, may have any field.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from bridge.hints import did_you_mean
from bridge.policy.condition import operations
from bridge.policy.rule_set import TOOL_EVENTS
from bridge.policy.tool_classes import tools_of
from bridge.policy.tool_names import KNOWN, is_known
from bridge.rules.contradictions import contradiction, path_of
from bridge.rules.signs import classes_of

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


# Names that are null in all other events.
_ONLY_IN = {
    "prompt": {"on_user_prompt"},
    "tool_output": {"on_after_tool"},
    **dict.fromkeys(("tool_name", "tool_input", "command"), TOOL_EVENTS),
}
# What the client says in every event, and in each of them.
# Source: Claude Code hooks reference, "Common input fields" and each event's "input".
_DATA = (
    "session_id", "transcript_path", "cwd", "hook_event_name", "prompt_id",
    "permission_mode", "effort", "agent_id", "agent_type",
)  # fmt: skip
_END = "stop_hook_active last_assistant_message background_tasks session_crons"
_DATA_OF = {
    "on_session_start": "source model session_title",
    "on_user_prompt": "prompt session_title",
    # The last one is of a shell command in a skill's text.
    "on_before_tool": "tool_name tool_input tool_use_id command_name",
    "on_after_tool": "tool_name tool_input tool_use_id tool_response duration_ms error "
    "is_interrupt",
    "on_subagent_stop": f"{_END} agent_transcript_path",
    "on_stop": _END,
}
# What a regular expression has and a glob hardly ever.
_REGEX = re.compile(r"\A\^|\$\Z|\\[bdsw.]|\.\+|\(.*\|.*\)")
_NO_NAME = re.compile(r"(?<=\s)-\S*|[*?|&;$<>]")


def never_holding(
    code: Any,
    event: str,
    variables: Collection[str],
    check_agent: Callable[[str], str | None],
) -> Iterator[str]:
    """What is wrong in the compiled condition of a rule of this event.

    `variables` are those that somebody declares or sets.
    """
    if why := contradiction(code, event):
        yield why
        return
    yield from _in_vain(code, event, variables, check_agent)
    for part in code if isinstance(code, list) else ():
        yield from never_holding(part, event, variables, check_agent)


def _in_vain(
    code: Any,
    event: str,
    variables: Collection[str],
    check_agent: Callable[[str], str | None],
) -> Iterator[str]:
    """The same of one operation, without its parts."""
    match code:
        case ["get" | "get_or", _, base, str(field), *_] | [
            "compare",
            _,
            str(field),
            "in",
            base,
        ] if why := _unknown_field(base, field, event):
            yield why
        case ["name", _, name] if event not in _ONLY_IN.get(name, {event}):
            yield f"{event} has no {name}: it is null there"
        case ["compare", _, ["name", _, "tool_name" | "agent" as name], sign, wanted]:
            look = _unknown_tool if name == "tool_name" else check_agent
            texts = _texts(wanted) if sign in {"==", "in"} else []
            yield from filter(None, map(look, texts))
        case ["matches", _, _, globs]:
            yield from filter(None, map(_no_glob, _texts(globs)))
        case ["runs", _, _, *names]:
            for name in (text for each in names for text in _texts(each)):
                if found := _NO_NAME.search(name):
                    yield (
                        f"runs(…, {name!r}) is never true: {found[0]!r} is no part of "
                        "a name; write the program, or the program and its subcommand"
                    )
        case ["get", _, ["name", _, "variables"], str(name)] if name not in variables:
            if near := did_you_mean(name, variables):
                yield f"nothing declares or sets variables.{name}{near}"


def _unknown_field(base: Any, field: str, event: str) -> str | None:
    """That there is no such field of the event, or of the session."""
    known = {
        ("event",): ("name", "source", "data"),
        ("session",): ("id", "permission_mode"),
        ("event", "data"): (*_DATA, *_DATA_OF.get(event, "").split()),
    }.get(path_of(base) or ())
    if known is None or field in known:
        return None
    name = ".".join(path_of(base) or ())
    return f"{name} has no {field!r} in {event}{did_you_mean(field, known)}"


def holding_for_no_tool(rule: dict[str, Any]) -> str | None:
    """Why a compiled rule about tools is about none; None if it is about some."""
    if rule.get("when", False) is False or classes_of(rule):
        return None
    only = f": only {' and '.join(tools_of('bash'))} have a command"
    only *= "'command'" in str(rule["when"])
    return f"this holds for no tool that the rule is about{only}"


def _texts(code: Any) -> list[str]:
    """The texts that a part of a condition is, or that are in its list."""
    is_list = isinstance(code, list) and code[:1] == ["list"]
    return [one for one in (code[2:] if is_list else [code]) if isinstance(one, str)]


def _unknown_tool(tool: str) -> str | None:
    if "|" in tool:
        return f"no tool is named {tool!r}: write tool_name in {tool.split('|')}"
    near = did_you_mean(tool, KNOWN)
    return None if is_known(tool) else f"no tool is named {tool!r}{near}"


def _no_glob(glob: str) -> str | None:
    if _REGEX.search(glob):
        return (
            f"matches(…, {glob!r}) takes a glob, not a regular expression: `*` stands "
            "for anything, and the whole text has to match"
        )
    if set(glob).isdisjoint("*?"):
        return f"matches(…, {glob!r}) is this whole text only; a part is '*{glob}*'"
    return None
