"""A worker that was started on a guess: taken, ended, or never there."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import needs
import pytest
from localmodel import ask

from bridge.config import Settings
from bridge.llama.load_options import load_order
from bridge.llama.local_model import LlamaModel
from bridge.llama.model_files import find_model
from bridge.llama.preload import end_ahead, start_ahead, take_ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    needs.local_model()
    yield Settings(home=tmp_path, local_context=2048)
    end_ahead()


def all_children() -> list[int]:
    """Children of this process, living or not yet waited for."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


@pytest.fixture
def children() -> Callable[[], list[int]]:
    """What the test itself started: its process may have served other tests before."""
    before = set(all_children())
    return lambda: [pid for pid in all_children() if pid not in before]


def test_the_engine_takes_the_worker_that_loads_its_model(settings, children):
    """Loaded once, and long ago."""
    start_ahead(None, settings)
    [pid] = children()

    with LlamaModel.open("inherit", settings) as llama:
        assert llama.pid == pid
        assert ask(llama).tokens
        with LlamaModel.open("inherit", settings) as another:
            assert another.pid != pid

    assert children() == []


def test_an_engine_of_another_model_ends_it(settings, tmp_path, children):
    """Two models at once may be more than a machine holds."""
    start_ahead(None, settings)
    other = tmp_path / "other.gguf"
    other.symlink_to(needs.local_model())

    with LlamaModel.open(str(other), settings) as llama:
        assert children() == [llama.pid]
        assert ask(llama).tokens


@pytest.mark.parametrize("wanted", ["nope.gguf", "gpt"])
def test_nothing_is_started_for_a_model_that_is_not_there(settings, wanted, children):
    """The model will say so; a guess fails in silence."""
    start_ahead(wanted, settings)

    assert children() == []


def test_its_death_is_told_by_the_reply(settings, children):
    """A worker that was killed before its time fails as any other."""
    start_ahead(None, settings)
    [pid] = children()
    os.kill(pid, 9)

    with LlamaModel.open(None, settings) as llama:
        with pytest.raises(Exception, match="was ended by SIGKILL") as failed:
            ask(llama)
        assert failed.value.code == "AGENT_006"

    assert children() == []


def test_the_worker_that_nobody_took_ends_with_the_process(settings):
    """Waited for, too: who looks after the command has ended finds nothing."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from bridge.config import Settings\n"
        "from bridge.llama.preload import start_ahead\n"
        "start_ahead(None, Settings(home=Path(sys.argv[1])))\n"
        "print(open('/proc/thread-self/children').read())\n"
    )
    command = [sys.executable, "-c", code, str(settings.home)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)

    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_it_is_given_to_one_only(settings, children):
    start_ahead(None, settings)
    order = load_order(find_model(None, settings), settings)

    taken = take_ahead(order)

    assert taken is not None
    assert taken.pid in children()
    assert take_ahead(order) is None
    assert "SIGKILL" in taken.close()
