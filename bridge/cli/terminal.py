"""Ask the person at the controlling terminal: no pipe and no model can answer.

Question and answer go through /dev/tty, whatever stdin and stdout are. Anything typed
before the question is discarded.
"""

import os
import termios

from bridge.errors import BridgeError
from bridge.host.output import clean


class NoTerminal(BridgeError):
    """There is no terminal to ask on."""

    code = "no_terminal"


def confirm(text: str, question: str) -> bool:
    """Show `text`, ask the question, and return whether the answer was `yes`.

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
        tty.write(f"{clean(text, len(text))}\n\n".encode("utf-8", "replace"))
        termios.tcflush(fd, termios.TCIFLUSH)
        tty.write(f"{question} Type yes to agree: ".encode())
        answer = tty.readline(200)
    return answer.strip().lower() == b"yes"
