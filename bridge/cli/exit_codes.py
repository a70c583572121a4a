"""Exit codes of the command line, and which error means which."""

from __future__ import annotations

from enum import IntEnum

from bridge.errors import (
    BridgeError,
    CannotWaitHere,
    NoHost,
    RequestFailed,
    StateVanished,
    UnknownRequest,
    WaitTimeout,
)


class Exit(IntEnum):
    """What a command's exit code says."""

    OK = 0
    FAILED = 1
    USAGE = 2
    BUG = 3
    NO_ROUTE = 4
    DEADLINE = 5
    SUBMITTED = 6
    INTERRUPTED = 130


def exit_code(error: BridgeError) -> Exit:
    """The exit code for an error of the user's."""
    if isinstance(error, NoHost):
        return Exit.NO_ROUTE
    if isinstance(error, CannotWaitHere):
        return Exit.SUBMITTED
    if isinstance(error, WaitTimeout) or error.code == "timeout":
        return Exit.DEADLINE
    if isinstance(error, (RequestFailed, UnknownRequest, StateVanished)):
        return Exit.FAILED
    return Exit.USAGE
