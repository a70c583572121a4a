"""What is to be done about an event, rule by rule. Pure, standard library only.

The rules are those of `bridge.policy.rule_set`, which says whether each fires.
"""

from __future__ import annotations

from typing import NamedTuple

from bridge.policy.condition import NO_SHELL, ConditionError
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
from bridge.policy.variable_changes import VariableChanges, counted_up, value_of

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


class Decision(VariableChanges):
    """What is to be done about an event.

    Attributes:
        block: why the event is refused; None if it is not.
        spawns: work for agents; at most the last takes the place of the call.
        contexts: what the model is told.
        notes: what a person should know: a rule that could not be obeyed.
        fired: the rules, in order.
    """

    __slots__ = ("block", "contexts", "fired", "notes", "spawns")

    def __init__(self) -> None:
        super().__init__()
        self.block: str | None = None
        self.spawns: list[Spawn] = []
        self.contexts: list[str] = []
        self.notes: list[str] = []
        self.fired: list[Fired] = []

    @property
    def is_empty(self) -> bool:
        """Whether no rule has anything to say."""
        return not (self.fired or self.notes)


class Ruling(NamedTuple):
    """What step and rules say about an event, and have done.

    `block` is why it is refused, None if it is not; `context` is what the model is
    told beside it, and `told` is to be called once it has been.
    """

    block: str | None = None
    context: str = ""
    told: Callable[[], None] | None = None


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
    event = _Event(scope_of(raw, whose), whose, render)
    decision = event.decision
    for rule in rules:
        if not concerns(rule, event.scope, whose):
            continue
        if fired := fires(rule, event.scope, shell):
            decision.fired.append(fired)
            if fired.how not in {"skipped", "broken"}:
                event.obey(rule, fired)
            if fired.how == "broken":
                why = f"the rule {label_of(rule)} cannot be asked: "
                why += fired.cause[:_MAX_CAUSE]
                decision.block = f"hostbridge: {why}\n{how_to_mend()}"
        is_taken = decision.spawns and decision.spawns[-1].is_handover
        if decision.block is not None or is_taken:
            break
    return decision


class _Event:
    def __init__(self, scope: Json, whose: Whose, render: Render) -> None:
        self.scope = scope
        self.whose = whose
        self.render = render
        self.decision = Decision()

    def obey(self, rule: Json, fired: Fired) -> None:
        """Do what a rule says; its text may turn out not to be one."""
        decision = self.decision
        try:
            self.change_variables(rule)
            if "inject_context" in rule:
                decision.contexts.append(
                    self.render(rule["inject_context"], self.scope)
                )
            if "spawn_agent" in rule:
                self.spawn(rule)
            if "block" in rule:
                reason = self.render(rule["block"], self.scope)
                if fired.how == "may":
                    reason += f"\n(It may apply: {fired.cause}. {_NOT_THIS})"
                decision.block = f"{reason}\n[rule {label_of(rule)}]"
        except (ConditionError, ValueError) as error:
            found = unasked(rule, str(error), self.scope)
            fired.how, fired.cause = found.how if found else "skipped", str(error)

    def spawn(self, rule: Json) -> None:
        """Ask for an agent, except in itself."""
        agent, above = rule["spawn_agent"]["agent"], self.whose.above
        if agent in above:
            where = "that agent" if above[0] == agent else "an agent below it"
            self.decision.notes.append(
                f"rule {label_of(rule)} did not start {agent}: the call is made in "
                f"{where}, which would go on for ever"
            )
            return
        prompt = self.render(rule["spawn_agent"]["prompt"], self.scope)
        spawn = Spawn(rule, prompt, is_handover=hands_over(rule))
        spawn.model = spawn.model and self.render(spawn.model, self.scope)
        self.decision.spawns.append(spawn)

    def change_variables(self, rule: Json) -> None:
        """Set and count up variables, all of them or none."""
        codes, by = rule.get("set_variable", {}), rule.get("increment_variable", {})
        values = {name: value_of(codes[name], self.scope) for name in codes}
        counted_up(by, self.scope)
        values = {name: values[name] for name in values.keys() - by.keys()}
        self.decision.set(values, self.scope)
        self.decision.count(by, self.scope)
