"""The tools on tasks under kills and errors at every system call.

Each time: as it was before or as it is after; and whoever calls again, under the same
key, ends where a call without a fault does.
"""

from functools import partial
from typing import Any

import pytest
from faultlab import Operation, prepared, tell
from faults.test_tasks import check_integrity
from storeworld import answer, claim_all, store_in
from systemcalls import together
from toolworld import ask_validator

from bridge.config import Settings
from bridge.store.store import Store
from bridge.tasks.task import Holder
from bridge.tasks.tasks import Tasks
from bridge.tasks.tool_table import ToolContext, call

pytestmark = pytest.mark.faults

ERRORS = {
    "openat": ("EMFILE", "ENOSPC", "EIO"),
    "pwrite64": ("ENOSPC", "EIO"),
    "pread64": ("EIO",),
    "fdatasync": ("EIO", "ENOSPC"),
    "fsync": ("EIO",),
    "write": ("ENOSPC",),
    "linkat": ("ENOSPC",),
}
# So many of one call and error: the first ones tell the most.
MOST = 10
SPEC = {"subtasks": ["a", {"title": "b", "depends_on": [0]}, {"title": "c"}]}


def use(store: Store, name: str, key: str | None = None, **arguments: Any) -> Any:
    settings = Settings(home=store.place.guard.parent / "nowhere")
    context = ToolContext(store, settings, Holder("me"), partial(ask_validator, store))
    return call(context, name, arguments, key)


def saved(store: Store) -> None:
    use(store, "create_task", title="Epic", validation_criteria="it runs")
    use(store, "save_expansion_spec", task_id="#1", spec=SPEC)


def execute(store: Store) -> object:
    return use(store, "execute_expansion", "run-execute-1-1", task_id="#1")["created"]


def create(store: Store) -> object:
    return use(store, "create_task", "run-create-1-1", title="new", claim=True)["id"]


def validate(store: Store) -> object:
    return use(store, "validate_task", task_id="#1")["state"]


def answered(store: Store) -> None:
    """The validator has answered, and nobody has looked."""
    saved(store)
    validate(store)
    for mine in claim_all(store):
        verdict = {"passed": True, "feedback": []}
        store.publish(answer(mine).with_(parsed_output=verdict), source="test")


def close(store: Store) -> object:
    return use(store, "close_task", "run-close-1-1", task_id="#1")["status"]


def search(store: Store) -> object:
    return use(store, "search_memories", query="it is so")["count"]


OPERATIONS = [
    Operation("execute", saved, execute),
    Operation("create by key", saved, create),
    Operation("validate", saved, validate),
    Operation("close what passed", answered, close),
    Operation("search", answered, search),
]


def facts(store: Store) -> list[Any]:
    """All that is there, but for what is new each time."""
    tasks = Tasks(store)
    with tasks.database.read() as connection:
        check_integrity(connection)
        keys = connection.execute("SELECT key, tool FROM calls").fetchall()
        looks = connection.execute("SELECT task, turn, state FROM validations")
        found = [*looks.fetchall()]
    listed = [
        (t.number, t.title, t.status, t.parent, t.depends_on, t.is_expanded)
        for t in tasks.list()
    ]
    return [listed, keys, found, len(store.waiting())]


def check(operation: Operation, store: Store, before: Any, after: Any) -> None:
    """As before or as after; and called again, as after."""
    is_two_steps = operation.name == "validate"
    assert is_two_steps or facts(store) in (before, after)
    operation.act(store)
    assert facts(store) == after


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_a_kill_or_an_error_at_any_call_leaves_all_or_nothing(operation):
    with prepared(operation) as state:
        before, after = facts(state.fresh()), facts(state.whole())
        for _fault, store, _outcome in state.faults(ERRORS, MOST):
            check(operation, store, before, after)
    tell(f"{operation.name}: {state.cases} faults")


def test_many_that_execute_at_once_make_one_set_of_tasks(tmp_path):
    """Two coordinators on one epic."""
    store = store_in(tmp_path)
    saved(store)

    acts = [partial(use, store, "execute_expansion", task_id="#1")] * 6
    told = [each.value for each in together(acts)]

    assert {tuple(each["created"]) for each in told} == {("#2", "#3", "#4")}
    assert [each["wasDone"] for each in told].count(False) == 1
    assert use(store, "list_tasks")["count"] == 4


def test_many_that_validate_at_once_start_one_validator(tmp_path):
    store = store_in(tmp_path)
    saved(store)

    acts = [partial(use, store, "validate_task", task_id="#1")] * 6
    (asked,) = {each.value["requestId"] for each in together(acts)}

    assert store.waiting() == [asked]
