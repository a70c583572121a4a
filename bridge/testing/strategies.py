"""Outcomes as Hypothesis strategies: of one form, or of whatever a program asks.

`outcomes(form)` is drawn before the program runs. `scripts()` draws while it runs: each
request gets an outcome of its own form, from the same data as everything else of the
example, so that it shrinks, is kept and is repeated as that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import control
from hypothesis import strategies as st

from bridge.protocol.failure_codes import ANSWERED
from bridge.testing.block import Answering
from bridge.testing.outcome import CODES, Outcome, answer, failure
from bridge.testing.schema_values import values

if TYPE_CHECKING:
    from collections.abc import Collection

    from hypothesis.strategies import DrawFn, SearchStrategy

    from bridge.protocol.failure_codes import FailureCode
    from bridge.protocol.request import Request

_DAY_S = 86_400
# Most examples are answers, or a program's later questions would never be reached.
_ANSWERS = 3


def outcomes(
    form: object = None,
    *,
    codes: Collection[FailureCode] = CODES,
    faults: bool = True,
) -> SearchStrategy[Outcome]:
    """Every end of a request that was asked with `form`, the `schema` of an ask.

    That is each valid answer, and each of `codes`. With `faults` the answer may also be
    degraded, late, given after a crash of who held the request, and followed by another
    one. The simplest is the smallest valid answer, at once.

    Raises:
        InvalidRequest: it is no form of an answer.
    """
    answers = values(form).map(answer)
    # They are answers of the default form, and are drawn as such.
    failing = [code for code in CODES if code in codes and code not in ANSWERED]
    kinds = [answers] * (_ANSWERS if failing else 1)
    if failing:
        kinds.append(st.sampled_from(failing).map(failure))
    plain = st.one_of(kinds)
    return _troubled(plain, values(form)) if faults else plain


@st.composite
def _troubled(
    draw: DrawFn, plain: SearchStrategy[Outcome], others: SearchStrategy[Any]
) -> Outcome:
    from dataclasses import replace

    outcome = draw(plain)
    if outcome.code == "no_host":
        return outcome
    trouble: dict[str, Any] = {
        "degraded": outcome.code is None and _seldom(draw, 4),
        "after_s": float(draw(st.integers(1, _DAY_S))) if _seldom(draw, 4) else 0.0,
        "crashes": draw(st.integers(1, 3)) if _seldom(draw, 12) else 0,
        "then": answer(draw(others)).words if _seldom(draw, 8) else None,
    }
    return replace(outcome, **trouble)


def _seldom(draw: DrawFn, times: int) -> bool:
    """True once in so many times; the simpler is False."""
    return draw(st.integers(0, times - 1)) == times - 1


class Drawn(Answering):
    """A block whose outcomes are drawn as they are needed; see `scripts`."""

    def __init__(
        self, draw: DrawFn, codes: Collection[FailureCode], *, faults: bool, open_: bool
    ) -> None:
        super().__init__(self._outcome, is_open=open_)
        self._draw = draw
        self._codes = [code for code in codes if code != "no_host"]
        self._faults = faults
        self._context = control.current_build_context()

    def __repr__(self) -> str:
        return "answers" if self._is_open else "no session"

    def __exit__(self, *raised: object) -> None:
        """End, and tell Hypothesis what was drawn for whom."""
        for line in self.told():
            control.note(line)
        super().__exit__(*raised)

    def _outcome(self, request: Request) -> Outcome:
        # The example belongs to the thread that runs the program, which waits just now.
        with control._current_build_context.with_value(self._context):  # noqa: SLF001
            return self._draw(
                outcomes(request.answer_schema, codes=self._codes, faults=self._faults)
            )


@st.composite
def scripts(
    draw: DrawFn,
    *,
    codes: Collection[FailureCode] = CODES,
    faults: bool = True,
) -> Drawn:
    """Blocks as `answering` makes them, in which every request gets any outcome.

    Of each request the form decides which answers there are. With `no_host` among the
    `codes` there are blocks without a session, too.
    """
    is_closed = "no_host" in codes and _seldom(draw, 12)
    return Drawn(draw, codes, faults=faults, open_=not is_closed)
