"""Match a caller's regular expression, in bounded time whatever it is.

Python's own `re` may need longer than anybody waits for 30 letters. This engine takes
time in proportion to the text; only where a pattern looks around or refers back it has
to try, and then both the text and the tries are limited.

Source: ECMA-262, regular expressions, as JSON Schema wants them; jsonschema-rs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from jsonschema_rs import (
    Draft202012Validator,
    FancyRegexOptions,
    RegexOptions,
    ValidationError,
    ValidationErrorKind,
)

from bridge.protocol.record import printable

MAX_PATTERN_CHARS = 10_000
MAX_TRIED_CHARS = 4_000
_MAX_TRIES = 10_000


class PatternRefused(ValueError):
    """A pattern that is none, or that cannot be matched in bounded time."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that can be matched.

    Attributes:
        text: as it was written.
        is_tried: it looks around or refers back, and is matched by trying.
    """

    text: str
    is_tried: bool
    _engine: Draft202012Validator

    def cost(self, chars: int) -> int:
        """What one match in a text of so many characters takes, in steps."""
        return (
            100 + min(chars, MAX_TRIED_CHARS) ** 2 // 400
            if self.is_tried
            else 1 + chars // 500
        )

    def is_in(self, text: str) -> bool:
        """Whether the pattern matches anywhere in `text`.

        Raises:
            PatternRefused: to find out takes too long.
        """
        if self.is_tried and len(text) > MAX_TRIED_CHARS:
            raise PatternRefused(
                f"{self.text!r} looks around or refers back: it is matched in texts of "
                f"up to {MAX_TRIED_CHARS:,} characters, and this one has {len(text):,}"
            )
        text = printable(text)
        if self._engine.is_valid(text):
            return True
        if self.is_tried:
            for error in self._engine.iter_errors(text):
                if isinstance(error.kind, ValidationErrorKind.BacktrackLimitExceeded):
                    raise PatternRefused(
                        f"{self.text!r} needs more than {_MAX_TRIES:,} tries in this "
                        "text: write it without nested repetition"
                    )
        return False


@lru_cache(maxsize=256)
def pattern_of(text: str) -> Pattern:
    """The pattern that `text` is.

    Raises:
        PatternRefused: it is none, or longer than `MAX_PATTERN_CHARS`.
    """
    if len(text) > MAX_PATTERN_CHARS:
        raise PatternRefused(
            f"a pattern has at most {MAX_PATTERN_CHARS:,} characters, and this one has "
            f"{len(text):,}"
        )
    schema = {"pattern": printable(text)}
    try:
        plain = Draft202012Validator(schema, pattern_options=RegexOptions())
        return Pattern(text, is_tried=False, _engine=plain)
    except ValidationError:
        pass
    try:
        tried = FancyRegexOptions(backtrack_limit=_MAX_TRIES)
        engine = Draft202012Validator(schema, pattern_options=tried)
    except ValidationError:
        raise PatternRefused(f"{text!r} is not a 'regex'") from None
    return Pattern(text, is_tried=True, _engine=engine)
