"""What an event does to a step workflow. Pure, but for the deeds it is handed.

After a tool call: the step's `onTool` entries; after that, and after a prompt or an
entry: the transitions in the file's order. The first that holds fires, again until
none does, each step entered at most once per event; then the exit condition. Leaving
and entering do their actions in order. A condition that cannot be evaluated does not
hold, and is reported.

A deed is known by its place in the workflow and the visit, or the event, so that one
that is repeated after a kill is the same. Where one cannot be done just now, nothing of
its event has happened: the event has to come again.
"""

from __future__ import annotations

import copy
import json

from bridge.policy.condition import NO_SHELL, ConditionError, decide
from bridge.policy.step_change import Busy, Change, Said, introduction, shortened
from bridge.policy.step_workflow import (
    event_key,
    handlers,
    place_in,
    scope_in,
    step_of,
)
from bridge.policy.variable_changes import check_length, value_of
from bridge.protocol.digest import sha256_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bridge.policy.condition import Shell
    from bridge.policy.rule_set import Whose
    from bridge.policy.step_change import Deeds
    from bridge.policy.step_record import Action, CompiledStep, StepRecord, Transition

    Json = dict[str, Any]

MAX_HISTORY = 50
_MAX_APPLIED = 64
_MAX_UNTOLD = 16
_MAX_PROBLEMS = 20


def begin(
    record: StepRecord, whose: Whose, deeds: Deeds, now_ms: int, shell: Shell = NO_SHELL
) -> Change:
    """Enter the first step of a workflow whose record has none yet."""
    record = {**record, "step": record["code"]["first"], "entering": True}
    return happen(record, {}, whose, deeds, now_ms, shell)


def happen(
    record: StepRecord,
    fields: Json,
    whose: Whose,
    deeds: Deeds,
    now_ms: int,
    shell: Shell = NO_SHELL,
) -> Change:
    """What becomes of a workflow after an event: a tool call, or a person's prompt."""
    key = event_key(fields)
    step = step_of(record)
    if step is None or (key and key in record["applied"]):
        return Change(record)
    event = _Event(record, fields, whose, deeds, now_ms, shell)
    event.record.pop("waits", None)
    try:
        if event.record.pop("entering", None):
            event.enter(record["step"], "activated")
        else:
            event.handle(step)
        event.settle()
    except Busy as busy:
        change = Change(record)
        change.waits = str(busy)
        return change
    return event.done()


def put_off(record: StepRecord, events: list[Json], why: str) -> Change:
    """A workflow that keeps events until their deeds can be done."""
    change = Change(copy.copy(record))
    now = change.record
    if not record.get("entering"):
        now["late"] = events
    if not record.get("waits"):
        name, step = record["code"]["name"], record["step"]
        _tell(
            now,
            f"The workflow {name} waits in step {step}: {why}. It goes on with your "
            "next tool call, or at the end of your turn.",
        )
    now |= {"waits": why, "rev": record.get("rev", 0) + 1}
    change.is_changed = True
    return change


def ended(record: StepRecord, why: str, now_ms: int) -> Change:
    """A workflow that is ended from outside."""
    change = Change(copy.copy(record))
    _end(change.record, why, now_ms)
    change.is_changed = True
    change.record["rev"] = record.get("rev", 0) + 1
    return change


def _end(record: StepRecord, why: str, now_ms: int) -> None:
    record |= {"status": "ended", "why": why, "endedAt": now_ms}
    name, step = record["code"]["name"], record["step"]
    _tell(record, f"The workflow {name} has ended in step {step}: {why}.")


def _tell(record: StepRecord, text: str) -> None:
    """Add what the model has to be told, whatever becomes of this process."""
    known = [*record.get("untold", ()), (record.get("rev", 0) + 1, text)]
    record["untold"] = known[-_MAX_UNTOLD:]


class _Event:
    def __init__(
        self,
        record: StepRecord,
        fields: Json,
        whose: Whose,
        deeds: Deeds,
        now_ms: int,
        shell: Shell,
    ) -> None:
        self.before = record
        self.change = Change(copy.copy(record))
        self.record = self.change.record
        self.fields = fields
        self.scope = scope_in(record, fields, whose)
        self.deeds = deeds
        self.now_ms = now_ms
        self.shell = shell
        self.said: list[str] = []

    # The event

    def handle(self, step: CompiledStep) -> None:
        """What the step does about the result of a tool."""
        key = event_key(self.fields)
        for entry in handlers(step, self.fields):
            if self.holds(entry.get("when", True), entry["at"]):
                place = f"{self.record['step']} {entry['at']} {key}"
                self.do(entry["do"], place)
        self.flush()

    def flush(self) -> None:
        """Have what actions said told to the model."""
        if self.said:
            _tell(self.record, "\n\n".join(self.said))
        self.said = []

    def settle(self) -> None:
        """Fire transitions until none holds, then see whether this is the end."""
        entered: set[str] = set()
        while (found := self.next_transition(entered)) is not None:
            step = self.record["code"]["steps"][self.record["step"]]
            here = self.record["step"]
            self.do(step["exit"], f"{here} exit")
            self.do(found["do"], f"{here} {found['at']}")
            self.flush()
            entered.add(found["to"])
            self.enter(found["to"], found["text"])
        code = self.record["code"]
        if code["exit"] is not None and self.holds(code["exit"], code["exitAt"]):
            _end(self.record, "its exit condition holds", self.now_ms)

    def next_transition(self, entered: set[str]) -> Transition | None:
        """The first transition that holds, to a step not entered in this event."""
        step = self.record["code"]["steps"][self.record["step"]]
        for each in step["transitions"]:
            if each["to"] not in entered and self.holds(each["when"], each["at"]):
                return each
        return None

    def enter(self, name: str, why: str) -> None:
        """Go to a step, and do what it does on entry."""
        before = self.record["step"] if self.record.get("visit") else ""
        self.record["step"] = name
        self.record["visit"] = self.record.get("visit", 0) + 1
        self.record["stops"] = 0
        self.record["history"] = [
            *self.record.get("history", ()), (self.now_ms, before, name, why),
        ][-MAX_HISTORY:]  # fmt: skip
        self.change.moved.append((before, name))
        self.scope = place_in(self.scope, self.record)
        step = self.record["code"]["steps"][name]
        status = step.get("status")
        if status is not None:
            self.say(status, step["at"])
        self.do(step["enter"], f"{name} enter")
        self.record["message"] = "\n\n".join(self.said)
        self.said = []
        _tell(self.record, introduction(self.record))

    def done(self) -> Change:
        """The change, with the event noted in the record."""
        change, record = self.change, self.record
        if change.problems:
            known = [*record.get("problems", ()), *change.problems]
            record["problems"] = list(dict.fromkeys(known))[-_MAX_PROBLEMS:]
        is_news = record != self.before or change.changes or change.counted
        change.is_changed = bool(is_news)
        if change.is_changed:
            record["rev"] = record.get("rev", 0) + 1
            if key := event_key(self.fields):
                applied = [*record.get("applied", ()), key]
                record["applied"] = applied[-_MAX_APPLIED:]
        return change

    # Its parts

    def holds(self, code: Any, at: str) -> bool:
        """Whether a condition holds; one that cannot be asked does not."""
        try:
            return decide(code, self.scope, self.shell) == "yes"
        except ConditionError as error:
            self.problem(f"{at}: the condition does not hold: {error.message}")
            return False

    def do(self, actions: list[Action], place: str) -> None:
        """Do actions in order; one that fails is reported, and the next is done."""
        for number, action in enumerate(actions):
            if not self.holds(action.get("when", True), action["at"]):
                continue
            try:
                self.act(action, f"{place} {number}")
            except (ConditionError, ValueError) as error:
                self.problem(f"{action['at']}: {action['do']} failed: {error}")
                if action.get("into"):
                    self.set({action["into"]: {"error": str(error)}})

    def key(self, place: str, given: Json) -> str:
        """What a deed is known by: where it stands, and what it is given."""
        text = json.dumps([place, given], sort_keys=True)
        digest = sha256_of(text.encode())[:16]
        return f"{self.record['run']}-{self.record.get('visit', 0)}-{digest}"

    def act(self, action: Action, place: str) -> None:
        kind = action["do"]
        if kind == "inject_message":
            self.say(action["text"], action["at"])
        elif kind == "set_variable":
            values = {name: self.value(c) for name, c in action["values"].items()}
            self.set(values)
        elif kind == "increment_variable":
            self.count(action["by"])
        else:
            given = self.value(action["arguments"]) or {}
            if "prompt" in action:
                given["prompt"] = self.deeds.render(action["prompt"], self.scope)
            result = self.deeds.act(action, given, self.key(place, given))
            if isinstance(result, Said):
                self.said.append(result.text)
                result = result.value
            if action.get("into"):
                self.set({action["into"]: result})

    def value(self, code: Any) -> Any:
        return value_of(code, self.scope, self.shell)

    def say(self, text: str, at: str) -> None:
        try:
            said = self.deeds.render(text, self.scope).strip()
        except ValueError as error:
            self.problem(f"{at}: {error}")
            # It says more than nothing does.
            said = text.strip()
        if said:
            self.said.append(shortened(said))

    def set(self, values: Json) -> None:
        """Set variables, which those after this see; but for a person's or a rule's."""
        values = {n: v for n, v in values.items() if not self.is_theirs(n)}
        for name, value in values.items():
            check_length(name, value)
        self.change.set(values, self.scope)

    def count(self, by: Json) -> None:
        """Count variables up."""
        by = {n: step for n, step in by.items() if not self.is_theirs(n)}
        self.change.count(by, self.scope)

    def is_theirs(self, name: str) -> bool:
        """Whether a variable belongs to somebody whom no workflow overrules."""
        if name not in self.deeds.theirs:
            return False
        whose = self.deeds.theirs[name]
        self.problem(f"{name} is not set: it belongs to the {whose}")
        return True

    def problem(self, text: str) -> None:
        if text not in self.change.problems:
            self.change.problems.append(text)
