"""Which rules are about an event, and fire. Pure, and the standard library only.

Hooks run this under `python3 -I -S`. A compiled rule is a JSON object; those of one
event are a list in the order in which they count. `bridge.rules.rule_file` makes them:

    name, layer, file, line       whose rule it is, and where it stands
    set                           the rule set it belongs to; absent: the usual one
    tools                         names or globs of tools; absent: any
    when                          a compiled condition; absent: always
    broken                        why it cannot be read: in place of `when`
    on_error, required            as written
    set_variable                  compiled values by name
    increment_variable            numbers by name
    inject_context, block         templates
    spawn_agent                   agent, prompt (a template), arguments, model, block

A rule blocks if it has `block`, or hands the call over. Such a rule also fires if it
cannot be asked at all; and if its condition only may hold, where it has `block` or is
`required`.
"""

from __future__ import annotations

from bridge.policy.condition import (
    NO_SHELL,
    ConditionError,
    ForeignCommand,
    decide,
)
from bridge.policy.condition_globs import matches
from bridge.policy.tool_classes import as_opened, tools_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from bridge.policy.condition import Shell

    Json = dict[str, Any]

# The client's events, and what a rules file calls them.
EVENTS = {
    "SessionStart": "on_session_start",
    "UserPromptSubmit": "on_user_prompt",
    "PreToolUse": "on_before_tool",
    "PostToolUse": "on_after_tool",
    "PostToolUseFailure": "on_after_tool",
    "SubagentStop": "on_subagent_stop",
    "Stop": "on_stop",
}
TOOL_EVENTS = frozenset({"on_before_tool", "on_after_tool"})


class Whose:
    """In whose name an event happens.

    Attributes:
        agent: the agent it happened in; None in the main thread.
        depth: how many agents stand above it, itself included.
        above: that agent, the one that started it, and so on.
        variables: its own, or the session's.
        sets: by layer, the name of the rule set that binds it; None for no rules of
            that layer. The usual set where a layer is not named.
        workflow: the step workflow that binds it, and the step that this is in.
    """

    __slots__ = ("above", "agent", "depth", "sets", "variables", "workflow")

    def __init__(
        self,
        variables: Mapping[str, Any],
        *,
        agent: str | None = None,
        depth: int = 0,
        above: Sequence[str] = (),
        sets: Mapping[str, str | None] | None = None,
        workflow: tuple[str | None, str | None] = (None, None),
    ) -> None:
        self.variables = variables
        self.agent = agent
        self.depth = depth
        self.above = above
        self.sets = sets or {}
        self.workflow = workflow


class Fired:
    """A rule that fires: `how` is yes, may, broken or skipped.

    A broken rule cannot be asked, and blocks; one that does not block is skipped.
    `cause` says why.
    """

    __slots__ = ("cause", "how", "rule")

    def __init__(self, rule: Json, how: str, cause: str = "") -> None:
        self.rule = rule
        self.how = how
        self.cause = cause


def scope_of(raw: Json, whose: Whose) -> Json:
    """What conditions and templates can ask about an event of the client's."""
    event = str(raw.get("hook_event_name"))
    tool_input = raw.get("tool_input")
    tool_input = as_opened(tool_input) if isinstance(tool_input, dict) else None
    source = raw.get("source")
    return {
        **whose.variables,
        "event": {
            "name": EVENTS.get(event, event),
            "source": source if isinstance(source, str) else event,
            "data": raw,
        },
        "tool_name": raw.get("tool_name"),
        "tool_input": tool_input,
        "tool_output": raw.get("tool_response", raw.get("error")),
        "command": _command_of(raw.get("tool_name"), tool_input or {}),
        "prompt": raw.get("prompt"),
        "agent": whose.agent,
        "depth": whose.depth,
        "session": {
            "id": raw.get("session_id"),
            "permission_mode": raw.get("permission_mode"),
        },
        "cwd": raw.get("cwd"),
        "variables": dict(whose.variables),
        "workflow": whose.workflow[0],
        "current_step": whose.workflow[1],
    }


def _command_of(tool: object, tool_input: Json) -> Any:
    """The command of a shell; that of any other tool is tool_input.command."""
    command = tool_input.get("command") if tool in tools_of("bash") else None
    is_foreign = tool == "PowerShell" and isinstance(command, str)
    return ForeignCommand(command) if is_foreign else command


def place_of(rule: Json) -> str:
    """Where a rule stands: `file:line`."""
    return f"{rule['file']}:{rule['line']}"


def label_of(rule: Json) -> str:
    """What a rule is called, and where it stands."""
    return f"{rule['name']} ({place_of(rule)})"


def hands_over(rule: Json) -> bool:
    """Whether an agent does the work of the call in its place."""
    spawn = rule.get("spawn_agent")
    return spawn is not None and bool(spawn.get("block"))


def is_blocking(rule: Json) -> bool:
    """Whether a rule keeps from happening what it is about."""
    return "block" in rule or hands_over(rule)


def concerns(rule: Json, scope: Json, whose: Whose) -> bool:
    """Whether a rule is about this tool, and binds whoever calls it."""
    wanted = whose.sets.get(rule["layer"], "")
    if wanted is None or rule.get("set", "") != wanted:
        return False
    tools = rule.get("tools")
    if tools is None:
        return True
    tool = scope["tool_name"]
    return isinstance(tool, str) and any(matches(tool, one) for one in tools)


def fires(rule: Json, scope: Json, shell: Shell = NO_SHELL) -> Fired | None:
    """Whether a rule that concerns an event fires."""
    if "broken" in rule:
        return unasked(rule, rule["broken"], scope)
    try:
        answer = decide(rule.get("when", True), scope, shell)
    except ConditionError as error:
        return unasked(rule, error.message, scope)
    if answer == "no" or (answer == "may" and not _is_strict(rule)):
        return None
    return Fired(rule, answer, _unclear(scope, shell) if answer == "may" else "")


def _is_strict(rule: Json) -> bool:
    """Whether what only may be the case counts.

    Not where work is handed over and need not be: the agent would be asked to do what
    it has nothing to do with, and may not.
    """
    refuses = "block" in rule or (hands_over(rule) and bool(rule.get("required")))
    return refuses and rule.get("on_error") != "skip"


def _unclear(scope: Json, shell: Shell) -> str:
    command = scope["command"]
    is_read = isinstance(command, str) and "unclear" in shell
    why: str = shell["unclear"](command) if is_read else ""
    return why or "the command cannot be fully read"


def unasked(rule: Json, cause: str, scope: Json) -> Fired | None:
    """What becomes of a rule that cannot be asked: a blocking one blocks."""
    from bridge.policy.rule_mending import is_mending

    if not is_blocking(rule) or rule.get("on_error") == "skip":
        return Fired(rule, "skipped", cause)
    return None if is_mending(scope) else Fired(rule, "broken", cause)


def any_fires(
    rules: Iterable[Json], scope: Json, whose: Whose, shell: Shell = NO_SHELL
) -> bool:
    """Whether any rule has something to say; a quicker look than `decide_event`."""
    for rule in rules:
        is_plain = not whose.sets and "set" not in rule and "tools" not in rule
        if (is_plain or concerns(rule, scope, whose)) and fires(rule, scope, shell):
            return True
    return False
