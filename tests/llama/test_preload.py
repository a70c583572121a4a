"""A worker that was started on a guess is taken, or ended."""

import os
import subprocess
import sys

import needs
import pytest
from localmodel import ask, open_model

from bridge.config import Settings
from bridge.llama.preload import end_ahead, start_ahead

pytestmark = pytest.mark.slow


@pytest.fixture
def settings(tmp_path):
    needs.local_model()
    yield Settings(home=tmp_path, local_context=2048)
    end_ahead()


def all_children() -> list[int]:
    """Children of this process, living or not yet waited for."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


@pytest.fixture
def children():
    """What the test itself started: its process may have served other tests before."""
    before = set(all_children())
    return lambda: [pid for pid in all_children() if pid not in before]


def test_a_model_takes_the_worker_that_loads_it(settings, children):
    """It is loaded once."""
    start_ahead(None, settings)
    [pid] = children()

    with open_model("inherit", settings) as llama:
        assert llama.pid == pid
        assert ask(llama).tokens
        with open_model("inherit", settings) as another:
            assert another.pid != pid

    assert children() == []


def test_another_model_ends_it(settings, tmp_path, children):
    """The machine may not hold two models at once."""
    start_ahead(None, settings)
    other = tmp_path / "other.gguf"
    other.symlink_to(needs.local_model())

    with open_model(str(other), settings) as llama:
        assert children() == [llama.pid]
        assert ask(llama).tokens


@pytest.mark.parametrize("wanted", ["nope.gguf", "gpt"])
def test_nothing_is_started_for_an_unknown_model(settings, wanted, children):
    """The model itself will fail with the reason; the guess fails silently."""
    start_ahead(wanted, settings)

    assert children() == []


def test_a_worker_that_was_killed_fails_the_reply(settings, children):
    """As any other worker would."""
    start_ahead(None, settings)
    [pid] = children()
    os.kill(pid, 9)

    with open_model(None, settings) as llama:
        with pytest.raises(Exception, match="was ended by SIGKILL") as failed:
            ask(llama)
        assert failed.value.code == "model_died"

    assert children() == []


def test_an_unused_worker_ends_with_the_process(settings):
    """It is reaped, too: after the command has ended nothing is left."""
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
