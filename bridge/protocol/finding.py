"""Find the JSON in what an agent said. Bounded in time and depth, whatever the text."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_STARTS = 200
_SHOWN = 60

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)^[ \t]*\1[ \t]*$", re.M | re.S)


@dataclass(frozen=True, slots=True)
class Oddity:
    """Text that looks like JSON but may not be kept."""

    problem: str


class _Odd(ValueError):
    pass


def find_json(words: str) -> Iterator[Any]:
    """Yield the JSON values in `words`, decoded; an `Oddity` where one is not sound.

    The whole text if it is one value; otherwise those in code fences; otherwise every
    object or array in the prose. NaN, infinities, repeated keys, lone surrogates and
    numbers beyond 64 bits are not sound: two readers could see two things.
    """
    whole = _decode(words.strip())
    if whole is not None:
        yield whole
        return
    fenced = [value for m in _FENCE.finditer(words) if (value := _decode(m[2].strip()))]
    if fenced:
        yield from fenced
        return
    yield from _scan(words)


def _decode(text: str) -> Any:
    """One value or an `Oddity`; None for text that is not JSON at all (or `null`)."""
    try:
        return _sound(_DECODER.decode(text))
    except _Odd as exc:
        return Oddity(str(exc))
    except RecursionError:
        return Oddity("the JSON is nested too deeply")
    except ValueError:
        return None


def _scan(words: str) -> Iterator[Any]:
    position = 0
    for _ in range(_MAX_STARTS):
        starts = [i for c in "{[" if (i := words.find(c, position)) >= 0]
        if not starts:
            return
        start = min(starts)
        try:
            value, position = _DECODER.raw_decode(words, start)
            yield _sound(value)
        except _Odd as exc:
            yield Oddity(str(exc))
            position = start + 1
        except RecursionError:
            yield Oddity("the JSON is nested too deeply")
            return
        except ValueError:
            position = start + 1


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _Odd(f"the key {_short(twice)!r} stands twice in one JSON object")
    return value


def _constant(name: str) -> Any:
    raise _Odd(f"{name} is not JSON")


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _Odd(f"the number {_short(text)} is too large")
    return value


def _sound(value: Any) -> Any:
    """Return `value` if it can be written as JSON and read back the same."""
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError as exc:
        raise _Odd(f"the JSON cannot be kept: {exc}") from None
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_number
)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
