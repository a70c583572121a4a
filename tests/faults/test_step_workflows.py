"""Step workflows under kills and errors at system calls: each event counts once.

Whatever is broken, the same events, given again to a fresh process, come to the same
steps, variables and deeds, and nothing that the model has to be told is lost.
"""

from functools import partial
from typing import Any

import pytest
from faultlab import Operation, same_after_faults
from stepflows import HOLDER, acting, after, compiled, conversation
from systemcalls import ERRORS

from bridge.policy.step_workflow import step_of
from bridge.store import step_states
from bridge.store.step_states import WorkflowActive
from bridge.store.store import Store
from bridge.store.variables import values_of
from bridge.tasks.task import Holder as TaskHolder
from bridge.tasks.tasks import Tasks
from bridge.tasks.tools import ToolContext
from bridge.workflows import progress
from bridge.workflows.conversation import Conversation

pytestmark = pytest.mark.faults

MOST = 6
TEXT = """
    name: careful
    variables: {n: 0, seen: false, made: null}
    steps:
      - name: one
        on_tool: {Bash: {do: [{increment_variable: n}, {set_variable: {seen: true}}]}}
        on_exit:
          - call_tool: {tool: create_task, arguments: {title: "T ${{ n }}"}, into: made}
        transitions: [{to: two, when: seen}]
      - name: two
        on_enter: [{increment_variable: n}, {inject_message: "made {{ made.id }}"}]
        transitions: [{to: three, when: n >= 3}]
      - {name: three}
    exit_condition: current_step == 'three'
"""
CALL = after("Bash", call="t-1")


def there(store: Store) -> Conversation:
    context = ToolContext(store, None, TaskHolder("test"))
    found = conversation(store)
    return progress.Conversation(found.holder, "s-1", found.whose, act=acting(context))


def begin(store: Store) -> None:
    progress.begin(store, there(store), compiled(TEXT), by="person")


def begun(store: Store) -> None:
    begin(store)
    # The file and its tables are there: what is broken is the deed.
    Tasks(store).list()
    Tasks(store).create("before")


def go_on(store: Store) -> None:
    progress.advance(store, there(store), CALL)


def end(store: Store) -> None:
    progress.end(store, there(store), "a person has ended it")


def moved(store: Store) -> None:
    begun(store)
    go_on(store)


def tell_all(store: Store) -> None:
    record = step_states.find(store, HOLDER)
    progress.told(store, HOLDER, record["rev"] if record else 0)


def ended(store: Store) -> None:
    moved(store)
    end(store)


def nothing(_store: Store) -> None:
    """A state without any workflow."""


OPERATIONS = [
    Operation("activate", nothing, begin),
    Operation("transition", begun, go_on),
    Operation("end", moved, end),
    Operation("told", moved, tell_all),
    Operation("put away", ended, tell_all),
]


def left(store: Store, operation: Operation) -> dict[str, Any]:
    """What there is once the same was done again, where it was broken."""
    if operation.act is begin:
        try:
            begin(store)
        except WorkflowActive:
            progress.advance(store, there(store), after("Read", call="t-0"))
    elif operation.act is not tell_all or step_states.find(store, HOLDER):
        operation.act(store)
    record = step_states.find(store, HOLDER) or {}
    with store.folder("sessions") as folder:
        over = [(e["step"], e["status"]) for e in step_states.earlier(folder, HOLDER)]
    sign = (store.place.state / "sessions" / "s-1.steps").exists()
    values = values_of(store, HOLDER)
    if isinstance(values.get("made"), dict):
        # The rest is by chance, or by the clock.
        values["made"] = {name: values["made"].get(name) for name in ("id", "title")}
    return {
        "values": values,
        "tasks": [task.title for task in Tasks(store).list()],
        "step": record.get("step"),
        "visit": record.get("visit"),
        "pending": record.get("pending"),
        "said": [text for _rev, text in record.get("untold", ())],
        "over": over,
        "sign": sign or not record,
        "active": bool(record) and step_of(record) is not None,
    }


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_a_kill_or_an_error_at_any_call_changes_nothing(operation):
    """A full disk, and others: the event that comes again finishes what was begun."""
    end = partial(left, operation=operation)
    same_after_faults(operation, end, ERRORS, MOST)
