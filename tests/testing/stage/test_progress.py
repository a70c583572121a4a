"""`stage/progress.py`: what a long command shows, and what a failed one leaves."""

import os
import pty
import re
import subprocess
import sys
import termios
import threading
from contextlib import suppress
from pathlib import Path

from polling import wait_until
from programs import ran

from bridge.testing.stage import progress

SCRIPT = Path(progress.__file__)
UNTIL_SEEN = "while [ ! -e seen ]; do sleep 0.02; done"
STEPS = f"""
for i in 1 2; do echo "[$i/4] building $i"; done
{UNTIL_SEEN}
echo "[3/4] building 3"
"""


def test_a_bar_on_a_terminal(tmp_path):
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 60))

    command = [sys.executable, SCRIPT, "pip", "sh", "-c", STEPS]
    with subprocess.Popen(command, stderr=theirs, cwd=tmp_path) as process:
        os.close(theirs)
        data = b""
        with suppress(OSError):
            while part := os.read(ours, 1 << 16):
                data += part
                if b"building 2" in data:
                    (tmp_path / "seen").touch()
    os.close(ours)
    shown = data.decode()

    lines = [line.removeprefix("\x1b[K") for line in shown.split("\r")]
    assert process.returncode == 0
    bar = re.escape("   pip  [##########----------]  50%  ")
    assert any(re.fullmatch(bar + r"\d+:\d\d  building 2", line) for line in lines)
    assert max(map(len, lines)) < 60
    assert lines[-1] == ""


def test_elsewhere_a_line_now_and_then(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(progress, "_PAUSE_S", 0.25)
    monkeypatch.chdir(tmp_path)
    shown = []

    def look() -> None:
        wait_until(lambda: shown.append(capsys.readouterr().err) or "a\n" in shown[-1])
        (tmp_path / "seen").touch()

    looking = threading.Thread(target=look)
    looking.start()
    assert progress.run("npm", ["sh", "-c", f"echo a; {UNTIL_SEEN}"]) == (0, "a")
    looking.join()

    lines = "".join(shown).splitlines()
    assert all(re.fullmatch(r"   npm  \d+:\d\d(  a)?", line) for line in lines)


def test_what_a_compiler_quotes_is_no_step():
    shown = progress.CommandProgress("pip")
    for line in ("[3/9] building ggml.c", "  412 |   int a;", "      |       ^~~~"):
        shown.take(line)

    assert shown.line(80).endswith("  ggml.c")


def test_error_the_end_of_the_output_is_shown():
    """Nobody has to run it again to see why."""
    command = "seq 40; echo 'no space left' >&2; exit 3"

    done = ran(sys.executable, SCRIPT, "pip", "sh", "-c", command)

    lines = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (3, "")
    assert (len(lines), lines[0], lines[-1]) == (25, "17", "no space left")
