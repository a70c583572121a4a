"""Move the step workflow of a conversation: begin it, go on after an event, end it.

Everything here is done under the lock of step workflows, and may be killed at any
point: an event that comes again, or the next one, finishes what was begun. What the
model has to be told stays in the record until somebody has told it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bridge.policy import step_transitions
from bridge.policy.rule_set import Whose
from bridge.policy.step_change import Change, shortened
from bridge.policy.step_workflow import scope_in, step_of, stop_refusal
from bridge.protocol.ids import new_request_id
from bridge.store import step_states
from bridge.store.variables import set_variables
from bridge.workflows.conversation import Conversation, Deeds
from bridge.workflows.first_values import (
    first_values,
    named,
    persons_variables,
    write_pending,
)

if TYPE_CHECKING:
    from bridge.policy.step_record import CompiledWorkflow, StepRecord
    from bridge.store.state import State
    from bridge.store.store import Store
    from bridge.store.variables import Holder

    Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WorkflowProgress:
    """How a workflow stands.

    Attributes:
        record: its record.
        messages: what the model has not been told yet, the oldest first.
        moved: the steps that were left and entered now.
        problems: what could not be done now.
    """

    record: StepRecord
    messages: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def rev(self) -> int:
        """Counts the changes; `told` takes it."""
        return int(self.record.get("rev", 0))

    @property
    def is_active(self) -> bool:
        """Whether the workflow goes on."""
        return step_of(self.record) is not None


def begin(
    store: Store,
    conversation: Conversation,
    code: CompiledWorkflow,
    params: Mapping[str, Any] = MappingProxyType({}),
    *,
    by: str,
    is_here: bool = True,
) -> WorkflowProgress:
    """Begin a workflow in a conversation that has none active.

    Args:
        store: where the conversation is kept.
        conversation: whose it is to be.
        code: the compiled workflow.
        params: first values of declared variables.
        by: person, model or agent: a model sets no variable that tools set.
        is_here: whether this is done in the conversation. If it is not, the first step
            is entered at its next event, which can do what only a hook can. The step's
            gate counts from now on.

    Raises:
        WorkflowActive: one is active there.
        InvalidRequest: a parameter is no variable of it, or a variable is somebody's.
    """
    holder, params = conversation.holder, named(code, params)
    with step_states.changing(store) as state:
        before = step_states.load(state, holder)
        if before is not None and step_of(before) is not None:
            raise step_states.WorkflowActive(before)
        first = first_values(store, conversation, code, params, by)
        now_ms = state.now_ms()
        record: StepRecord = {
            "schemaVersion": step_states.VERSION,
            "run": _new_run(now_ms),
            "code": code,
            "status": "active",
            "step": code["first"],
            "visit": 0,
            "rev": 0,
            "session": conversation.session,
            "activatedAt": now_ms,
            "by": by,
            "params": dict(params),
            "settings": dict(conversation.settings),
            "message": "",
            "stops": 0,
            "untold": [],
            "late": [],
            "applied": [],
            "history": [],
            "problems": [],
        }
        if before is not None:
            before = write_pending(store, state, conversation, before, [])
            record["untold"] = before.get("untold", [])
            step_states.put_away(state, holder, before)
        if is_here:
            whose = _with(conversation.whose(), first)
            change = step_transitions.begin(
                record, whose, Deeds(conversation, []), now_ms, conversation.shell
            )
            if change.waits:
                record["entering"] = True
                change = step_transitions.put_off(record, [], change.waits)
        else:
            change = Change({**record, "entering": True, "rev": 1})
        if by == "person" and params:
            # A person may change what a person had set before.
            theirs = params.keys() & persons_variables(store, holder).keys()
            set_variables(store, holder, {n: params[n] for n in theirs}, "person")
        change.changes = {**first, **change.changes}
        return _commit(store, state, conversation, change)


def advance(
    store: Store, conversation: Conversation, fields: Json | None = None
) -> WorkflowProgress | None:
    """Go on after an event; None if no workflow is there.

    An event whose deeds cannot be done just now, since somebody else has what they
    need, is kept in the record: it happens before the next one, or when this is called
    without one.

    Raises:
        BrokenState, NewerSchema: its record cannot be read.
        LockBusy: somebody else is at it for long; the event can come again.
    """
    holder = conversation.holder
    with step_states.changing(store) as state:
        record = step_states.load(state, holder)
        if record is None:
            return None
        problems: list[str] = []
        record = write_pending(store, state, conversation, record, problems)
        late = record.get("late", [])
        if fields is None and record.get("entering"):
            fields = {}
        events = [*late, *([] if fields is None else [fields])]
        moved: list[tuple[str, str]] = []
        for number, event in enumerate(events):
            if step_of(record) is None:
                break
            change = step_transitions.happen(
                {**record, "late": late[number + 1 :]},
                event,
                conversation.whose(),
                Deeds(conversation, events[number:], persons_variables(store, holder)),
                state.now_ms(),
                conversation.shell,
            )
            if change.waits:
                kept = _once(events[number:])
                change = step_transitions.put_off(record, kept, change.waits)
                step_states.save(state, holder, change.record)
                return _progress(change, moved, problems)
            if change.is_changed or number < len(late):
                _commit(store, state, conversation, change)
            record = change.record
            moved += change.moved
            problems += change.problems
        return _progress(Change(record), moved, problems)


def end(store: Store, conversation: Conversation, why: str) -> WorkflowProgress | None:
    """End a workflow before its exit condition holds; None if there is none.

    Raises:
        BrokenState: its record could not be read; it was put aside.
        NewerSchema: a newer hostbridge wrote it; it stays.
    """
    holder = conversation.holder
    with step_states.changing(store) as state:
        try:
            record = step_states.load(state, holder)
        except step_states.BrokenState:
            step_states.put_aside(state, holder, "its user ended it")
            raise
        if record is None or step_of(record) is None:
            return None
        change = step_transitions.ended(record, why, state.now_ms())
        return _commit(store, state, conversation, change)


def stop(store: Store, conversation: Conversation, fields: Json) -> str | None:
    """Why a turn may not end yet, as the workflow says it; counts how often."""
    holder = conversation.holder
    with step_states.changing(store) as state:
        record = step_states.load(state, holder)
        said = stop_refusal(record) if record is not None else None
        if record is None or said is None:
            return None
        try:
            scope = scope_in(record, fields, conversation.whose())
            text = Deeds(conversation, []).render(said["message"], scope)
        except ValueError:
            text = said["message"]
        now: StepRecord = {**record, "stops": record.get("stops", 0) + 1}
        step_states.save(state, holder, now)
        place = f"step {record['step']} of the workflow {record['code']['name']}"
        return f"{place} is not done. {shortened(text.strip())}"


def told(store: Store, holder: Holder, rev: int) -> None:
    """Note that the model was told everything up to a change.

    A workflow that has ended, and has nothing more to tell, is put away.
    """
    with step_states.changing(store) as state:
        record = step_states.load(state, holder)
        if record is None:
            return
        left = [each for each in record.get("untold", ()) if each[0] > rev]
        if left != record.get("untold", []):
            record["untold"] = left
            if step_of(record) is not None:
                step_states.save(state, holder, record)
        if step_of(record) is None and not left and not record.get("pending"):
            step_states.put_away(state, holder, record)


def _once(events: list[Json]) -> list[Json]:
    """Events, each once: two installs of hostbridge tell the same one."""
    return [each for n, each in enumerate(events) if each not in events[:n]]


def _commit(
    store: Store, state: State, conversation: Conversation, change: Change
) -> WorkflowProgress:
    """Write a change: the record says what is pending until the variables have it."""
    record = change.record
    if change.changes:
        record["pending"] = {
            "call": f"{record['run']}-{record['rev']}",
            "changes": change.changes,
            "counted": change.counted,
        }
    step_states.save(state, conversation.holder, record)
    change.record = write_pending(store, state, conversation, record, change.problems)
    return _progress(change)


def _progress(
    change: Change,
    moved: list[tuple[str, str]] | None = None,
    problems: list[str] | None = None,
) -> WorkflowProgress:
    messages = tuple(text for _rev, text in change.record.get("untold", ()))
    return WorkflowProgress(
        change.record,
        messages,
        tuple(change.moved if moved is None else moved),
        tuple(change.problems if problems is None else problems),
    )


def _new_run(now_ms: int) -> str:
    """An id that sorts by its time, short enough to be part of others."""
    moment = new_request_id(now_ms * 1000).partition("-")[0]
    return f"s-{moment}-{os.urandom(3).hex()}"


def _with(whose: Whose, values: Mapping[str, Any]) -> Whose:
    return Whose(
        {**whose.variables, **values},
        agent=whose.agent,
        depth=whose.depth,
        above=whose.above,
        sets=whose.sets,
    )
