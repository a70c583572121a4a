"""What the rules in force say about an event, and the variables that they set.

Whatever fails while a rule that blocks is asked, blocks: see `policy.rule_set`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from bridge.agents.filled_text import filled_in
from bridge.bound import first_look
from bridge.bound.gate import is_off
from bridge.config import Settings
from bridge.errors import BridgeError
from bridge.policy.rule_decision import Decision, decide_event
from bridge.policy.rule_mending import NOT_BLOCKED, is_mending
from bridge.policy.rule_set import Whose, label_of, scope_of
from bridge.policy.tool_classes import class_of
from bridge.rules.freshness import FOLDER
from bridge.store.hook_log import log_failure, log_text
from bridge.store.store import Store
from bridge.store.variables import Holder, set_variables

if TYPE_CHECKING:
    Json = dict[str, Any]

_WAY_OUT = f"`hostbridge rules check` compiles them, or says why not; {NOT_BLOCKED}"


def decide(
    settings: Settings, store: Store, raw: Json, run: Json | None
) -> tuple[Decision, Whose]:
    """What the rules in a state say about an event, and in whose name it happens.

    `run` is the record of the agent of ours in which it happened. Compiled rules that
    are damaged are made again.
    """
    state = str(store.place.state)
    try:
        return _decided(state, raw, run)
    except Exception:  # noqa: BLE001 - a file of any content
        log_failure("rules")
    try:
        from bridge.rules.compiled import compile_rules

        compile_rules(settings, store)
        return _decided(state, raw, run)
    except Exception as error:  # noqa: BLE001 - a rule that blocks may be lost
        log_failure("rules")
        return _undecided(state, raw, error), Whose({})


def _undecided(state: str, raw: Json, error: Exception) -> Decision:
    """Refuse what a lost rule may block: a call of a class with a sign, a prompt.

    Not the end of a turn: it would begin again for ever where nothing can be written.
    """
    decision = Decision()
    event = str(raw.get("hook_event_name"))
    sign = f"{state}/{FOLDER}/{event}"
    if event == "PreToolUse":
        sign += f".{class_of(str(raw.get('tool_name')))}"
    if is_off(state, raw) or not os.path.lexists(sign):
        return decision
    why = f"the rules cannot be read, and not be compiled again: {error}"
    if event not in ("PreToolUse", "UserPromptSubmit"):
        decision.notes.append(why)
    elif not is_mending(scope_of(raw, Whose({}))):
        decision.block = f"hostbridge: {why}\n{_WAY_OUT}"
    return decision


def _decided(state: str, raw: Json, run: Json | None) -> tuple[Decision, Whose]:
    compiled = first_look.load_rules(state, str(raw.get("hook_event_name")))
    defaults = compiled["variables"] if compiled else {}
    whose = first_look.whose_of(state, raw, run, defaults)
    if compiled is None or is_off(state, raw):
        return Decision(), whose
    shell = first_look.shell()
    decision = decide_event(compiled["rules"], raw, whose, filled_in, shell)
    for fired in decision.fired:
        if fired.how == "skipped":
            log_text(f"rule {label_of(fired.rule)} was skipped: {fired.cause}")
    return decision, whose


def keep_variables(
    store: Store, holder: Holder, decision: Decision, event: str, call: object
) -> None:
    """Keep the variables that rules have set; that it failed is a note.

    Before and after a call are two events, and each counts once.
    """
    seen = f"{event} {call}" if call else ""
    counted = decision.counted
    try:
        if decision.changes:
            set_variables(
                store, holder, decision.changes, "rule", counted=counted, call=seen
            )
    except BridgeError as error:
        decision.notes.append(f"variables were not written: {error}")
