"""The tasks: whether their file can be read, and is whole."""

from collections.abc import Iterator

from bridge.doctor.finding import Finding, ok, problem
from bridge.doctor.subject import Subject
from bridge.errors import BridgeError, NewerSchema


def database(subject: Subject) -> Iterator[Finding]:
    """Whether the file of the tasks is free, of this version, and sound."""
    store = subject.store()
    if store is None:
        return
    # Late: SQLite, which most checks do not need.
    from bridge.tasks.database import Database, TasksBusy, TasksDamaged

    tasks = Database(store)
    if not tasks.exists():
        return
    try:
        with tasks.read() as connection:
            wrong = [row[0] for row in connection.execute("PRAGMA quick_check(3)")]
            (count,) = connection.execute("SELECT count(*) FROM tasks").fetchone()
    except BridgeError as exc:
        causes = {
            TasksBusy: "the program that holds them is stopped, or at work for long",
            TasksDamaged: "a disk lost a part of it, or something else wrote there",
            NewerSchema: "a newer hostbridge has written there",
        }
        cause = causes.get(type(exc), "no task can be read or changed")
        yield problem(exc.what, cause, "; ".join(exc.ways) or "see what it says")
        return
    if wrong != ["ok"]:
        found = f"{tasks.path} is damaged: {'; '.join(wrong)}"
        cure = "hostbridge task export saves what can be read; then move the file away"
        yield problem(found, "a disk lost a part of it", cure)
        return
    yield ok(f"{count:,} in {tasks.path.name}; it is sound")
