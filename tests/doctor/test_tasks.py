"""What doctor says of the file of the tasks."""

import sqlite3
from contextlib import closing

import pytest

from bridge.doctor import tasks as check
from bridge.doctor.finding import Verdict
from bridge.tasks.task import NewTask
from bridge.tasks.tasks import Tasks

pytestmark = pytest.mark.slow


@pytest.fixture
def tasks(patient):
    """Of a project with some."""
    store = patient.seen().store()
    assert store is not None
    made = Tasks(store)
    made.create_all([NewTask(f"task {n}") for n in range(300)])
    return made


def test_no_tasks_are_no_finding(patient):
    assert patient.found(check.database) == []


@pytest.mark.usefixtures("tasks")
def test_sound_tasks(patient):
    (found,) = patient.found(check.database)

    assert (found.verdict, found.found) == (Verdict.OK, "300 in tasks.db; it is sound")


def test_a_newer_file(patient, tasks):
    with closing(sqlite3.connect(tasks.database.path)) as connection:
        connection.execute("PRAGMA user_version = 99")

    (found,) = patient.found(check.database)

    assert found.verdict is Verdict.PROBLEM
    assert "version 99 is newer" in found.found
    assert found.cause == "a newer hostbridge has written there"


def test_a_file_that_is_no_database(patient, tasks):
    tasks.database.path.write_bytes(b"no database at all " * 500)

    (found,) = patient.found(check.database)

    assert f"{tasks.database.path} is damaged" in found.found
    assert "hostbridge task import" in found.cure


def test_a_damaged_page(patient, tasks):
    """One that no query of ours may meet for long."""
    with closing(sqlite3.connect(tasks.database.path)) as connection:
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'dependencies_backwards'"
        ).fetchone()
    data = bytearray(tasks.database.path.read_bytes())
    start = (page - 1) * 4096
    data[start : start + 4096] = bytes([10]) + bytes(4095)
    tasks.database.path.write_bytes(data)

    (found,) = patient.found(check.database)

    assert found.verdict is Verdict.PROBLEM
    assert str(tasks.database.path) in found.found


def test_a_locked_file(patient, tasks):
    with closing(sqlite3.connect(tasks.database.path)) as other:
        other.isolation_level = None
        other.execute("BEGIN EXCLUSIVE")
        (found,) = patient.found(check.database)

    assert "is in use" in found.found
    assert "end that program" in found.cure
