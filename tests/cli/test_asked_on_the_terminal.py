"""`hostbridge run` on a terminal: who answers its checkpoints, and who does not."""

import os
import pty
import select
import sys
import time

import pytest
from polling import wait_until
from trustworld import ASKED, Terminal

pytestmark = [pytest.mark.usefixtures("echo"), pytest.mark.slow]

G = "general-purpose"


def test_only_a_yes_agrees_and_what_is_neither_is_asked_again(project):
    name = project.flow(f'@ok:"Fine?":word -> {G}:"They said {{word}}"')
    terminal = Terminal(
        project, "run", name, "--route", "claude", early=b"typed before\n\n"
    )

    terminal.read_until(ASKED)
    for keys in ("\n", "\x04", "  \n", "stop?\n", "nein\n"):
        terminal.seen = ""
        terminal.type(keys)
        terminal.read_until(ASKED)
    terminal.type("go ahead\n")

    assert terminal.end() == 0
    assert "<They said go ahead>" in terminal.seen
    # What was asked and answered stays: the display does not go up over it.
    after = terminal.seen.rpartition("go ahead\n")[2]
    assert "\x1b[1A" not in after.partition("STEP")[0]


def test_two_lines_do_not_answer_two_questions(project):
    name = project.flow('@one:"First?":a -> @two:"Second?":b')
    terminal = Terminal(project, "run", name, "--route", "claude")

    terminal.read_until(ASKED)
    terminal.type("yes\nyes\n")
    terminal.read_until(f"Second?\n{ASKED}")
    time.sleep(1)

    assert "goes on" not in terminal.seen
    os.write(terminal.fd, b"no\n")
    assert terminal.end() == 1


def test_pasted_lines_are_one_answer(project):
    """Those after the first would be left to the shell, as commands."""
    name = project.flow('@ok:"Fine?":word')
    terminal = Terminal(project, "run", name)

    terminal.read_until(ASKED)
    terminal.seen = ""
    terminal.type("x" * 4_500 + "\n")
    terminal.read_until("not an answer: the terminal cuts a line")
    terminal.read_until(ASKED)
    terminal.type("yes, but\nrm -rf .\n")

    assert terminal.end() == 0
    [run] = (project.state / "runs").glob("*/run.json")
    assert r"yes, but\nrm -rf ." in run.read_text()


def test_an_answer_cannot_pose_as_the_question(project):
    said = f"x\\n{ASKED}yes"
    name = project.flow(f'@ok:"Fine? {said}"')
    terminal = Terminal(project, "run", name, "--route", "claude")

    terminal.read_until(f"\n    Fine? x\n    {ASKED}yes\n{ASKED}")

    terminal.type("no\n")
    assert terminal.end() == 1


def test_in_the_background_it_asks_nobody_and_goes_on(project):
    """What asks a terminal there is stopped by the kernel."""
    name = project.flow('@ok:"Fine?":word')
    job = f"set -m; '{sys.executable}' -m bridge run {name} --route claude & wait"
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(project.folder)
        os.execve("/bin/sh", ["sh", "-c", job], project.env)  # noqa: S606 - ours
    try:
        wait_until(lambda: list(project.state.glob("live/*.run")))
        time.sleep(2)
        (run,) = (file.name for file in project.state.glob("runs/r*"))
        assert project.run("runs", "cancel", run).code == 0
        seen = b""
        while b"is cancelled" not in seen:
            assert select.select([fd], [], [], 180)[0], seen
            seen += os.read(fd, 4096)
        assert b"Your answer" not in seen
    finally:
        os.close(fd)
        os.waitpid(pid, 0)
