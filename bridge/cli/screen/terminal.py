"""Ask the person at the terminal, and read what they type.

`confirm` asks at the controlling terminal: no pipe and no model can answer. Question
and answer go through /dev/tty, whatever stdin and stdout are. Anything typed before the
question is discarded.
"""

import os
import select
import sys
import termios
from collections.abc import Iterable

from bridge.cli.screen.screen import Line, columns_of, folded, printed
from bridge.config import colour_is_wanted
from bridge.errors import BridgeError

_PASTED_S = 0.05
# Of a longer line the kernel drops the rest, and gives its end. Source: termios(3).
_LINE_BYTES = 4096


class NoTerminal(BridgeError):
    """There is no terminal to ask on."""

    code = "no_terminal"


def confirm(lines: Iterable[Line], question: str) -> bool:
    """Show the lines, ask the question, and return whether the answer was `yes`.

    Raises:
        NoTerminal: this process has no controlling terminal.
    """
    try:
        fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        raise NoTerminal(
            "there is no terminal to ask on; run this in one, yourself"
        ) from None
    with open(fd, "r+b", buffering=0) as tty:
        # Words from outside, too: none may begin at the edge of the terminal.
        shown = folded(lines, columns_of(fd), whole_words=False)
        colour = colour_is_wanted(is_terminal=True)
        text = printed((*shown, "", ""), colour=colour)
        tty.write(text.encode("utf-8", "replace"))
        termios.tcflush(fd, termios.TCIFLUSH)
        tty.write(f"{question} Type yes to agree: ".encode())
        answer = tty.readline(200)
    return answer.strip().lower() == b"yes"


def is_foreground() -> bool:
    """Whether somebody can answer here; the shell reads what is typed to its jobs."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, AttributeError):
        # No terminal, or no stdin at all.
        return False


def typed_on(fd: int) -> str:
    """What was typed on a terminal; or pasted: no line of it is left to the shell.

    Raises:
        ValueError: the terminal has cut a line.
    """
    typed = part = os.read(fd, _LINE_BYTES)
    while part and select.select([fd], [], [], _PASTED_S)[0]:
        part = os.read(fd, _LINE_BYTES)
        typed += part
    if any(len(line) >= _LINE_BYTES for line in typed.splitlines(keepends=True)):
        raise ValueError(
            f"the terminal cuts a line after {_LINE_BYTES - 1:,} bytes; give it in "
            "shorter ones"
        )
    return typed.decode("utf-8", "replace").strip()
