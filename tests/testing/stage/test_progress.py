"""`stage/progress.py`: what a long command shows, and what a failed one leaves."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

from bridge.testing.stage import progress

SCRIPT = Path(progress.__file__)
STEPS = 'for i in 1 2 3; do echo "[$i/4] building $i"; sleep 0.3; done'


def test_a_bar_on_a_terminal():
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 60))

    command = [sys.executable, SCRIPT, "pip", "sh", "-c", STEPS]
    done = subprocess.run(command, stderr=theirs, check=True, capture_output=False)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)

    lines = [line.removeprefix("\x1b[K") for line in shown.split("\r")]
    assert done.returncode == 0
    bar = re.escape("   pip  [##########----------]  50%  ")
    assert any(re.fullmatch(bar + r"\d+:\d\d  building 2", line) for line in lines)
    assert max(map(len, lines)) < 60
    assert lines[-1] == ""


def test_elsewhere_a_line_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_PAUSE_S", 0.25)

    assert progress.run("npm", ["sh", "-c", "echo a; sleep 0.6"]) == (0, "a")

    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(re.fullmatch(r"   npm  \d+:\d\d  a", line) for line in lines)


def test_what_a_compiler_quotes_is_no_step():
    shown = progress.Progress("pip")
    for line in ("[3/9] building ggml.c", "  412 |   int a;", "      |       ^~~~"):
        shown.take(line)

    assert shown.line(80).endswith("  ggml.c")


def test_error_the_end_of_the_output_is_shown():
    """Nobody has to run it again to see why."""
    command = "seq 40; echo 'no space left' >&2; exit 3"

    done = subprocess.run(
        [sys.executable, SCRIPT, "pip", "sh", "-c", command],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    lines = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (3, "")
    assert (len(lines), lines[0], lines[-1]) == (25, "17", "no space left")
