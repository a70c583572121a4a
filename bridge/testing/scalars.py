"""Texts and numbers of a JSON Schema, as Hypothesis strategies.

What a keyword forbids besides is left to the check of the whole.

Source: JSON Schema Validation, draft 2020-12.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from bridge.errors import InvalidRequest
from bridge.protocol.wording import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import DrawFn, SearchStrategy


_WORDS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8)
_URIS = st.builds("https://{}.example/{}".format, _WORDS, _WORDS)

# Texts of the formats that JSON Schema knows. The standard lets any text pass; who asks
# with a type of pydantic's means these.
# Source: JSON Schema Validation, draft 2020-12, "Defined Formats".
FORMATS: dict[str, SearchStrategy[str]] = {
    "date-time": st.datetimes(timezones=st.just(None)).map(
        lambda moment: f"{moment.isoformat()}Z"
    ),
    "date": st.dates().map(lambda day: day.isoformat()),
    "time": st.times().map(lambda moment: f"{moment.isoformat()}Z"),
    "duration": st.integers(0, 10_000).map("PT{}S".format),
    "email": st.builds("{}@{}.example".format, _WORDS, _WORDS),
    "hostname": st.builds("{}.example".format, _WORDS),
    "ipv4": st.ip_addresses(v=4).map(str),
    "ipv6": st.ip_addresses(v=6).map(str),
    "uri": _URIS,
    "iri": _URIS,
    "uri-reference": _URIS,
    "uuid": st.uuids().map(str),
}


OWN_STRATEGY = "draw the answers from a strategy of your own: `strategy.map(answer)`"
# What the encoder of records can write.
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
# Up to here a float tells whole numbers apart.
_EXACT = 2**53
_SELDOM = st.sampled_from((False, False, False, True))
_SHOWN = 200


def scalars(kind: str, schema: Mapping[str, Any]) -> SearchStrategy[Any]:
    """The values of one simple type that a schema without choices allows."""
    if kind == "string":
        return _strings(schema)
    if kind == "integer":
        return _integers(schema)
    if kind == "number":
        return _numbers(schema)
    return st.booleans() if kind == "boolean" else st.none()


def _strings(schema: Mapping[str, Any]) -> SearchStrategy[str]:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if most is not None and most < least:
        return st.nothing()
    if "pattern" in schema:
        return matching(schema["pattern"]).filter(
            lambda text: least <= len(text) and (most is None or len(text) <= most)
        )
    if schema.get("format") in FORMATS:
        return FORMATS[schema["format"]]
    return st.text(min_size=least, max_size=most)


def matching(pattern: str) -> SearchStrategy[str]:
    """Texts in which a pattern is found; raises as `compiled`."""
    return st.from_regex(compiled(pattern))


def compiled(pattern: str) -> re.Pattern[str]:
    r"""A pattern as ECMA 262 reads it.

    There `\d` and `\w` are ASCII, `$` is not before a last line feed, and the name of a
    group comes right after `?<`.

    Raises:
        InvalidRequest: it has what Python's patterns do not know.
    """
    here = re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", pattern)
    if re.search(r"(?<!\\)(?:\\\\)*\$$", here):
        here = here[:-1] + r"\Z"
    try:
        return re.compile(here, re.ASCII)
    except (re.error, OverflowError, RecursionError) as exc:
        raise InvalidRequest(
            f"pattern {shortened(pattern, _SHOWN)!r}: no text can be drawn from what "
            f"Python cannot read ({exc}); {OWN_STRATEGY}"
        ) from None


@st.composite
def _integers(draw: DrawFn, schema: Mapping[str, Any]) -> float:
    step = schema.get("multipleOf", 1)
    number: int = draw(_steps(schema, int(step) if step == int(step) else 1))
    # JSON Schema counts 1.0 as an integer, and some agent will write it so.
    is_float = abs(number) <= _EXACT and draw(_SELDOM)
    return float(number) if is_float else number


def _steps(schema: Mapping[str, Any], step: float) -> SearchStrategy[Any]:
    """Multiples of a number, within the bounds."""
    least, most = _SMALLEST, _LARGEST
    if "minimum" in schema:
        least = max(least, -_floor(-schema["minimum"], step))
    if "exclusiveMinimum" in schema:
        least = max(least, _floor(schema["exclusiveMinimum"], step) + 1)
    if "maximum" in schema:
        most = min(most, _floor(schema["maximum"], step))
    if "exclusiveMaximum" in schema:
        most = min(most, -_floor(-schema["exclusiveMaximum"], step) - 1)
    if step > 1:
        least, most = max(least, int(_SMALLEST / step)), min(most, int(_LARGEST / step))
    if least > most:
        return st.nothing()
    numbers = st.integers(least, most)
    # Of each mapped value Hypothesis remembers how it came about: that takes time.
    return numbers if step == 1 else numbers.map(lambda number: number * step)


def _floor(bound: float, step: float) -> int:
    try:
        return math.floor(bound / step)
    except OverflowError:
        return _LARGEST if bound > 0 else _SMALLEST


def _numbers(schema: Mapping[str, Any]) -> SearchStrategy[float]:
    if "multipleOf" in schema:
        return _steps(schema, schema["multipleOf"])
    # Without a point JSON's numbers are read as `int`.
    return _steps(schema, 1) | _floats(schema)


def _floats(schema: Mapping[str, Any]) -> SearchStrategy[float]:
    least, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    most, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    is_above = above is not None and (least is None or above >= least)
    is_below = below is not None and (most is None or below <= most)
    try:
        low = _float(above if is_above else least)
        high = _float(below if is_below else most)
    except OverflowError:
        return st.nothing()
    if low is not None and high is not None:
        is_none = low >= high if is_above or is_below else low > high
        if is_none:
            return st.nothing()
    return st.floats(
        low,
        high,
        exclude_min=is_above,
        exclude_max=is_below,
        allow_nan=False,
        allow_infinity=False,
    )


def _float(bound: float | None) -> float | None:
    return None if bound is None else float(bound)
