"""`Bridge.tasks`, `AsyncBridge.tasks`, and who claims."""

import asyncio
import inspect
import os
import subprocess

import pytest

from bridge import AsyncBridge, Bridge, TaskClaimed
from bridge.api.aio import AsyncTasks
from bridge.api.task_holder import person_here, program_here
from bridge.config import Settings
from bridge.store import sessions
from bridge.store.host_process import identify
from bridge.store.sessions import Session
from bridge.tasks.task import Holder, NewTask
from bridge.tasks.tasks import Tasks

pytestmark = pytest.mark.slow


@pytest.fixture
def bridge(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    return Bridge(Settings(home=tmp_path / "home", host_pid=None), project)


def test_a_program_claims_for_itself(bridge):
    task = bridge.tasks.create("one")

    bridge.tasks.claim(task.ref)

    assert bridge.tasks.holder_of(1).process.pid == os.getpid()
    assert program_here(bridge.store, bridge.settings).assignee == "a program"
    # A command is gone at once; the shell that it was typed into is not.
    assert person_here(bridge.store, bridge.settings).process.pid == os.getppid()


@pytest.fixture
def client():
    """A process that stands for a session's."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def test_in_a_session_the_session_claims(bridge, client):
    home = bridge.settings.home
    settings = Settings(home=home, host_pid=client.pid)
    unknown = program_here(bridge.store, settings)
    assert (unknown.assignee, unknown.process.pid) == ("a session", client.pid)

    host = identify(client.pid)
    now_ms = bridge.store.now_ms()
    session = Session(session_id="s-1", host=host, registered_at=now_ms)
    sessions.save(bridge.store, session)
    holder = person_here(bridge.store, settings)
    assert holder == Holder("session s-1", host, session="s-1")
    tasks = Tasks(bridge.store, holder)
    tasks.claim(tasks.create("one").ref)
    with pytest.raises(TaskClaimed):
        bridge.tasks.claim(1)
    client.kill()
    client.wait()
    assert bridge.tasks.claim(1).assignee == "a program"


async def both(bridge):
    tasks = AsyncBridge(bridge).tasks
    made = await tasks.create("one", priority="high")
    await tasks.claim(made.ref)
    await tasks.close(made.ref, reason="done")
    return await tasks.list(status="closed"), await tasks.ready()


def test_asyncio_has_the_same(bridge):
    (task,), ready = asyncio.run(both(bridge))

    assert (task.title, task.reason, ready) == ("one", "done", [])


def test_asyncio_has_every_verb():
    verbs = {name for name, _ in inspect.getmembers(Tasks, inspect.isfunction)}

    assert {verb for verb in verbs if not hasattr(AsyncTasks, verb)} == set()


def test_ten_thousand_tasks(bridge):
    """Looked at, exported, and imported elsewhere."""
    bridge.tasks.create_all(
        [NewTask("epic")]
        + [NewTask(f"task {n}", parent=1, priority=n % 3 + 1) for n in range(9_999)]
    )

    ready = bridge.tasks.ready()
    assert len(ready) == 9_999
    assert ready == sorted(ready, key=lambda task: (task.priority.rank, task.number))
    assert bridge.tasks.get(1).children == 9_999
    assert len(bridge.tasks.tree(1)) == 10_000
    assert bridge.tasks.counts()["open"] == 10_000
    assert bridge.tasks.import_(bridge.tasks.export())[:3] == (0, 0, 10_000)
