"""Rules for people, and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.cli.common.output import short_path, visible
from bridge.cli.screen.screen import Line
from bridge.cli.screen.table import Column, table
from bridge.policy.condition_explanation import show_parts
from bridge.policy.rule_decision import Decision
from bridge.policy.rule_set import hands_over, place_of
from bridge.protocol.wording import one_line
from bridge.rules.rule_file import EFFECTS, Rule, RuleFile

if TYPE_CHECKING:
    from bridge.rules.layers import Rules
    from bridge.rules.trial import Trial, Tried

    Row = tuple[RuleFile, Rule, str]

_NONE = """\
no rules yet. They go into ~/.hostbridge/rules.yaml, or into a project's
.bridge/rules.yaml; `hostbridge rules new` writes one to begin with. For example:

    on_before_tool:
      - name: no-push
        when: runs(command, "git push")
        block: Ask before you push.
"""
_BUILT_IN = """\
Built-in rules are off until a rules file names them: - name: require-task
"""


_COLUMNS = (
    Column("EVENT"),
    Column("RULE", least=24),
    Column("DOES", least=5, spare=1),
    Column("STATE"),
    Column("WHERE", whole=True),
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
    path_of = str if width is None else short_path
    rows = [
        _row(path_of(file.file), file, rule, state)
        for file, rule, state in rules
        if file.layer != "built-in" or (rule.event, rule.name) not in named
    ]
    rows.sort(key=lambda row: row[0])
    yield from table(_COLUMNS, rows, width)
    if width is not None:
        if any(row[3:] == ("off", "built-in") for row in rows):
            yield from ("", *_BUILT_IN.splitlines())
        if not named:
            yield from ("", *_NONE.splitlines())


def _row(
    path: str, file: RuleFile, rule: Rule, state: str
) -> tuple[str, str, str, str, str]:
    where = "built-in" if file.layer == "built-in" else f"{path}:{rule.line}"
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


def trial_text(
    raw: Mapping[str, Any], trial: Trial, would: tuple[Tried, ...], width: int | None
) -> str:
    """The event, each rule with the parts of its condition, and what is answered.

    `would` are the rules that are not in force.
    """
    parts = [_tried_text(tried, width) for tried in trial.rules]
    parts += [_tried_text(tried, width, _NOT_IN_FORCE) for tried in would]
    if not parts:
        parts = [f"no rule is about {trial.event}"]
    whole = [_event(raw, trial), *parts, _answer(trial.decision)]
    return visible("\n\n".join(whole), kept="\n")


def _event(raw: Mapping[str, Any], trial: Trial) -> str:
    """What was asked about, in one line."""
    given = raw.get("tool_input")
    given = given if isinstance(given, dict) else {}
    what = [raw.get("prompt"), raw.get("tool_name")]
    what += [given.get("command"), given.get("file_path")]
    said = " ".join(str(word) for word in what if word)
    where = trial.agent or "the main conversation"
    return f"{trial.event} in {where}{said and ': '}{one_line(said, len(said))}"


_NOT_IN_FORCE = "is not in force until `hostbridge trust`; it "
_HOW = {
    "yes": "fires",
    "may": "may fire, which counts as yes, as the rule blocks",
    "no": "does not fire",
    "not asked": "is not for this agent",
}


def _tried_text(tried: Tried, width: int | None, prefix: str = "") -> str:
    how = _HOW.get(tried.how) or f"cannot be asked: {tried.cause}"
    if tried.how == "skipped":
        how += " (skipped)"
    if tried.how == "may":
        how += f": {tried.cause}"
    if tried.how == "not asked" and tried.cause:
        how = tried.cause
    lines = [f"{tried.rule['name']} {prefix}{how}  [{place_of(dict(tried.rule))}]"]
    room = width and width - 2
    lines += [f"  {line}" for line in show_parts(tried.parts, room).splitlines()]
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
        "file": str(Path(tried.rule["file"]).expanduser()),
        "line": tried.rule["line"],
        "fires": tried.how,
        "cause": tried.cause or None,
        "parts": [
            {"text": part.text, "depth": part.depth, "value": str(part)}
            for part in tried.parts
        ],
    }
