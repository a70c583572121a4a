"""The client's dialogs: what a person does at one, key by key."""

import re
import time

from polling import wait_until

from bridge.testing.stage.terminal import TerminalSession

# After this the client has dropped a key, as it does for a moment after it has drawn a
# dialog; sooner, it may only be slow.
_DROPPED_S = 10


def answer(terminal: TerminalSession, question: str, *keys: str) -> None:
    """Answer the question on the screen, a pattern, once it is there."""
    dialog = rf"{question}[\s\S]*Esc to cancel"
    terminal.wait_for_match(dialog)
    time.sleep(0.5)
    for key in keys:
        _press(terminal, key, dialog)
        # A return that arrives with words is part of them.
        time.sleep(0.2)


def _press(terminal: TerminalSession, key: str, dialog: str) -> None:
    """Press a key, or type words, until the dialog shows that, or is gone.

    Around it other things move: the client's emblem blinks.
    """
    before = _shown(terminal, dialog)
    pressed_s = -_DROPPED_S

    def is_taken() -> bool:
        nonlocal pressed_s
        if _shown(terminal, dialog) != before:
            return True
        if time.monotonic() - pressed_s > _DROPPED_S:
            pressed_s = time.monotonic()
            terminal.type(key) if len(key) > 7 else terminal.key(key)
        time.sleep(0.05)  # each look starts a process
        return False

    wait_until(is_taken, what=f"the client to take {key}")


def _shown(terminal: TerminalSession, dialog: str) -> str:
    found = re.search(dialog, terminal.screen())
    return found[0] if found else ""
