"""Exit codes of the command line, and which error means which: one table.

0    answered with success
1    the agent answered failure, or the request failed
2    usage: the command must be called differently
3    a bug of ours; a log was written
4    no route: nobody here could take the request
5    deadline
6    submitted, cannot wait here
7    answered with success, but degraded: not to be relied on
8    looked at, and neither approved nor rejected: a person has to decide
130  interrupted
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from bridge.errors import (
    BadDefinition,
    BadSetting,
    BridgeError,
    CannotContinue,
    CannotWaitHere,
    ExtraMissing,
    InvalidRequest,
    NotShared,
    NotTrusted,
    UnclearAnswer,
    UnknownAgent,
)

if TYPE_CHECKING:
    from bridge.api.result import Result
    from bridge.validation.report import Verdict


class Exit(IntEnum):
    """What a command's exit code says."""

    OK = 0
    FAILED = 1
    USAGE = 2
    BUG = 3
    NO_ROUTE = 4
    DEADLINE = 5
    SUBMITTED = 6
    DEGRADED = 7
    NEEDS_REVIEW = 8
    INTERRUPTED = 130


_BY_VERDICT = {
    "APPROVED": Exit.OK,
    "NOTHING_TO_VALIDATE": Exit.OK,
    "REJECTED": Exit.FAILED,
    "NEEDS_REVIEW": Exit.NEEDS_REVIEW,
}
# Errors that are raised before anything is asked.
_USAGE = frozenset(
    {
        *(InvalidRequest, UnclearAnswer, UnknownAgent, BadSetting, ExtraMissing),
        *(BadDefinition, NotTrusted, NotShared, CannotContinue),
    }
)
_BY_CODE = {
    "usage": Exit.USAGE,
    "timeout": Exit.DEADLINE,
    "no_host": Exit.NO_ROUTE,
    "no_route": Exit.NO_ROUTE,
    "no_server": Exit.NO_ROUTE,
    "no_queue": Exit.NO_ROUTE,
}


def exit_code(error: BridgeError) -> Exit:
    """The exit code for an error that ends a command."""
    # Of a failed request by its own code, not by that of its kind.
    return of_kind(type(error), error.code)


def of_kind(kind: type[BridgeError], code: str | None = None) -> Exit:
    """The exit code for a kind of error, with the failure code that it carries."""
    if kind in _USAGE:
        return Exit.USAGE
    if issubclass(kind, CannotWaitHere):
        return Exit.SUBMITTED
    return of_failure(code or kind.code)


def of_result(result: Result[Any], *, accept_degraded: bool = False) -> Exit:
    """The exit code for a result; `accept_degraded`: a degraded answer is a success."""
    if result.success:
        return Exit.OK if accept_degraded or result.trusted else Exit.DEGRADED
    return of_failure(result.error.code if result.error else None)


def of_verdict(verdict: Verdict) -> Exit:
    """The exit code for a verdict; of nothing to look at, nothing has failed."""
    return _BY_VERDICT[verdict]


def of_failure(code: str | None) -> Exit:
    """The exit code for a failure code; the table is in state/FAILURES.md."""
    return _BY_CODE.get(code or "", Exit.FAILED)
