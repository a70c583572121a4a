"""The lock is free again after an interrupt, at whatever moment it comes."""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any

import pytest
from storeworld import place_in

from bridge.store import lock
from bridge.store.location import open_state

if TYPE_CHECKING:
    from types import FrameType

    from bridge.store.directory import Folder


class Interrupt(BaseException):
    pass


def interrupted(state: Folder, after: int) -> bool:
    """Take the lock, and be interrupted after so many steps; False if it has fewer."""
    steps = itertools.count()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != lock.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and next(steps) == after:
            raise Interrupt
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        with lock.locked(state, wait_s=0):
            pass
    except Interrupt:
        return True
    finally:
        sys.settrace(before)
    return False


# Python says so of a file that nobody closed.
@pytest.mark.filterwarnings("ignore")
def test_an_interrupt_at_any_moment_leaves_the_lock_free(tmp_path):
    """Otherwise, a program that goes on after Ctrl-C could never ask again."""
    after = itertools.count()
    with open_state(place_in(tmp_path)) as state:
        while interrupted(state, next(after)):
            with lock.locked(state, wait_s=0):
                pass

    assert next(after) > 50
