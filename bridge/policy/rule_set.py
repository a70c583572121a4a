"""What rules say about one event. Pure, and the standard library only.

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

A rule blocks if it has `block`, or hands the call over. Such a rule also fires if its
condition may hold, and if it cannot be asked at all.
"""

from __future__ import annotations

from bridge.policy.condition import (
    MAY,
    NO_SHELL,
    ConditionError,
    ForeignCommand,
    decide,
    evaluate,
    matches,
)
from bridge.policy.tool_classes import tools_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from bridge.policy.condition import Shell

    Json = dict[str, Any]
    Render = Callable[[str, Mapping[str, Any]], str]

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
# It may quote what is wrong, and the way out comes behind it.
_MAX_CAUSE = 600
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
    """

    __slots__ = ("above", "agent", "depth", "sets", "variables")

    def __init__(
        self,
        variables: Mapping[str, Any],
        *,
        agent: str | None = None,
        depth: int = 0,
        above: Sequence[str] = (),
        sets: Mapping[str, str | None] | None = None,
    ) -> None:
        self.variables = variables
        self.agent = agent
        self.depth = depth
        self.above = above
        self.sets = sets or {}


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


class Spawn:
    """Work for an agent; `is_handover` if it takes the place of the call."""

    __slots__ = ("agent", "arguments", "is_handover", "model", "prompt", "rule")

    def __init__(self, rule: Json, prompt: str, *, is_handover: bool) -> None:
        wanted = rule["spawn_agent"]
        self.rule = rule
        self.agent: str = wanted["agent"]
        self.prompt = prompt
        self.arguments: Json = wanted.get("arguments") or {}
        self.model: str | None = wanted.get("model")
        self.is_handover = is_handover


class Decision:
    """What is to be done about an event.

    Attributes:
        block: why the event is refused; None if it is not.
        spawns: work for agents; at most the last takes the place of the call.
        contexts: what the model is told.
        changes: variables with their new values.
        counted: by how much those were counted up that no rule has set: others may
            count at the same time.
        notes: what a person should know: a rule that could not be obeyed.
        fired: the rules, in order.
    """

    __slots__ = (
        "block", "changes", "contexts", "counted", "fired", "notes", "spawns",
    )  # fmt: skip

    def __init__(self) -> None:
        self.block: str | None = None
        self.spawns: list[Spawn] = []
        self.contexts: list[str] = []
        self.changes: Json = {}
        self.counted: Json = {}
        self.notes: list[str] = []
        self.fired: list[Fired] = []

    @property
    def is_empty(self) -> bool:
        """Whether no rule has anything to say."""
        return not (self.fired or self.notes)


def scope_of(raw: Json, whose: Whose) -> Json:
    """What conditions and templates can ask about an event of the client's."""
    event = str(raw.get("hook_event_name"))
    tool_input = raw.get("tool_input")
    tool_input = tool_input if isinstance(tool_input, dict) else None
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
        "workflow": None,
        "current_step": None,
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
        return _unasked(rule, rule["broken"], scope)
    try:
        answer = decide(rule.get("when", True), scope, shell)
    except ConditionError as error:
        return _unasked(rule, error.message, scope)
    if answer == "no" or (answer == "may" and not is_blocking(rule)):
        return None
    return Fired(rule, answer)


def _unasked(rule: Json, cause: str, scope: Json) -> Fired | None:
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


def decide_event(
    rules: Iterable[Json],
    raw: Json,
    whose: Whose,
    render: Render,
    shell: Shell = NO_SHELL,
) -> Decision:
    """Decide about one event of the client's, rule by rule, until one blocks.

    `render` fills in a template; what it raises is a `ValueError`. A rule that has set
    a variable shows it to those after it.
    """
    decision = Decision()
    scope = scope_of(raw, whose)
    for rule in rules:
        if not concerns(rule, scope, whose):
            continue
        fired = fires(rule, scope, shell)
        if fired is None:
            continue
        decision.fired.append(fired)
        if fired.how == "skipped":
            continue
        if fired.how == "broken":
            decision.block = _cannot_be_asked(rule, fired.cause)
        else:
            _obey(rule, scope, whose, render, decision, fired)
        if decision.block is not None or (
            decision.spawns and decision.spawns[-1].is_handover
        ):
            break
    return decision


def _obey(
    rule: Json,
    scope: Json,
    whose: Whose,
    render: Render,
    decision: Decision,
    fired: Fired,
) -> None:
    """Do what a rule says; its text may turn out not to be one."""
    try:
        _change_variables(rule, scope, decision)
        if "inject_context" in rule:
            decision.contexts.append(render(rule["inject_context"], scope))
        if "spawn_agent" in rule:
            _spawn(rule, scope, whose, render, decision)
        if "block" in rule:
            reason = render(rule["block"], scope)
            if fired.how == "may":
                reason = f"{reason}\n(It may apply: the command cannot be fully read.)"
            decision.block = f"{reason}\n[rule {label_of(rule)}]"
    except (ConditionError, ValueError) as error:
        unasked = _unasked(rule, str(error), scope) or Fired(rule, "skipped")
        fired.how, fired.cause = unasked.how, str(error)
        if fired.how == "broken":
            decision.block = _cannot_be_asked(rule, str(error))


def _spawn(
    rule: Json, scope: Json, whose: Whose, render: Render, decision: Decision
) -> None:
    agent = rule["spawn_agent"]["agent"]
    if agent in whose.above:
        decision.notes.append(
            f"rule {label_of(rule)} did not start {agent}: the call is made in "
            f"{'that agent' if whose.above[0] == agent else 'an agent below it'}, "
            "which would go on for ever"
        )
        return
    prompt = render(rule["spawn_agent"]["prompt"], scope)
    spawn = Spawn(rule, prompt, is_handover=hands_over(rule))
    spawn.model = spawn.model and render(spawn.model, scope)
    decision.spawns.append(spawn)


def _change_variables(rule: Json, scope: Json, decision: Decision) -> None:
    changes: Json = {}
    for name, code in rule.get("set_variable", {}).items():
        value = evaluate(code, scope)
        changes[name] = None if value is MAY else value
    counted = rule.get("increment_variable", {})
    for name, by in counted.items():
        before = scope["variables"].get(name) or 0
        if isinstance(before, bool) or not isinstance(before, (int, float)):
            raise ConditionError(0, f"{name} is {before!r}, which cannot be counted up")
        changes[name] = before + by
    for name in changes:
        by = decision.counted.pop(name, None if name in decision.changes else 0)
        if by is not None and name in counted:
            decision.counted[name] = by + counted[name]
    decision.changes |= changes
    scope["variables"] |= changes
    for name, value in changes.items():
        # What an event is called stays the event's.
        if name not in _NAMES:
            scope[name] = value


def _cannot_be_asked(rule: Json, cause: str) -> str:
    from bridge.policy.rule_mending import how_to_mend

    why = f"the rule {label_of(rule)} cannot be asked: {cause[:_MAX_CAUSE]}"
    return f"hostbridge: {why}\n{how_to_mend()}"


_NAMES = frozenset(scope_of({}, Whose({})))
