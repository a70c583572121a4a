"""Tasks against SQLite itself: what is ready among ten thousand, and 500 made at once.

Both in this process. The floor is the bare SELECT on a connection that is open, its
rows fetched; we open the state and the file, look for claims of processes that are
gone, and make values of the rows. A fifth of the tasks is ready: the others are closed,
wait for one that is not, or have children that are open. `execute_expansion` makes a
saved spec of 500 tasks, each after the one before; its floor is one transaction of 500
bare INSERTs, as durable as ours.

    scripts/bench_tasks.py             under a minute
    scripts/bench_tasks.py --quick     a smoke test
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from bench.script import exit_code, rounds_of, scratch
from bench.table import Row, show
from bench.timing import take_turns, timed

from bridge.config import Settings
from bridge.store.location import locate
from bridge.store.store import Store
from bridge.tasks.queries import READY
from bridge.tasks.records import COLUMNS, NEW_ROW, new_uuid
from bridge.tasks.task import Holder, NewTask
from bridge.tasks.tasks import Tasks
from bridge.tasks.tool_table import ToolContext, call

if TYPE_CHECKING:
    from collections.abc import Callable

TASKS = 10_000
PARTS = 500
FLOOR = f"SELECT {COLUMNS} FROM tasks t WHERE {READY} ORDER BY t.priority, t.number"  # noqa: S608 - ours


def main() -> int:
    """Run the benchmark."""
    rounds, is_quick = rounds_of(__doc__, 30, "of each")
    with scratch() as folder:
        tasks = filled(folder)
        with closing(sqlite3.connect(tasks.database.path)) as connection:
            ready = len(connection.execute(FLOOR).fetchall())
            assert ready == len(tasks.ready())
            found = take_turns(looks(tasks, connection), rounds)
        found |= take_turns(expansion(tasks, rounds), rounds)
    rows = [
        Row(f"ready: {ready:,} of {TASKS:,}", found["ready"], found["select"]),
        Row("ready(limit=10)", found["ready 10"], found["select 10"]),
        Row(f"execute_expansion of {PARTS}", found["expand"], found["insert"]),
    ]
    show(f"tasks, {rounds} runs each", rows)
    return exit_code(rows, quick=is_quick)


def filled(folder: Path) -> Tasks:
    """Ten thousand tasks: epics of nine, each after the one before."""
    place = locate(Settings(home=folder / "home"), folder)
    tasks = Tasks(Store(place))
    new: list[NewTask] = []
    for n in range(TASKS):
        uuid = new_uuid(n)
        is_epic = n % 10 == 0
        epic = new[n - n % 10].uuid if not is_epic else None
        after = (new[-1].uuid or "",) if n % 10 > 2 else ()  # noqa: PLR2004 - two at once
        new.append(
            NewTask(f"Task {n}", "What is to be done. " * 10, parent=epic,
                    depends_on=after, uuid=uuid, priority=n % 3 + 1)
        )  # fmt: skip
    tasks.create_all(new)
    return tasks


def looks(
    tasks: Tasks, connection: sqlite3.Connection
) -> list[Callable[[], dict[str, float]]]:
    """What is ready, all of it and the first ten."""
    return [
        timed("ready", tasks.ready),
        timed("select", lambda: connection.execute(FLOOR).fetchall()),
        timed("ready 10", lambda: tasks.ready(limit=10)),
        timed("select 10", lambda: connection.execute(f"{FLOOR} LIMIT 10").fetchall()),
    ]


def expansion(tasks: Tasks, rounds: int) -> list[Callable[[], dict[str, float]]]:
    """Dividing a task, another one each time; one more than rounds, to warm up."""
    store = tasks.store
    context = ToolContext(store, Settings(home=store.place.guard), Holder("bench"))
    parts = [{"title": f"Part {n}", "depends_on": [n - 1] if n else []}
             for n in range(PARTS)]  # fmt: skip
    epics = []
    for n in range(rounds + 1):
        epics.append(tasks.create(f"Epic {n}").ref)
        given = {"task_id": epics[-1], "spec": {"subtasks": parts}}
        call(context, "save_expansion_spec", given)
    bare = sqlite3.connect(tasks.database.path, isolation_level=None)
    bare.execute("PRAGMA synchronous = EXTRA")

    def insert() -> None:
        bare.execute("BEGIN IMMEDIATE")
        for n in range(PARTS):
            row = (None, new_uuid(n), f"Part {n}", "", 2, "", "", 1, 0, 0)
            bare.execute(NEW_ROW, row)
        bare.execute("COMMIT")

    def ours() -> None:
        call(context, "execute_expansion", {"task_id": epics.pop()})

    return [timed("expand", ours), timed("insert", insert)]


if __name__ == "__main__":
    sys.exit(main())
