"""Tasks against SQLite itself: what is ready among ten thousand, and 500 made at once.

    python scripts/bench_tasks.py [ROUNDS]

Both in this process. `floor` is the bare SELECT on a connection that is open, its rows
fetched; `ours` opens the state and the file, looks for claims of who is gone, and makes
values of the rows. A fifth of the tasks is ready: the others are closed, wait for one
that is not, or have children that are open. `execute_expansion` makes a saved spec of
500 tasks, each after the one before; its floor is one transaction of 500 bare INSERTs,
as durable as ours.
"""

from __future__ import annotations

import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

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


def main() -> None:
    """Print a table."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    rounds = int(sys.argv[1]) if sys.argv[1:] else 30
    with tempfile.TemporaryDirectory() as folder:
        tasks = filled(Path(folder))
        with closing(sqlite3.connect(tasks.database.path)) as connection:
            found = len(connection.execute(FLOOR).fetchall())
            assert found == len(tasks.ready())
            rows = [
                measured(f"ready: {found:,} of {TASKS:,}", rounds, tasks.ready,
                         lambda: connection.execute(FLOOR).fetchall()),
                measured("ready(limit=10)", rounds, lambda: tasks.ready(limit=10),
                         lambda: connection.execute(f"{FLOOR} LIMIT 10").fetchall()),
                expansion(tasks, rounds),
            ]  # fmt: skip
    print(f"{'what':<28} {'floor':>9} {'ours':>9} {'ratio':>6}")
    for name, floor, ours in rows:
        print(f"{name:<28} {floor:>6.2f} ms {ours:>6.2f} ms {ours / floor:>5.2f} x")


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


def expansion(tasks: Tasks, rounds: int) -> tuple[str, float, float]:
    """As `measured`: each time another task is divided."""
    store = tasks.store
    context = ToolContext(store, Settings(home=store.place.guard), Holder("bench"))
    parts = [{"title": f"Part {n}", "depends_on": [n - 1] if n else []}
             for n in range(PARTS)]  # fmt: skip
    epics = []
    for n in range(rounds):
        epics.append(tasks.create(f"Epic {n}").ref)
        given = {"task_id": epics[-1], "spec": {"subtasks": parts}}
        call(context, "save_expansion_spec", given)
    with closing(sqlite3.connect(tasks.database.path)) as bare:
        bare.isolation_level = None
        bare.execute("PRAGMA synchronous = EXTRA")

        def insert() -> None:
            bare.execute("BEGIN IMMEDIATE")
            for n in range(PARTS):
                row = (None, new_uuid(n), f"Part {n}", "", 2, "", "", 1, 0, 0)
                bare.execute(NEW_ROW, row)
            bare.execute("COMMIT")

        def ours() -> None:
            call(context, "execute_expansion", {"task_id": epics.pop()})

        return measured(f"execute_expansion of {PARTS}", rounds, ours, insert)


def measured(
    name: str, rounds: int, ours: Callable[[], object], floor: Callable[[], object]
) -> tuple[str, float, float]:
    """The medians in milliseconds, taken in turns."""
    took: dict[Callable[[], object], list[float]] = {floor: [], ours: []}
    for _ in range(rounds):
        for act, times in took.items():
            begun = time.perf_counter()
            act()
            times.append((time.perf_counter() - begun) * 1000)
    return name, statistics.median(took[floor]), statistics.median(took[ours])


if __name__ == "__main__":
    main()
