"""Match a caller's regular expression, in bounded time whatever it is.

Python's own `re` may need longer than anybody waits for 30 letters. This engine takes
time in proportion to the text; only where a pattern looks around or refers back it has
to try, and then both the text and the tries are limited.

Source: ECMA-262, regular expressions, as JSON Schema wants them; jsonschema-rs.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jsonschema_rs import (
    Draft202012Validator,
    FancyRegexOptions,
    RegexOptions,
    ValidationError,
    ValidationErrorKind,
)

from bridge.protocol.record import printable

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_PATTERN_CHARS = 10_000
MAX_TRIED_CHARS = 4_000
# Enough for nearly all; more only for what has shown to need them: they cost more.
_FEW_TRIES = 300
_MAX_TRIES = 10_000
# A few letters may stand for millions of states. How large a pattern is once compiled,
# in bytes, is found by trying: a microsecond goes into some 80 of them.
_SIZES = (2**18, 2**20, 2**22, 10 * 2**20)
_BYTES_A_STEP = 80
# What is kept compiled for the next check: so many patterns, of so many bytes at most.
_MAX_KEPT = 256
_MAX_KEPT_STEPS = 4 * 2**26 // _BYTES_A_STEP

_LOOKS = re.compile(r"\(\?(?:[=!>(]|<[=!])|\\[1-9k]")


class PatternRefused(ValueError):
    """A pattern that is none, or that cannot be matched in bounded time."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that can be matched.

    Attributes:
        text: as it was written.
        engines: each with its tries, the quickest first; one without any (0) where the
            pattern neither looks around nor refers back.
        steps: what it takes to compile it, in microseconds; the same on any machine.
    """

    text: str
    engines: tuple[tuple[int, Draft202012Validator], ...]
    steps: int

    def is_in(self, text: str, *, spend: Callable[[int], None]) -> bool:
        """Whether the pattern matches anywhere in `text`.

        `spend` is told beforehand what each attempt takes at most, in microseconds,
        and may end it.

        Raises:
            PatternRefused: to find out takes too long.
        """
        chars = len(text)
        text = printable(text)
        for tries, engine in self.engines:
            if not tries:
                spend(1 + chars // 500)
                return engine.is_valid(text)
            if chars > MAX_TRIED_CHARS:
                raise PatternRefused(
                    f"{self.text!r} looks around or refers back: it is matched in "
                    f"texts of up to {MAX_TRIED_CHARS:,} characters, and this one has "
                    f"{chars:,}"
                )
            # A try reads the rest of the text, at worst.
            spend(1 + tries // 6 + tries * chars // 1_000)
            if engine.is_valid(text):
                return True
            if not any(map(_is_given_up, engine.iter_errors(text))):
                return False
        raise PatternRefused(
            f"{self.text!r} needs more than {_MAX_TRIES:,} tries in this text: write "
            "it without nested repetition"
        )


def _is_given_up(error: ValidationError) -> bool:
    return isinstance(error.kind, ValidationErrorKind.BacktrackLimitExceeded)


class _Kept:
    """The patterns used last, compiled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._patterns: dict[str, Pattern] = {}
        self._steps = 0

    def get(self, text: str) -> Pattern | None:
        with self._lock:
            found = self._patterns.pop(text, None)
            if found is not None:
                self._patterns[text] = found
            return found

    def add(self, pattern: Pattern) -> None:
        with self._lock:
            if self._patterns.pop(pattern.text, None) is None:
                self._steps += pattern.steps
            self._patterns[pattern.text] = pattern
            while len(self._patterns) > 1 and self._is_too_much():
                gone = self._patterns.pop(next(iter(self._patterns)))
                self._steps -= gone.steps

    def _is_too_much(self) -> bool:
        return len(self._patterns) > _MAX_KEPT or self._steps > _MAX_KEPT_STEPS


_kept = _Kept()


def pattern_of(text: str, *, spend: Callable[[int], None]) -> Pattern:
    """The pattern that `text` is.

    `spend` is told what it takes to compile it, though that may be done already, and
    may end it beforehand.

    Raises:
        PatternRefused: it is none, or longer than `MAX_PATTERN_CHARS`.
    """
    if len(text) > MAX_PATTERN_CHARS:
        raise PatternRefused(
            f"a pattern has at most {MAX_PATTERN_CHARS:,} characters, and this one has "
            f"{len(text):,}"
        )
    pattern = _kept.get(text)
    if pattern is not None:
        spend(pattern.steps)
        return pattern
    pattern = _compiled(text, spend)
    _kept.add(pattern)
    return pattern


def _compiled(text: str, spend: Callable[[int], None]) -> Pattern:
    spent = 0

    def engine(size: int, tries: int) -> Draft202012Validator | None:
        nonlocal spent
        # Where it looks around, each part is compiled by itself.
        cost = size // _BYTES_A_STEP * (_parts(text, size) if tries else 1)
        spent += cost
        spend(cost)
        return _engine(text, tries, size)

    looks = bool(_LOOKS.search(text))
    for size in _SIZES:
        if not looks or size == _SIZES[0]:
            plain = engine(size, 0)
            if plain is not None:
                return Pattern(text, ((0, plain),), spent)
        if looks or size == _SIZES[0]:
            few = engine(size, _FEW_TRIES)
            many = few and engine(size, _MAX_TRIES)
            if few and many:
                return Pattern(text, ((_FEW_TRIES, few), (_MAX_TRIES, many)), spent)
    raise PatternRefused(f"{text!r} is not a 'regex', or far too large")


def _parts(text: str, size: int) -> int:
    """How many parts of a pattern may be as large as `size`, at most."""
    signs = text.count("(") + text.count("\\")
    if size == _SIZES[0]:
        return 1 + signs // 8
    # It takes a count, or many sets of letters.
    return 1 + text.count("{") + (text.count("\\") + text.count("[")) // 10


def _engine(text: str, tries: int, size: int) -> Draft202012Validator | None:
    """None where this is no pattern, or a larger one; `tries` 0 where none are made."""
    options: RegexOptions | FancyRegexOptions = (
        FancyRegexOptions(backtrack_limit=tries, size_limit=size)
        if tries
        else RegexOptions(size_limit=size)
    )
    try:
        return Draft202012Validator(
            {"pattern": printable(text)}, pattern_options=options
        )
    except ValidationError:
        return None
