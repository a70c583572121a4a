"""Run a command whose output nobody wants to read, and show how far it is.

    python3 bridge/testing/stage/progress.py WHAT COMMAND...

On a terminal it is one live line: a bar where the output counts steps (`[12/96]` or
`[ 12%]`), the time, and what is being done. Elsewhere it is a line now and then. The
output itself is shown only if the command fails: its end. As a program it needs only
Python: it shows how hostbridge itself is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

_STEP = re.compile(r"\[\s*(\d+)(?:/(\d+)|%)\]")
# Source that a compiler quotes in a warning, and its carets.
_QUOTED = re.compile(r"\s*\d*\s+\|")
_SOURCE = re.compile(r"[\w.-]+[.](?:c|cc|cpp)\b")
_WIDTH = 20
_SHOWN_LINES = 25
# Elsewhere than on a terminal.
_PAUSE_S = 15.0


class CommandProgress:
    """How far a command is, by its output."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.last: deque[str] = deque(maxlen=_SHOWN_LINES)
        self._began_s = time.monotonic()
        self._done = 0.0
        self._has_steps = False
        self._step = ""

    def take(self, line: str) -> None:
        """Look at a line of its output."""
        if not line.strip():
            return
        self.last.append(line.rstrip())
        if not _QUOTED.match(line):
            self._step = line.rstrip()
        if found := _STEP.search(line):
            self._has_steps = True
            self._done = int(found[1]) / max(1, int(found[2] or 100))

    def line(self, width: int) -> str:
        """One line about it."""
        minutes, seconds = divmod(int(time.monotonic() - self._began_s), 60)
        parts = [f"   {self.what}", f"{minutes}:{seconds:02}"]
        if self._has_steps:
            bar = "#" * round(min(1.0, self._done) * _WIDTH)
            parts.insert(1, f"[{bar:-<{_WIDTH}}] {self._done:4.0%}")
        if self._step:
            step = _STEP.sub("", self._step).strip()
            # A compiler's command is long; what it compiles says more.
            source = _SOURCE.findall(step)
            parts.append(source[-1] if source else step)
        return "  ".join(parts)[: width - 1]


def run(what: str, command: Sequence[str]) -> tuple[int, str]:
    """Run a command and show its progress on stderr.

    Returns its exit code and the end of its output.
    """
    progress = CommandProgress(what)
    over = threading.Event()
    shower = threading.Thread(target=_show, args=(progress, over))
    shower.start()
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            for line in cast("IO[str]", process.stdout):
                progress.take(line)
    finally:
        over.set()
        shower.join()
    return process.returncode, "\n".join(progress.last)


def _show(progress: CommandProgress, over: threading.Event) -> None:
    stream = sys.stderr
    if not stream.isatty():
        while not over.wait(_PAUSE_S):
            stream.write(progress.line(80) + "\n")
            stream.flush()
        return
    while not over.wait(0.2):
        stream.write("\r\x1b[K" + progress.line(shutil.get_terminal_size().columns))
        stream.flush()
    stream.write("\r\x1b[K")


def main() -> int:
    """Run the command of the command line; returns its exit code."""
    if len(sys.argv) < 3:  # noqa: PLR2004 - what, and a command
        sys.exit((__doc__ or "").strip())
    code, end = run(sys.argv[1], sys.argv[2:])
    if code:
        sys.stderr.write(f"{end}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
