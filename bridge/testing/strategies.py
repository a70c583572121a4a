"""Outcomes as Hypothesis strategies: of one form, or of whatever a program asks.

`outcomes(form)` is drawn before the program runs. `scripts()` draws while it runs: each
request gets an outcome of its own form, from the same data as everything else of the
example, so that it shrinks, is kept and is repeated as that is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import __version__, control, note
from hypothesis import strategies as st

from bridge.protocol.failure_codes import ANSWERED
from bridge.protocol.question import is_visible
from bridge.testing.block import REPLY_S, Answering
from bridge.testing.outcome import CODES, Outcome, answer, asks, failure
from bridge.testing.schema_values import smallest, values

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from contextlib import AbstractContextManager

    from hypothesis.strategies import DrawFn, SearchStrategy

    from bridge.protocol.failure_codes import FailureCode
    from bridge.protocol.request import Request

# A moment, most of the usual deadline, and more than that of nearly any request.
_TIMES_S = (1.0, 90.0, 900.0, 86_400.0)
# Of what an agent may ask: a text, yes or no, a choice, a number, several things.
_FORMS: tuple[dict[str, Any], ...] = (
    {"type": "string"},
    {"type": "boolean"},
    {"enum": ["this", "that"]},
    {"type": "integer", "minimum": 1},
    {
        "type": "object",
        "required": ["name", "why"],
        "properties": {"name": {"type": "string"}, "why": {"type": "string"}},
    },
)
_SELDOM = st.sampled_from((False, False, True))
_WORDS = st.text(min_size=1, max_size=80).filter(is_visible)


def outcomes(
    form: object = None,
    *,
    codes: Collection[FailureCode] = CODES,
    faults: bool = True,
) -> SearchStrategy[Outcome]:
    """Every end of a request that was asked with `form`, the `schema` of an ask.

    That is each valid answer, and each of `codes`. With `faults` it may also be
    degraded, late, come after a crash of who held the request, or be followed by
    another answer. The simplest is the smallest valid answer, at once.

    Raises:
        InvalidRequest: it is no form of an answer.
    """
    answers = values(form).map(answer)
    # They are answers of the default form, and are drawn as such.
    failing = [code for code in CODES if code in codes and code not in ANSWERED]
    plain = answers
    if failing:
        failures = st.sampled_from(failing).map(failure)
        # Of answers there are so many that they would take nearly every example.
        plain = st.sampled_from((answers, failures, failures)).flatmap(_itself)
    return _troubled(plain, values(form)) if faults else plain


def _itself(strategy: SearchStrategy[Outcome]) -> SearchStrategy[Outcome]:
    return strategy


@st.composite
def _troubled(
    draw: DrawFn, plain: SearchStrategy[Outcome], others: SearchStrategy[Any]
) -> Outcome:
    outcome = draw(plain)
    if outcome.code == "no_host" or not _seldom(draw):
        return outcome
    # One draw of many values for each: an example is not spent on what makes no odds.
    which = draw(st.sampled_from(("after_s", "then", "crashes", "degraded")))
    if which == "then":
        return replace(outcome, then=answer(draw(others)).words)
    if which == "crashes":
        return replace(outcome, crashes=draw(st.integers(1, 3)))
    if which == "after_s":
        return replace(outcome, after_s=draw(st.sampled_from(_TIMES_S)))
    return replace(outcome, degraded=outcome.code is None)


def _seldom(draw: DrawFn) -> bool:
    """True once in three times; the simpler is False."""
    return draw(_SELDOM)


class Noted(Answering):
    """A block that tells Hypothesis how each of its requests ended."""

    def __exit__(self, *raised: object) -> None:
        """End, and note what was asked."""
        try:
            super().__exit__(*raised)
        finally:
            for line in self.told():
                note(line)


class DrawnBlock(Noted):
    """A block whose outcomes are drawn as they are needed; see `scripts`."""

    def __init__(
        self,
        draw: DrawFn,
        codes: Collection[FailureCode],
        *,
        faults: bool,
        reply_s: float,
    ) -> None:
        super().__init__(self._drawn, reply_s=reply_s)
        self._draw = draw
        self._codes = [code for code in codes if code != "no_host"]
        self._faults = faults
        self._lent = _lend_example()

    def __repr__(self) -> str:
        return "drawn"

    def _drawn(self, request: Request) -> Outcome:
        # Where nothing can be drawn, a test must not pass by its failures alone.
        smallest(request.answer_schema)
        # The example belongs to the thread that runs the program, which waits just now.
        with self._lent():
            if request.may_still_ask and _seldom(self._draw):
                return self._draw(st.builds(asks, _WORDS, st.sampled_from(_FORMS)))
            # After the first failure a program may ask no more: most go on.
            fails = st.booleans() if not self.requests else _SELDOM
            codes = self._codes if self._draw(fails) else ()
            form = request.answer_schema
            return self._draw(outcomes(form, codes=codes, faults=self._faults))


def _lend_example() -> Callable[[], AbstractContextManager[None]]:
    """Make what has another thread draw for the example of this one.

    Hypothesis has no public way to it: an example belongs to its thread.

    Raises:
        RuntimeError: this version of Hypothesis has not the private one, either.
    """
    variable: Any = getattr(control, "_current_build_context", None)
    if not hasattr(variable, "with_value") or variable.value is None:
        raise RuntimeError(
            f"hypothesis {__version__} keeps its examples in another way than "
            'bridge.testing knows; install the version that "hostbridge[testing]" '
            "names, or test with `@given(outcomes(...))` and `answering`"
        )
    context = variable.value
    return lambda: variable.with_value(context)


class FirstFails(Noted):
    """A block in which the first request fails; later ones get the smallest answer."""

    def __init__(self, code: FailureCode) -> None:
        super().__init__(self._next, is_open=code != "no_host")
        self._code = code

    def __repr__(self) -> str:
        return f"{failure(self._code)!r} first"

    def _next(self, request: Request) -> Outcome:
        if not self.requests:
            return failure(self._code)
        return answer(smallest(request.answer_schema))


@st.composite
def scripts(
    draw: DrawFn,
    *,
    codes: Collection[FailureCode] = CODES,
    faults: bool = True,
    reply_s: float = REPLY_S,
) -> DrawnBlock:
    """Blocks as `answering` makes them, in which every request gets any outcome.

    Of each request the form decides which answers there are. An agent that may ask back
    does so now and then; `reply_s` is that of `answering`. A session is open in each of
    them: without one, nothing can be asked (`failure("no_host")`).
    """
    return DrawnBlock(draw, codes, faults=faults, reply_s=reply_s)
