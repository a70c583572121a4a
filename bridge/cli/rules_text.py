"""Rules for people, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.cli.output import visible
from bridge.cli.table import Column, table
from bridge.policy.condition_explanation import show_parts
from bridge.policy.rule_set import hands_over, place_of
from bridge.rules.rule_file import EFFECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.cli.screen import Line
    from bridge.policy.rule_set import Decision
    from bridge.rules.in_force import Rules
    from bridge.rules.rule_file import Rule, RuleFile
    from bridge.rules.trial import Trial, Tried

    Row = tuple[RuleFile, Rule, str]

_NONE = """\
no rules yet. They go into ~/.hostbridge/rules.yaml, or into a project's
.bridge/rules.yaml; for example:

    on_before_tool:
      - name: no-push
        when: runs(command, "git push")
        block: Ask before you push.
"""


_COLUMNS = (
    Column("EVENT"),
    Column("RULE", least=12),
    Column("DOES", least=10, spare=1),
    Column("STATE"),
    Column("WHERE", least=12, spare=2),
)


def listed(rules: Rules, check_agent: Callable[[str], str | None]) -> list[Row]:
    """Every rule with its file and its state: those that hold, and those that wait."""
    before = rules.before()
    held = [
        (file, rule, _state_of(file, rule, is_before=(file.file, rule.name) in before))
        for file in rules.files(check_agent)
        for rule in file.rules
    ]
    wait = [(f, rule, "not trusted") for f in rules.waiting() for rule in f.rules]
    return held + wait


def list_lines(rules: list[Row], width: int | None) -> Iterator[Line]:
    """Every rule on a line, by event; without any of one's own, how to begin."""
    named = {(r.event, r.name) for f, r, _ in rules if f.layer != "built-in"}
    rows = [
        _row(file, rule, state)
        for file, rule, state in rules
        if file.layer != "built-in" or (rule.event, rule.name) not in named
    ]
    rows.sort(key=lambda row: row[0])
    yield from table(_COLUMNS, rows, width)
    if not named and width is not None:
        yield from ("", *_NONE.splitlines())


def _row(file: RuleFile, rule: Rule, state: str) -> tuple[str, str, str, str, str]:
    where = "built-in" if file.layer == "built-in" else f"{file.file}:{rule.line}"
    name, where = visible(rule.name), visible(where)
    return rule.event, name, _effects(rule), state, where


def _effects(rule: Rule) -> str:
    found = [name for name in EFFECTS if getattr(rule.fields, name) is not None]
    agent = rule.fields.spawn_agent
    return ", ".join(
        visible(f"{name} {agent.agent}") if name == "spawn_agent" and agent else name
        for name in found
    )


def _state_of(file: RuleFile, rule: Rule, *, is_before: bool) -> str:
    """Whether a rule is in force, in a few words."""
    if file.layer == "built-in" or not rule.fields.enabled:
        return "off"
    if rule.code is None or "broken" in rule.code:
        return "broken"
    if rule.lacks:
        return "no agent"
    return "on (as before)" if is_before else "on"


def rule_value(file: RuleFile, rule: Rule, state: str) -> dict[str, Any]:
    """A rule as JSON."""
    return {
        "event": rule.event,
        "name": rule.name,
        "layer": file.layer,
        "file": str(file.file),
        "line": rule.line,
        "state": state,
        "priority": rule.fields.priority,
        **rule.fields.model_dump(exclude_none=True, exclude={"name", "priority"}),
    }


def trial_text(trial: Trial, would: tuple[Tried, ...]) -> str:
    """Each rule with the parts of its condition, and what would be answered.

    `would` are the rules that are not in force.
    """
    parts = [_tried_text(tried) for tried in trial.rules]
    parts += [_tried_text(tried, _NOT_IN_FORCE) for tried in would]
    if not parts:
        parts = [f"no rule is about {trial.event}"]
    return visible("\n\n".join([*parts, _answer(trial.decision)]), kept="\n")


_NOT_IN_FORCE = "is not in force until `hostbridge trust`; it "
_HOW = {
    "yes": "fires",
    "may": "may fire: it counts as yes, as the rule blocks",
    "no": "does not fire",
    "not asked": "is not for this agent",
}


def _tried_text(tried: Tried, prefix: str = "") -> str:
    how = _HOW.get(tried.how) or f"cannot be asked: {tried.cause}"
    if tried.how == "skipped":
        how += " (skipped)"
    if tried.how == "not asked" and tried.cause:
        how = tried.cause
    lines = [f"{tried.rule['name']} {prefix}{how}  [{place_of(dict(tried.rule))}]"]
    lines += [f"  {line}" for line in show_parts(tried.parts).splitlines()]
    return "\n".join(lines)


def _answer(decision: Decision) -> str:
    lines = []
    for name, value in decision.changes.items():
        lines.append(f"{name} is set to {value!r}")
    lines += [f"the model is told: {text}" for text in decision.contexts]
    for spawn in decision.spawns:
        how = "in place of the call" if hands_over(spawn.rule) else "beside it"
        lines.append(f"{spawn.agent} is asked {how}: {spawn.prompt}")
    if decision.block is not None:
        lines.append(f"refused: {decision.block}")
    lines += [f"the user is told: {note}" for note in decision.notes]
    said = "\n".join(lines) or "nothing; it goes on"
    return "answer: " + said.replace("\n", "\n        ")


def trial_value(trial: Trial, would: tuple[Tried, ...]) -> dict[str, Any]:
    """The same as JSON."""
    decision = trial.decision
    return {
        "event": trial.event,
        "rules": [_tried_value(tried) for tried in trial.rules],
        "waiting": [_tried_value(tried) for tried in would],
        "block": decision.block,
        "context": decision.contexts,
        "variables": decision.changes,
        "spawns": [
            {"agent": s.agent, "prompt": s.prompt, "block": s.is_handover}
            for s in decision.spawns
        ],
        "notes": decision.notes,
    }


def _tried_value(tried: Tried) -> dict[str, Any]:
    return {
        "name": tried.rule["name"],
        "file": tried.rule["file"],
        "line": tried.rule["line"],
        "fires": tried.how,
        "cause": tried.cause or None,
        "parts": [
            {"text": part.text, "depth": part.depth, "value": str(part)}
            for part in tried.parts
        ],
    }
