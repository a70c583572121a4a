"""What rules would do about an event, and why: nothing is done.

hostbridge rules test --tool Bash --command "cd x && pytest -q"
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bridge.agents.filled_text import filled_in
from bridge.policy.condition_compiler import compile_condition
from bridge.policy.condition_explanation import Part, explain
from bridge.policy.condition_globs import matches
from bridge.policy.rule_decision import Decision, decide_event
from bridge.policy.rule_set import (
    EVENTS,
    Whose,
    concerns,
    fires,
    scope_of,
)
from bridge.policy.shell_functions import shell
from bridge.rules.compiled import rules_in_order
from bridge.rules.rule_file import RuleFile


@dataclass(frozen=True, slots=True)
class Tried:
    """One rule: how it fires (yes, may, broken, no, or not asked), and its parts."""

    rule: Mapping[str, Any]
    how: str
    cause: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """Every rule of an event, in the order in which they count, and what follows.

    `agent` is the one in which it happens; empty in the main conversation.
    """

    event: str
    agent: str
    rules: tuple[Tried, ...]
    decision: Decision


def try_event(files: list[RuleFile], raw: Mapping[str, Any], whose: Whose) -> Trial:
    """Ask every rule about one event of the client's."""
    event = EVENTS[str(raw.get("hook_event_name"))]
    rules = rules_in_order(files)[event]
    sources = {
        (rule.code["file"], rule.line): rule.fields.when
        for file in files
        for rule in file.rules
        if rule.code is not None
    }
    functions = shell()
    scope = scope_of(dict(raw), whose)
    tried = []
    for rule in rules:
        source = sources[rule["file"], rule["line"]]
        parts: tuple[Part, ...] = ()
        if isinstance(source, str) and "broken" not in rule:
            parts = tuple(explain(compile_condition(source), scope, functions))
        if not concerns(rule, scope, whose):
            tools = rule.get("tools", ())
            is_other = not any(matches(str(scope["tool_name"]), one) for one in tools)
            why = f"is about {', '.join(tools)}" if tools and is_other else ""
            tried.append(Tried(rule, "not asked", why, parts))
            continue
        fired = fires(rule, scope, functions)
        how = fired.how if fired else "no"
        cause = fired.cause if fired else str(rule.get("broken", ""))
        tried.append(Tried(rule, how, cause, parts))
    decision = decide_event(rules, dict(raw), whose, filled_in, functions)
    return Trial(event, whose.agent or "", tuple(tried), decision)
