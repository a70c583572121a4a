"""Tasks in a state of their own."""

import pytest
from storeworld import FakeClock, store_in
from toolworld import ToolWorld

from bridge.tasks.tasks import Tasks


@pytest.fixture
def tasks(tmp_path):
    return Tasks(store_in(tmp_path, clock=FakeClock()))


@pytest.fixture
def elsewhere(tmp_path):
    """The tasks of another place."""
    return Tasks(store_in(tmp_path / "elsewhere", clock=FakeClock()))


@pytest.fixture
def shared(tasks, elsewhere):
    """The same three tasks on both sides."""
    tasks.create("epic")
    tasks.create("one", parent=1)
    tasks.create("two", parent=1, depends_on=2)
    elsewhere.import_(tasks.export())
    return tasks, elsewhere


@pytest.fixture
def tools(tmp_path):
    """The tools on tasks, on a state of their own."""
    return ToolWorld(tmp_path)
