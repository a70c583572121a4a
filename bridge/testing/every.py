"""`@every_answer`: run a test with every answer that its program may get."""

from __future__ import annotations

import asyncio
import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, overload

from hypothesis import example, given, settings

from bridge.protocol.failure_codes import ANSWERED
from bridge.testing.block import REPLY_S
from bridge.testing.outcome import CODES
from bridge.testing.strategies import FirstFails, scripts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from bridge.protocol.failure_codes import FailureCode
    from bridge.testing.strategies import Noted

    Test = Callable[..., Any]

_NAME = "answers"


@overload
def every_answer(test: Test) -> Test: ...


@overload
def every_answer(
    *,
    codes: Collection[FailureCode] = ...,
    faults: bool = ...,
    reply_s: float = ...,
    **how: Any,
) -> Callable[[Test], Test]: ...


def every_answer(
    test: Test | None = None,
    *,
    codes: Collection[FailureCode] = CODES,
    faults: bool = True,
    reply_s: float = REPLY_S,
    **how: Any,
) -> Test | Callable[[Test], Test]:
    """Run a test again and again, each time with other answers to what it asks.

    It is `given(scripts())`, with the test, which may be `async`, in the block, after
    one example for each of `codes`, with which the first request fails. A parameter
    `answers` of the test is that block: `answers.requests` is what was asked. `codes`
    and `faults` are those of `outcomes`, and `reply_s` is that of `answering`; `how`
    are Hypothesis's settings, such as `max_examples`.
    """

    def decorated(test: Test) -> Test:
        strategy = scripts(codes=codes, faults=faults, reply_s=reply_s)
        # How long an example takes says more of the disk than of the program.
        asked = settings(**{"deadline": None, **how})
        run = given(**{_NAME: strategy})(_in_block(test))
        for code in reversed([each for each in CODES if each in codes]):
            if code not in ANSWERED:
                run = example(**{_NAME: FirstFails(code)})(run)
        return asked(run)

    return decorated if test is None else decorated(test)


def _in_block(test: Test) -> Test:
    """The test, in the block that it is given."""
    signature = inspect.signature(test)
    is_wanted = _NAME in signature.parameters

    @wraps(test)
    def run(*args: Any, answers: Noted, **others: Any) -> None:
        __tracebackhide__ = True
        with answers:
            begun = test(*args, **others, **({_NAME: answers} if is_wanted else {}))
            if inspect.iscoroutine(begun):
                asyncio.run(begun)

    if not is_wanted:
        block = inspect.Parameter(_NAME, inspect.Parameter.KEYWORD_ONLY)
        parameters = [*signature.parameters.values(), block]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run
