"""The file `tasks.db` of a project's state, opened for one transaction.

Every change is one transaction that is durable on return: a kill at any moment leaves
the tasks before it or after it, and whoever opens the file next completes that. The
rollback journal is used, not WAL: our processes are short, and would leave its two
files behind. A lock is waited for only so long, and those who write take turns at it.
What a newer hostbridge wrote is refused and not touched. No link is followed.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from bridge import own_files
from bridge.errors import NewerSchema, StateRefused, StateUnavailable
from bridge.protocol.wording import quoted, seconds
from bridge.store.host_process import describe
from bridge.store.lock import LockBusy, lock_in
from bridge.store.state import State
from bridge.store.store import Store
from bridge.tasks.schema import APPLICATION_ID, STEPS

FILE = "tasks.db"
_BEGIN = "BEGIN IMMEDIATE"
_AGAIN, _END_IT = "try again", "end that program, if it hangs"
# Code in the file, which would act when we read or write: we make none.
_STRANGE = "SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view')"


# What the journal hears of tasks, once the change is durable. A kill in between leaves
# a line out, no more; nothing depends on it but metrics.
Event = Literal["created", "closed", "escalated", "passed", "failed"]


class Connection(sqlite3.Connection):
    """A connection that remembers what its transaction did: events, each with its task.

    `passed` and `failed` is how a validation ended.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.news: list[tuple[Event, int]] = []


def tell(connection: sqlite3.Connection, event: Event, number: int) -> None:
    """Have this told of a task when the transaction is done."""
    if isinstance(connection, Connection):
        connection.news.append((event, number))


class TasksBusy(LockBusy):
    """Another program held `tasks.db` for the whole waiting time; nothing was done."""

    __module__ = "bridge"
    code = "tasks_busy"


class TasksDamaged(StateUnavailable):
    """`tasks.db` is not what hostbridge wrote there."""

    __module__ = "bridge"
    code = "tasks_damaged"
    is_lasting = True


class Database:
    """The tasks of one project. Threads may share it: each use opens the file.

    Attributes:
        file: its name in the state directory.
        steps: from an empty file to the tables of now; see `bridge.tasks.schema`.
        application_id: what it is known by.
        cures: what helps if it is damaged.
    """

    file = FILE
    steps: tuple[str, ...] = STEPS
    application_id = APPLICATION_ID
    cures: tuple[str, ...] = (
        f"save what is readable: sqlite3 {FILE} .recover",
        "move it away, and import your last export: hostbridge task import",
    )

    def __init__(self, store: Store) -> None:
        self.store = store

    @property
    def path(self) -> Path:
        """Where the file is, or would be."""
        return self.store.place.state / self.file

    def exists(self) -> bool:
        """Whether there have ever been tasks here."""
        return os.path.lexists(self.path)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Look at the tasks: all that is read in the block is of one moment.

        Where there have never been any, nothing is made.

        Raises:
            TasksBusy, TasksDamaged, NewerSchema, StateUnavailable, StateRefused: the
                tasks cannot be read.
        """
        if not self.exists():
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as nothing:
                self._take_steps(nothing, 0)
                yield nothing
            return
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Change tasks: all of the block is done, durably, or nothing of it.

        Raises: as `read`.
        """
        with (
            self.store.open() as store,
            self._in_turn(store),
            self._transaction(_BEGIN) as connection,
        ):
            yield connection

    @contextmanager
    def _in_turn(self, store: Store) -> Iterator[None]:
        """The turn of one who writes: SQLite lets some wait in vain behind others."""
        with store.state() as state:
            name, wait_s = f"{self.file}.lock", state.lock_wait_s
            try:
                turn = lock_in(state["locks"], name, wait_s=wait_s)
            except LockBusy as exc:
                raise TasksBusy(exc.what, ways=(_AGAIN, _END_IT)) from None
        with turn:
            yield

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self.store.state() as state:
            wait_s = state.lock_wait_s
            with (
                in_our_words(self.path, wait_s, self.cures),
                _closed_where_opened(self._opened(state, wait_s)) as connection,
            ):
                connection.execute(begin)
                here = os.getpid()
                yield connection
                if os.getpid() != here:
                    raise StateUnavailable(f"{self.path}: {own_files.FORKED}")
                # An error leaves the block, and closing undoes what was begun.
                connection.execute("COMMIT")
                for event, number in connection.news:
                    state.note(f"task {event}", "", task=f"#{number}")

    def _opened(self, state: State, wait_s: float) -> Connection:
        folder, path = state.directory, self.path
        if not folder.has(self.file):
            # Made here, so that nobody else may ever read it. An empty file is a
            # database.
            folder.touch(self.file)
            folder.sync()
        for name in (self.file, f"{self.file}-journal"):
            # Looked at, never opened: closing a file would drop the locks that another
            # thread's connection has on it.
            facts = folder.facts(name)
            if facts is not None and not stat.S_ISREG(facts.st_mode):
                raise StateRefused(
                    path.with_name(name), "not a plain file", "move it away"
                )
        connection = sqlite3.connect(
            _uri(path),
            uri=True,
            timeout=wait_s,
            isolation_level=None,
            factory=Connection,
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        version = _version(connection)
        if version > len(self.steps):
            raise NewerSchema(
                f"{self.path}: version {version} is newer than {len(self.steps)}, the "
                "newest this hostbridge reads; update hostbridge"
            )
        # EXTRA also makes the end of the journal durable, by which a transaction ends.
        for setting in (
            "cell_size_check = ON",
            "synchronous = EXTRA",
            "foreign_keys = ON",
            "trusted_schema = OFF",
        ):
            connection.execute(f"PRAGMA {setting}")
        if version < len(self.steps):
            connection.execute(_BEGIN)
            # Another process may have been quicker.
            self._take_steps(connection, _version(connection))
            connection.execute("COMMIT")
        found = connection.execute("PRAGMA application_id").fetchone()[0]
        if found != self.application_id:
            raise TasksDamaged(f"{self.path}: a database, but not one of hostbridge's")
        if strange := connection.execute(_STRANGE).fetchone():
            kind, name = strange
            raise TasksDamaged(
                f"{self.path}: it has a {kind} that hostbridge did not make, "
                f"{quoted(name)}",
                ways=self.cures,
            )

    def _take_steps(self, connection: sqlite3.Connection, version: int) -> None:
        """Bring a database up to date, within the transaction of the caller."""
        for step in self.steps[version:]:
            for statement in _statements(step):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {self.application_id}")
        connection.execute(f"PRAGMA user_version = {len(self.steps)}")


class Joined(Database):
    """The tasks within a transaction that the caller has begun, and ends."""

    def __init__(self, store: Store, transaction: sqlite3.Connection) -> None:
        super().__init__(store)
        self._begun = transaction

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """As `Database.read`, in the same transaction."""
        yield self._begun

    write = read


# What a child of ours was forked in the middle of: closing it would roll back, and
# remove the journal of its parent.
_of_parent: list[Connection] = []


@contextmanager
def _closed_where_opened(connection: Connection) -> Iterator[Connection]:
    """A connection for the block; a process that was forked in it is refused there.

    Source: SQLite, "How To Corrupt An SQLite Database File", section 2.7.
    """
    here = os.getpid()
    try:
        yield connection
    finally:
        if os.getpid() == here:
            connection.close()
        else:
            _of_parent.append(connection)


def _version(connection: sqlite3.Connection) -> int:
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return found


def _statements(step: str) -> Iterator[str]:
    """Its statements: `executescript` would commit before the first."""
    statement = ""
    for part in step.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):
            if statement.strip(" \n;"):
                yield statement
            statement = ""


def _uri(path: Path) -> str:
    name = str(path)
    for special in "%?#":
        name = name.replace(special, f"%{ord(special):02x}")
    # It is there: rw, not rwc, so that nothing is made where it has just gone away.
    return f"file://{name}?mode=rw"


@contextmanager
def in_our_words(
    path: Path, wait_s: float, cures: tuple[str, ...] = Database.cures
) -> Iterator[None]:
    """Turn an error of SQLite's into one that names the file and the way out."""
    try:
        yield
    except sqlite3.DatabaseError as exc:
        code = getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise TasksBusy(
                f"{path} is in use{_by_whom(path)}; waited {seconds(wait_s)}",
                ways=(_AGAIN, _END_IT),
            ) from None
        if code in _NOT_OURS:
            raise TasksDamaged(
                f"{path} is damaged ({exc})",
                ways=cures,
            ) from exc
        if code in _MACHINES:
            raise StateUnavailable(
                f"{path}: {_why(path, exc)}; nothing was changed"
            ) from exc
        raise


# The last: a table or a column of ours is not there, or a text is not valid.
_NOT_OURS = frozenset({
    sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR,
})  # fmt: skip
_MACHINES = frozenset({
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH,
})  # fmt: skip


def _why(path: Path, exc: sqlite3.DatabaseError) -> str:
    """What SQLite says, or what the system says of the folder where that says more."""
    try:
        os.close(os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return os.strerror(error.errno or 0)
    return str(exc)


def _by_whom(path: Path) -> str:
    """Which other process has locked it, if the kernel says.

    Source: proc(5), "/proc/locks".
    """
    with suppress(OSError, ValueError, IndexError):
        inode = f":{path.stat().st_ino}"
        with open("/proc/locks", encoding="ascii") as table:
            for fields in map(str.split, table):
                if fields[1] == "POSIX" and fields[5].endswith(inode):
                    return f" by {describe(int(fields[4]))}"
    return ""
