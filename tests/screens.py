"""Screens as files that people read, and the command on a terminal of any width.

`screens/NAME.txt` beside a test holds one screen at 60, 80 and 120 columns. After a
change that is meant, `WRITE_SCREENS=1 pytest tests/cli/test_screens.py` writes them.
"""

import fcntl
import os
import re
import struct
import termios
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bridge.cli.screen.screen import Line, cells, printed

FOLDER = Path(__file__).parent / "cli" / "screens"
WIDTHS = (60, 80, 120)
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def same_as_file(name: str, at: Callable[[int], Iterable[Line]]) -> None:
    """Check a screen against its file, and that no line of it is too wide."""
    parts = []
    for width in WIDTHS:
        text = printed(at(width), colour=False)
        assert too_wide(text, width) == []
        parts.append(f"{f' {width} columns ':=^{width}}\n{text}\n")
    file = FOLDER / f"{name}.txt"
    if os.environ.get("WRITE_SCREENS"):
        file.write_text("\n".join(parts))
    assert "\n".join(parts) == file.read_text()


def too_wide(text: str, width: int) -> list[str]:
    """Lines that are wider, except a single word: ids and paths are not divided."""
    lines = [line.rstrip() for line in ESCAPES.sub("", text).splitlines()]
    return [line for line in lines if cells(line) > width and len(line.split()) > 1]


def on_terminal(
    project: Any, *words: str, columns: int, shown: bytearray | None = None, **env: str
) -> str:
    """What a command prints on a terminal of this width; `shown` has it as it comes."""
    shown = bytearray() if shown is None else shown
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    env = {"TERM": "xterm", "COLUMNS": ""} | env
    with project.start(*words, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        process.stdin.close()
        try:
            while part := os.read(ours, 65_536):
                shown += part
        except OSError:  # Linux says so when nobody has the other side any more.
            pass
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")
