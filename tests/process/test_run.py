"""A program that we start ends with us, whatever it does."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from aheadclock import AheadClock
from polling import wait_until

from bridge.process.run import WholeOutput
from bridge.process.run import run as run_program
from bridge.process.streams import Streams
from bridge.process.supervised import Supervised
from bridge.testing.stage.processes import is_alive

pytestmark = pytest.mark.slow

FOREVER = "exec sleep 1000"


def run(
    folder: Path, *command: str, seconds: float = 300, max_stdout: int = 1 << 20, **how
) -> tuple[str, int, bytes, str]:
    """Run a program, or a script: how it ended, exit code, stdout, stderr."""
    output = WholeOutput(max_stdout)
    usual = {"stdin": b"", "should_stop": lambda: False, "grace_s": 0.2}
    ended = run_program(
        command if len(command) > 1 else ["sh", "-c", *command],
        output,
        env={"PATH": os.environ["PATH"]},
        folder=folder,
        deadline_s=time.monotonic() + seconds,
        **usual | how,
    )
    return ended.how, ended.exit_code, bytes(output.data), ended.stderr


def pids_in(file: Path) -> list[int]:
    return [int(word) for word in file.read_text().split()] if file.exists() else []


def all_are_gone(file: Path) -> bool:
    pids = pids_in(file)
    return bool(pids) and not any(map(is_alive, pids))


LARGE = b"x" * 5_000_000


SCRIPTS = [
    ("cat; echo oh >&2; exit 3", b"hello\n", 3, b"hello\n", "oh"),
    ("exit 0", LARGE, 0, b"", ""),
    ("cat", LARGE, 0, LARGE, ""),
    ("kill -9 $$", b"", 137, b"", ""),
]


@pytest.mark.parametrize(
    ("script", "stdin", "exit_code", "stdout", "stderr"),
    SCRIPTS,
    ids=["streams", "input-is-not-read", "large-input-and-output", "signal"],
)
def test_streams_and_exit_code(tmp_path, script, stdin, exit_code, stdout, stderr):
    """No input or output blocks, of whatever size."""
    ended = run(tmp_path, script, stdin=stdin, max_stdout=10_000_000)

    assert ended == ("exited", exit_code, stdout, stderr)


def test_output_left_in_the_pipe_at_the_end_is_read(tmp_path):
    """The program ends before any of its output is read."""
    script = (
        "import fcntl, os\n"
        "fcntl.fcntl(1, 1031, 1 << 20)  # F_SETPIPE_SZ\n"
        "os.write(1, b'x' * 500_000)\n"
    )

    def wait_for_its_end():
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        return False

    how, _, stdout, _ = run(
        tmp_path, sys.executable, "-Ic", script, should_stop=wait_for_its_end
    )

    assert (how, len(stdout)) == ("exited", 500_000)


def test_error_no_such_program(tmp_path):
    ended = run(tmp_path, "/nowhere/claude", "-p")

    why = "/nowhere/claude: No such file or directory"
    assert ended == ("exited", 127, b"", why)


LOOP = "while :; do sleep 0.1; done"


@pytest.fixture
def jump(monkeypatch):
    """Puts the clock of `run` forward: a deadline nears when something has happened."""
    clock = AheadClock()

    def put_forward(seconds):
        clock.ahead_s = seconds

    monkeypatch.setattr("bridge.process.run.time", clock)
    return put_forward


STOPPED = [
    (f"echo $$ >pid; {FOREVER}", 143, 900, 900),
    (f"trap 'exit 7' TERM; echo $$ >pid; {LOOP}", 7, 900, 900),
    (f"trap '' TERM; echo $$ >pid; {LOOP}", 137, 0.2, 0.6),
    (f"trap 'sleep 36000' TERM; echo $$ >pid; {LOOP}", 137, 36_000, 1),
]


@pytest.mark.parametrize("how", ["deadline", "stopped"])
@pytest.mark.parametrize(
    ("script", "exit_code", "grace_s", "left_s"),
    STOPPED,
    ids=["ends", "cleans-up", "ignores-sigterm", "dawdles"],
)
def test_a_program_is_stopped(tmp_path, jump, how, script, exit_code, grace_s, left_s):
    """The grace period is part of the deadline: the caller waits no longer."""
    pid = tmp_path / "pid"

    def should_stop():
        if pids_in(pid):
            jump(4000 - left_s)
        return bool(pids_in(pid)) and how == "stopped"

    ended, code, _, _ = run(
        tmp_path, script, seconds=4000, grace_s=grace_s, should_stop=should_stop
    )

    assert (ended, code) == (how, exit_code)
    wait_until(lambda: all_are_gone(pid))


def test_a_deadline_is_kept_by_the_clock(tmp_path):
    how, code, _, _ = run(tmp_path, FOREVER, seconds=1)

    assert how == "deadline"
    assert code in {143, 137}


def test_output_is_bounded(tmp_path):
    how, _, stdout, _ = run(tmp_path, "yes", max_stdout=100_000)

    assert how == "too much output"
    # On a busy machine a while passes until somebody looks; endless it is not.
    assert 100_000 < len(stdout) < 100_000_000


@pytest.mark.parametrize("part", ["guard", "keeper"])
def test_signals_until_its_last_moment_do_not_change_its_exit_code(tmp_path, part):
    """Python puts back what signals do by default before it ends."""
    program = Supervised(
        ["sh", "-c", f"trap 'exit 7' TERM; echo $PPID >keeper; {LOOP}"],
        grace_s=900,
        cwd=tmp_path,
    )
    wait_until(lambda: pids_in(tmp_path / "keeper"))
    pid = program.process.pid if part == "guard" else pids_in(tmp_path / "keeper")[0]

    # Until somebody has waited for it, its id is nobody else's.
    while is_alive(pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        time.sleep(0.0005)

    assert program.stop(30) == 7


CHILD = "sleep 1000 & echo $! >>pids"
IN_ITS_OWN_SESSION = "setsid sh -c 'echo $$ >>pids; exec sleep 1000' &"


@pytest.mark.parametrize("start", [CHILD, IN_ITS_OWN_SESSION])
def test_children_that_hold_the_pipe_are_killed(tmp_path, start):
    """They end with the program, even if they have left its process group."""
    script = f"{start}\nwhile [ ! -s pids ]; do sleep 0.01; done; echo done"

    assert run(tmp_path, script) == ("exited", 0, b"done\n", "")
    assert all_are_gone(tmp_path / "pids")


def test_an_interrupt_leaves_nothing(tmp_path):
    def interrupt():
        if (tmp_path / "pids").exists():
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, f"echo $$ >pids; {FOREVER}", should_stop=interrupt)

    wait_until(lambda: all_are_gone(tmp_path / "pids"))


CALLER = """
import sys, time
from pathlib import Path
from bridge.process.run import WholeOutput, run
run(
    ["sh", "-c", sys.argv[1]], WholeOutput(100), stdin=b"",
    env={"PATH": "/usr/bin:/bin"}, folder=Path("."),
    deadline_s=time.monotonic() + 100, should_stop=lambda: False, grace_s=0.2,
)
"""
STUBBORN_FAMILY = (
    "trap '' TERM; stay='echo $$ >>pids; sleep 1000; sleep 1000'; "
    'setsid sh -c "trap \'\' TERM; $stay" & eval "$stay"'
)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_caller_that_is_killed(tmp_path, number):
    """Nobody is left to send a signal; the keeper sees the pipe close."""
    with subprocess.Popen(
        [sys.executable, "-c", CALLER, STUBBORN_FAMILY], cwd=tmp_path
    ) as caller:
        pids = wait_until(
            lambda: found if len(found := pids_in(tmp_path / "pids")) == 2 else None
        )
        assert all(map(is_alive, pids))
        caller.send_signal(number)

    wait_until(lambda: all_are_gone(tmp_path / "pids"))


KEEPER = "$PPID"
GUARD = "$(ps -o ppid= -p $PPID)"
ATTACKS = {
    "the keeper is killed": f"kill -9 {KEEPER}",
    "the guard is killed": f"kill -9 {GUARD}",
    "the keeper is stopped": f"kill -STOP {KEEPER}",
    "the guard is stopped": f"kill -STOP {GUARD}",
    "both are stopped": f"kill -STOP {GUARD}; kill -STOP {KEEPER}",
    "both get SIGTERM": f"kill {GUARD} {KEEPER}",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_outlives_an_attacked_supervisor(tmp_path, jump, attack):
    """One of its two processes is enough; if both are stopped, the caller kills all."""
    pids = tmp_path / "pids"
    script = f"{IN_ITS_OWN_SESSION}\n{CHILD}\n"
    script += "until [ $(wc -l <pids) = 2 ]; do sleep 0.01; done; echo $$ >>pids\n"

    def put_forward():
        if len(pids_in(pids)) == 3:
            jump(4000 - 4)
        return False

    attacked = f"{script}{ATTACKS[attack]}; {FOREVER}"
    run(tmp_path, attacked, seconds=4000, should_stop=put_forward)

    assert len(pids_in(pids)) == 3
    wait_until(lambda: all_are_gone(pids))


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


@pytest.mark.parametrize("code", [HOPPER, BOMB], ids=["one-after-another", "many"])
def test_processes_that_keep_forking_are_killed(tmp_path, code):
    """Even if each has its own session and ends before a process list shows it."""
    begin = (
        "import os, time\n"
        "def beat(): open('beat', 'w').close()\n"
        "until = time.monotonic() + 120\n"
    )
    (tmp_path / "forks.py").write_text(begin + code)
    beat = tmp_path / "beat"
    seen = []

    def is_well_under_way():
        seen.append(beat.exists())
        return sum(seen) > 5

    script = f"{sys.executable} -I forks.py & {FOREVER}"
    how, *_ = run(tmp_path, script, should_stop=is_well_under_way)

    assert how == "stopped"
    last = beat.stat().st_mtime_ns
    time.sleep(0.3)
    assert beat.stat().st_mtime_ns == last


# The pipes of a child process are read to their end


def test_done_means_that_both_outputs_have_ended():
    """Only then may the caller wait for the process instead of the pipes."""
    with subprocess.Popen(
        ["sh", "-c", "exec 2>&-; cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    ) as process:
        taken = bytearray()
        streams = Streams(process, taken.extend)
        assert not streams.is_done
        streams.send(b"said", is_last=True)
        while streams.stdout_is_open:
            assert not streams.is_done
            streams.move(1)

        while streams.move(0):
            pass
        assert streams.is_done
        streams.close()
    assert taken == b"said"
