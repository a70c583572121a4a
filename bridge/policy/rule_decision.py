"""What is to be done about an event, rule by rule. Pure, standard library only.

The rules are those of `bridge.policy.rule_set`, which says whether each fires.
"""

from __future__ import annotations

from bridge.policy.condition import MAY, NO_SHELL, ConditionError, evaluate
from bridge.policy.rule_mending import how_to_mend
from bridge.policy.rule_set import (
    Fired,
    Whose,
    concerns,
    fires,
    hands_over,
    label_of,
    scope_of,
    unasked,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from bridge.policy.condition import Shell

    Json = dict[str, Any]
    Render = Callable[[str, Mapping[str, Any]], str]

# It may quote what is wrong, and the way out comes behind it.
_MAX_CAUSE = 600
# The way out for a command that a rule may be about.
_NOT_THIS = (
    "If it is something else, write out what is run; or save that as a file, read it, "
    "and run the file."
)


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
                reason += f"\n(It may apply: {fired.cause}. {_NOT_THIS})"
            decision.block = f"{reason}\n[rule {label_of(rule)}]"
    except (ConditionError, ValueError) as error:
        found = unasked(rule, str(error), scope)
        fired.how, fired.cause = found.how if found else "skipped", str(error)
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
    why = f"the rule {label_of(rule)} cannot be asked: {cause[:_MAX_CAUSE]}"
    return f"hostbridge: {why}\n{how_to_mend()}"


_NAMES = frozenset(scope_of({}, Whose({})))
