"""A tasks.db that somebody else has made or edited, and more tasks than anybody has."""

import json
import sqlite3
from contextlib import closing
from functools import partial

import pytest
from storeworld import store_in
from thoroughness import is_full

from bridge.tasks.circles import TaskCircle
from bridge.tasks.database import TasksDamaged
from bridge.tasks.task import NewTask, Status
from bridge.tasks.tasks import Tasks

pytestmark = pytest.mark.faults

_TRIGGER = """
CREATE TRIGGER evil AFTER UPDATE ON tasks
BEGIN UPDATE tasks SET status = 'closed' WHERE number = 2; END;
"""
_VIEW = """
ALTER TABLE claims RENAME TO real;
CREATE VIEW claims AS WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)
SELECT n AS task FROM c;
"""
HOSTILE = {
    "trigger": (_TRIGGER, "it has a trigger that hostbridge did not make, 'evil'"),
    "view": (_VIEW, "it has a view that hostbridge did not make, 'claims'"),
    "less": ("ALTER TABLE tasks DROP COLUMN reason", "is damaged (no such column"),
    "no text": (
        "UPDATE tasks SET description = CAST(x'ff' AS TEXT)",
        "is damaged (Could not decode",
    ),
}


@pytest.mark.parametrize(("sql", "said"), HOSTILE.values(), ids=HOSTILE)
def test_code_in_the_file_of_a_stranger_does_not_act(tmp_path, sql, said):
    tasks = Tasks(store_in(tmp_path))
    tasks.create_all([NewTask("one"), NewTask("two")])
    path = tasks.database.path
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(sql)
    before = path.read_bytes()

    for act in (tasks.list, partial(tasks.update, 1, title="new"), tasks.list):
        with pytest.raises(TasksDamaged) as refused:
            act()
        assert f"{path}" in str(refused.value)
        assert said in str(refused.value)
    assert path.read_bytes() == before


def test_a_circle_in_a_file_that_somebody_edited_ends(tmp_path):
    tasks = Tasks(store_in(tmp_path))
    tasks.create_all([NewTask("a"), NewTask("b", parent=1), NewTask("c", parent=2)])
    with closing(sqlite3.connect(tasks.database.path)) as connection:
        connection.execute("UPDATE tasks SET status = 'closed'")
        connection.execute("UPDATE tasks SET parent = 3 WHERE number = 1")
        connection.commit()

    assert [branch.task.number for branch in tasks.tree(1)] == [1, 2, 3]
    assert tasks.reopen(2).status is Status.OPEN
    assert {task.status for task in tasks.list()} == {Status.OPEN}


def test_who_makes_up_tasks_meanwhile_locks_nobody_out(tmp_path):
    tasks = Tasks(store_in(tmp_path, lock_wait_s=0.1))

    def made_up():
        yield NewTask("one")
        tasks.create("of another")
        yield NewTask("two")

    assert [task.title for task in tasks.create_all(made_up())] == ["one", "two"]
    assert len(tasks.list()) == 3


def chain(many: int) -> bytes:
    """Closed tasks, each below the one before and after it."""
    uuids = [f"{n:08x}-0000-7000-8000-000000000000" for n in range(many)]
    lines = [
        {"uuid": uuid, "title": f"t{n}", "status": "closed", "createdAt": n}
        | ({"parent": uuids[n - 1]} if n else {})
        for n, uuid in enumerate(uuids)
    ]
    return b"\n".join(json.dumps(each).encode() for each in lines)


def test_thousands_of_tasks_one_below_the_other(tmp_path):
    """Nothing here calls itself once for each: Python allows a thousand calls."""
    many = 10_000 if is_full() else 2_000
    tasks = Tasks(store_in(tmp_path))
    tasks.import_(chain(many))

    assert tasks.tree()[-1].depth == many - 1
    assert len(tasks.list(under=1)) == many - 1
    tasks.reopen(many)
    assert tasks.counts()["open"] == many
    assert [task.number for task in tasks.ready()] == [many]
    for act in (
        partial(tasks.update, 1, parent=many),
        partial(tasks.depend, many, 1),
        partial(tasks.create, "x", parent=many, depends_on=1),
    ):
        with pytest.raises(TaskCircle) as circle:
            act()
        assert len(str(circle.value)) < 300
    assert tasks.import_(tasks.export()).unchanged == many
    assert len(tasks.delete(1, with_children=True)) == many
