"""A command ends with everything it started; its output is counted and digested."""

import hashlib
import sys
import time
from typing import Any

import needs
import pytest
from aheadclock import AheadClock

from bridge.agent_loop import command_tool
from bridge.agent_loop.command_tool import KEPT_BYTES, Ran, run_command

pytestmark = pytest.mark.slow


@pytest.fixture
def run(tmp_path):
    def run(*argv: str, seconds: float = 300.0, **more: Any) -> Ran:
        return run_command(
            " ".join(argv),
            argv,
            folder=tmp_path,
            deadline_s=time.monotonic() + seconds,
            **more,
        )

    return run


def test_exit_code_output_and_digest(run, tmp_path):
    ran = run("sh", "-c", "echo out; echo err >&2; pwd; exit 3")

    output = f"out\nerr\n{tmp_path}\n"
    assert ran == Ran(
        command="sh -c echo out; echo err >&2; pwd; exit 3",
        exit_code=3,
        output=output,
        digest=hashlib.sha256(output.encode()).hexdigest(),
        size=len(output),
    )
    assert not ran.ok


def test_stdin_is_empty(run):
    """A command that asks a question does not wait for an answer."""
    assert run("cat") == Ran("cat", 0, "", hashlib.sha256(b"").hexdigest(), 0)


def test_a_missing_program_gives_an_exit_code(run):
    ran = run("no-such-program-here")

    assert ran.exit_code == 127
    assert ran.output == "no-such-program-here: No such file or directory\n"


def test_no_shell_expands_anything(run):
    assert run("echo", "$HOME", "*", "~").output == "$HOME * ~\n"


def test_of_a_long_output_both_ends_are_kept(run):
    """In bounded memory, with the digest of all of it."""
    write = "print('begin'); print('x' * 50_000_000); print('end')"

    ran = run(sys.executable, "-c", write)

    whole = b"begin\n" + b"x" * 50_000_000 + b"\nend\n"
    assert (ran.exit_code, ran.size) == (0, len(whole))
    assert ran.digest == hashlib.sha256(whole).hexdigest()
    assert ran.output.startswith("begin\nxxx")
    assert ran.output.endswith("xxx\nend\n")
    assert f"… {len(whole) - KEPT_BYTES:,} bytes left out …" in ran.output
    assert len(ran.output) < KEPT_BYTES + 100


def test_a_command_that_writes_for_ever_is_ended(run, tmp_path, monkeypatch):
    clock = AheadClock()
    monkeypatch.setattr("bridge.process.run.time", clock)
    script = "yes | head -c 2000000; touch written; exec yes"

    def put_forward() -> bool:
        if (tmp_path / "written").exists():
            clock.ahead_s = 3600
        return False

    ran = run("sh", "-c", script, is_cancelled=put_forward)

    assert ran.exit_code is None
    assert ran.size > 1_000_000


def test_a_command_may_clean_up(run, tmp_path, monkeypatch):
    """SIGTERM comes first, so that a test runner can remove its temporary files."""
    monkeypatch.setattr(command_tool, "_GRACE_S", 60)
    script = "trap 'touch cleaned; exit' TERM; touch ready; sleep 3607 & wait"

    is_ready = (tmp_path / "ready").exists
    ran = run("sh", "-c", script, seconds=400, is_cancelled=is_ready)

    assert ran.exit_code is None
    assert (tmp_path / "cleaned").exists()


def test_a_command_cannot_signal_its_supervisor(run):
    """Nor anybody else, except what it started itself."""
    needs.signal_walls()

    ran = run(
        "sh",
        "-c",
        "kill -9 $PPID || kill -STOP $(ps -o ppid= -p $PPID) || true & "
        "wait; sleep 3605 & kill $! && echo mine",
    )

    assert ran.output.count("not permitted") == 2
    assert ran.output.endswith("mine\n")


def test_the_environment_of_a_command(run, monkeypatch):
    """Requests that it makes are children; it gets no key to act for the user."""
    monkeypatch.setenv("BRIDGE_PARENT", "above")
    monkeypatch.setenv("CLAUDE_PID", "1")
    monkeypatch.setenv("BRIDGE_OPENAI_API_KEY", "sk-1")

    ran = run("env", env={"BRIDGE_PARENT": "r1", "BRIDGE_DEPTH": "1"})

    names = ("BRIDGE_DEPTH", "BRIDGE_PARENT")
    lines = [line for line in ran.output.splitlines() if line.startswith(names)]
    assert sorted(lines) == ["BRIDGE_DEPTH=1", "BRIDGE_PARENT=r1"]
    assert "CLAUDE_PID" not in ran.output
    assert "sk-1" not in ran.output
