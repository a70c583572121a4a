"""A program that we start ends with us, whatever it does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from polling import wait_until
from stage.processes import is_alive

from bridge.process import run as program

if TYPE_CHECKING:
    from pathlib import Path

FOREVER = "exec sleep 1000"


def run(folder: Path, script: str, **options: Any) -> program.Ended:
    given: dict[str, Any] = {
        "stdin": b"",
        "env": {"PATH": os.environ["PATH"]},
        "folder": folder,
        "deadline_s": time.monotonic() + options.pop("seconds", 30),
        "should_stop": lambda: False,
        "max_stdout": 1 << 20,
        "grace_s": 0.2,
    }
    return program.run(["sh", "-c", script], **{**given, **options})


def pids_in(file: Path) -> list[int]:
    return [int(word) for word in file.read_text().split()] if file.exists() else []


def test_stdin_stdout_stderr_and_exit_code(tmp_path: Path):
    ended = run(tmp_path, "cat; echo oh >&2; pwd; exit 3", stdin=b"said\n")

    assert ended == program.Ended("exited", 3, f"said\n{tmp_path}\n".encode(), "oh")


def test_a_large_input_that_nobody_reads_blocks_nothing(tmp_path: Path):
    """A prompt of megabytes to a program that ends at once."""
    ended = run(tmp_path, "exit 0", stdin=b"x" * 5_000_000)

    assert (ended.how, ended.exit_code) == ("exited", 0)


def test_large_input_and_output_pass_whole(tmp_path: Path):
    ended = run(tmp_path, "cat", stdin=b"x" * 5_000_000, max_stdout=10_000_000)

    assert ended == program.Ended("exited", 0, b"x" * 5_000_000, "")


def test_what_is_left_in_the_pipe_at_its_end_is_read(tmp_path: Path):
    """All of it is there before we read any."""
    script = (
        "import fcntl, os\n"
        "fcntl.fcntl(1, 1031, 1 << 20)  # F_SETPIPE_SZ\n"
        "os.write(1, b'x' * 500_000)\n"
    )

    def wait_for_its_end() -> bool:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        return False

    (tmp_path / "write.py").write_text(script)
    ended = run(
        tmp_path,
        f"exec {sys.executable} -I write.py",
        should_stop=wait_for_its_end,
    )

    assert (ended.how, len(ended.stdout)) == ("exited", 500_000)


def test_a_program_killed_by_a_signal_says_which(tmp_path: Path):
    ended = run(tmp_path, "kill -9 $$")

    assert (ended.how, ended.exit_code) == ("exited", 137)


def test_error_no_such_program(tmp_path: Path):
    ended = program.run(
        ["/nowhere/claude"],
        stdin=b"",
        env={},
        folder=tmp_path,
        deadline_s=time.monotonic() + 30,
        should_stop=lambda: False,
        max_stdout=100,
    )

    assert ended == program.Ended(
        "exited", 127, b"", "/nowhere/claude: No such file or directory"
    )


def test_the_deadline_ends_it(tmp_path: Path):
    script = f"echo begun; echo $$ >pid; {FOREVER}"

    ended = run(tmp_path, script, seconds=4, grace_s=1)

    assert (ended.how, ended.exit_code, ended.stdout) == ("deadline", 143, b"begun\n")
    assert not any(map(is_alive, pids_in(tmp_path / "pid")))


def test_what_ignores_sigterm_is_killed(tmp_path: Path):
    script = "trap '' TERM; echo $$ >pid; while :; do sleep 0.1; done"

    ended = run(tmp_path, script, seconds=3)

    assert (ended.how, ended.exit_code) == ("deadline", 137)
    assert not any(map(is_alive, pids_in(tmp_path / "pid")))


DAWDLE = "trap 'sleep 36000' TERM; echo $$ >pid; while :; do sleep 0.1; done"


@pytest.mark.parametrize("why", ["deadline", "stopped"])
def test_the_grace_comes_out_of_the_deadline(tmp_path: Path, why: str):
    """Whoever waits until then is to hear of it then, whatever the program does."""
    ended = run(
        tmp_path,
        DAWDLE,
        seconds=4,
        grace_s=36_000,
        should_stop=(tmp_path / "pid").exists if why == "stopped" else lambda: False,
    )

    assert (ended.how, ended.exit_code) == (why, 137)
    assert not any(map(is_alive, pids_in(tmp_path / "pid")))


def test_it_is_told_to_end_before_its_deadline(tmp_path: Path):
    """One that obeys has the time to do so."""
    script = "trap 'touch done; exit 7' TERM; while :; do sleep 0.05; done"

    ended = run(tmp_path, script, seconds=8, grace_s=30)

    assert (ended.how, ended.exit_code) == ("deadline", 7)
    assert (tmp_path / "done").exists()


def test_it_stops_when_told_to(tmp_path: Path):
    ended = run(
        tmp_path,
        f"echo $$ >pid; {FOREVER}",
        should_stop=(tmp_path / "pid").exists,
        grace_s=20,
    )

    assert (ended.how, ended.exit_code) == ("stopped", 143)


def test_output_is_bounded(tmp_path: Path):
    ended = run(tmp_path, "yes", max_stdout=100_000)

    assert ended.how == "too much output"
    assert 100_000 < len(ended.stdout) < 1_000_000


GRANDCHILD = "sleep 1000 & echo $! >>pids"
IN_A_SESSION_OF_ITS_OWN = "setsid sh -c 'echo $$ >>pids; exec sleep 1000' &"


@pytest.mark.parametrize("start", [GRANDCHILD, IN_A_SESSION_OF_ITS_OWN])
def test_grandchildren_holding_the_pipe_do_not_hang_us(tmp_path: Path, start: str):
    """They are ended with the program, also when they have left its group."""
    script = f"{start}\nwhile [ ! -s pids ]; do sleep 0.01; done; echo done"

    ended = run(tmp_path, script)

    assert ended == program.Ended("exited", 0, b"done\n", "")
    (pid,) = pids_in(tmp_path / "pids")
    assert not is_alive(pid)


def test_an_interrupt_leaves_nothing(tmp_path: Path):
    def interrupt() -> bool:
        if (tmp_path / "pids").exists():
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, f"echo $$ >pids; {FOREVER}", should_stop=interrupt)

    (pid,) = pids_in(tmp_path / "pids")
    assert not is_alive(pid)


ASKER = """
import sys, time
from pathlib import Path
from bridge.process import run
run.run(
    ["sh", "-c", sys.argv[1]], stdin=b"", env={"PATH": "/usr/bin:/bin"},
    folder=Path("."), deadline_s=time.monotonic() + 100,
    should_stop=lambda: False, max_stdout=100, grace_s=0.2,
)
"""
STUBBORN_FAMILY = (
    "trap '' TERM; stay='echo $$ >>pids; sleep 1000; sleep 1000'; "
    'setsid sh -c "trap \'\' TERM; $stay" & eval "$stay"'
)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_an_asker_that_is_killed(tmp_path: Path, number: int):
    """Nobody is left to send a signal; the keeper sees the pipe close."""
    with subprocess.Popen(
        [sys.executable, "-c", ASKER, STUBBORN_FAMILY], cwd=tmp_path
    ) as asker:
        pids = wait_until(
            lambda: found if len(found := pids_in(tmp_path / "pids")) == 2 else None
        )
        assert all(map(is_alive, pids))
        asker.send_signal(number)

    wait_until(lambda: not any(map(is_alive, pids)))


KEEPER = "$PPID"
GUARD = "$(ps -o ppid= -p $PPID)"
ATTACKS = {
    "the keeper is killed": f"kill -9 {KEEPER}",
    "the guard is killed": f"kill -9 {GUARD}",
    "the keeper is stopped": f"kill -STOP {KEEPER}",
    "the guard is stopped": f"kill -STOP {GUARD}",
    "both are stopped": f"kill -STOP {GUARD}; kill -STOP {KEEPER}",
    "both are told to end": f"kill {GUARD} {KEEPER}",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_outlives_keepers_that_the_program_attacks(tmp_path: Path, attack: str):
    """One of the two is enough; where both are stopped, whoever asked ends all."""
    script = f"{IN_A_SESSION_OF_ITS_OWN}\n{GRANDCHILD}\n"
    script += "until [ $(wc -l <pids) = 2 ]; do sleep 0.01; done; echo $$ >>pids\n"

    run(tmp_path, f"{script}{ATTACKS[attack]}; {FOREVER}", seconds=4)

    pids = pids_in(tmp_path / "pids")
    assert len(pids) == 3
    assert not any(map(is_alive, pids))


HOPPER = """
while time.monotonic() < until:
    if os.fork():
        os._exit(0)
    os.setsid()
    beat()
"""
BOMB = """
for _ in range(5):
    os.fork()
while time.monotonic() < until:
    if not os.fork():
        beat()
        time.sleep(0.01)
        os._exit(0)
    os.waitpid(-1, os.WNOHANG)
    time.sleep(0.01)
"""


@pytest.mark.parametrize("code", [HOPPER, BOMB], ids=["one after another", "many"])
def test_what_goes_on_forking_is_ended(tmp_path: Path, code: str):
    """Also where each is in a session of its own, and gone before it can be named."""
    begin = (
        "import os, time\n"
        "def beat(): open('beat', 'w').close()\n"
        "until = time.monotonic() + 120\n"
    )
    (tmp_path / "forks.py").write_text(begin + code)
    beat = tmp_path / "beat"
    seen = []

    def is_well_under_way() -> bool:
        seen.append(beat.exists())
        return sum(seen) > 5

    script = f"{sys.executable} -I forks.py & {FOREVER}"
    ended = run(tmp_path, script, should_stop=is_well_under_way, seconds=60)

    assert ended.how == "stopped"
    last = beat.stat().st_mtime_ns
    time.sleep(0.3)
    assert beat.stat().st_mtime_ns == last
