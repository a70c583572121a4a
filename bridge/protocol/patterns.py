"""Match a caller's regular expression, in bounded time whatever it is.

Python's own `re` may need longer than anybody waits for 30 letters. This engine takes
time in proportion to the text; only where a pattern looks around or refers back it has
to try, and then both the text and the tries are limited.

Source: ECMA-262, regular expressions, as JSON Schema wants them; jsonschema-rs.
"""

from __future__ import annotations

import threading
import time
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
# Patterns that are kept compiled: so many, and what took so long to compile, together.
# A few letters may stand for ten MiB of states, which take some tens of milliseconds.
_MAX_KEPT = 256
_MAX_KEPT_US = 1_000_000


class PatternRefused(ValueError):
    """A pattern that is none, or that cannot be matched in bounded time."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that can be matched.

    Attributes:
        text: as it was written.
        engines: each with its tries, the quickest first; one without any (0) where the
            pattern neither looks around nor refers back.
    """

    text: str
    engines: tuple[tuple[int, Draft202012Validator], ...]

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
        self._patterns: dict[str, tuple[Pattern, int]] = {}
        self._cost_us = 0

    def get(self, text: str) -> Pattern | None:
        with self._lock:
            found = self._patterns.pop(text, None)
            if found is None:
                return None
            self._patterns[text] = found
            return found[0]

    def add(self, pattern: Pattern, cost_us: int) -> None:
        with self._lock:
            _, old_us = self._patterns.pop(pattern.text, (None, 0))
            self._patterns[pattern.text] = pattern, cost_us
            self._cost_us += cost_us - old_us
            while len(self._patterns) > 1 and self._is_too_much():
                _, gone_us = self._patterns.pop(next(iter(self._patterns)))
                self._cost_us -= gone_us

    def _is_too_much(self) -> bool:
        return len(self._patterns) > _MAX_KEPT or self._cost_us > _MAX_KEPT_US


_kept = _Kept()


def pattern_of(text: str, *, spend: Callable[[int], None]) -> Pattern:
    """The pattern that `text` is.

    `spend` is told what it took to compile it, in microseconds, where that was not done
    before: no count of letters tells it beforehand.

    Raises:
        PatternRefused: it is none, or longer than `MAX_PATTERN_CHARS`.
    """
    if len(text) > MAX_PATTERN_CHARS:
        raise PatternRefused(
            f"a pattern has at most {MAX_PATTERN_CHARS:,} characters, and this one has "
            f"{len(text):,}"
        )
    if (pattern := _kept.get(text)) is not None:
        return pattern
    began_ns = time.thread_time_ns()
    try:
        pattern = _compiled(text)
    finally:
        took_us = (time.thread_time_ns() - began_ns) // 1_000
        spend(took_us)
    _kept.add(pattern, took_us)
    return pattern


def _compiled(text: str) -> Pattern:
    schema = {"pattern": printable(text)}
    try:
        plain = Draft202012Validator(schema, pattern_options=RegexOptions())
        return Pattern(text, ((0, plain),))
    except ValidationError:
        pass
    try:
        engines = tuple(
            (tries, Draft202012Validator(schema, pattern_options=_trying(tries)))
            for tries in (_FEW_TRIES, _MAX_TRIES)
        )
    except ValidationError:
        raise PatternRefused(f"{text!r} is not a 'regex'") from None
    return Pattern(text, engines)


def _trying(tries: int) -> FancyRegexOptions:
    return FancyRegexOptions(backtrack_limit=tries)
