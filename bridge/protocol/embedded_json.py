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

# How many places a scan through prose may try, and how many characters it may read.
_MAX_STARTS = 200
_MAX_READ = 20_000_000
_SHOWN = 60
# A record nests an answer this much deeper than it came.
_ROOM = 16
# No integer of 64 bits is longer.
_MAX_DIGITS = 20

_OPENING = re.compile(r"[ \t]*(`{3,}|~{3,})([^\n]*)\Z")
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Oddity:
    """Text that looks like JSON but may not be kept."""

    problem: str


class _Odd(ValueError):
    pass


def find_json(words: str) -> Iterator[Any]:
    """Yield the JSON values in `words`, decoded; an `Oddity` where one is not sound.

    The whole text if it is one value; otherwise those in code fences, and then every
    object or array in the prose. NaN, infinities, repeated keys, lone surrogates and
    numbers beyond 64 bits are not sound: two readers could see two things.
    """
    whole = _decode(words.strip())
    if whole is not _NOTHING:
        yield whole
        return
    prose: list[str] = []
    fenced = [_decode(block.strip()) for block in _fenced(words, prose)]
    found = [value for value in fenced if value is not _NOTHING]
    yield from found
    # What is said beside a fence is said as well: it may be another answer.
    yield from _scan("\n".join(prose) if found else words)


def _decode(text: str) -> Any:
    """One value or an `Oddity`; `_NOTHING` for text that is not JSON at all."""
    try:
        return _sound(_DECODER.decode(text))
    except _Odd as exc:
        return Oddity(str(exc))
    except RecursionError:
        return Oddity("the JSON is nested too deeply")
    except ValueError:
        return _NOTHING


def _fenced(words: str, prose: list[str]) -> Iterator[str]:
    """The text in each code fence; one that is never closed goes to the end.

    Every other line is added to `prose`.

    Line by line, so that the time grows with the text and not with its square.
    Source: CommonMark 0.31, "Fenced code blocks".
    """
    fence = ""
    block: list[str] = []
    # Not `splitlines`: a JSON string may hold what Unicode calls a line separator.
    for line in words.split("\n"):
        bare = line.strip(" \t\r")
        if not fence:
            opening = _OPENING.match(line)
            # Backticks may not stand in what follows backticks: that is inline code.
            if opening and not (opening[1][0] == "`" and "`" in opening[2]):
                fence, block = opening[1], []
            else:
                prose.append(line)
        elif len(bare) >= len(fence) and not bare.strip(fence[0]):
            yield "\n".join(block)
            fence = ""
        else:
            block.append(line)
    if fence:
        yield "\n".join(block)


def _scan(words: str) -> Iterator[Any]:
    position = 0
    budget = _MAX_READ
    for _ in range(_MAX_STARTS):
        starts = [i for c in "{[" if (i := words.find(c, position)) >= 0]
        if not starts or budget < 0:
            return
        start = min(starts)
        try:
            value, position = _DECODER.raw_decode(words, start)
            yield _sound(value)
            continue
        except _Odd as exc:
            yield Oddity(str(exc))
            read = len(words) - start
        except RecursionError:
            yield Oddity("the JSON is nested too deeply")
            return
        except json.JSONDecodeError as exc:
            # Of a string without end, the position is its beginning.
            is_cut = exc.msg.startswith("Unterminated")
            read = len(words) - start if is_cut else exc.pos - start
        budget -= read
        position = start + 1


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Odd(f"the key {_short(key)!r} stands twice in one JSON object")
            seen.add(key)
    return value


def _constant(name: str) -> Any:
    raise _Odd(f"{name} is not JSON")


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise _Odd(f"the number {_short(text)} is too large")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _Odd(f"the number {_short(text)} is too large")
    return value


def _sound(value: Any) -> Any:
    """Return `value` if it can be written into a record and read back the same."""
    wrapped = value
    for _ in range(_ROOM):
        wrapped = [wrapped]
    try:
        orjson.dumps(wrapped)
    except orjson.JSONEncodeError as exc:
        raise _Odd(f"the JSON cannot be kept: {exc}") from None
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs,
    parse_constant=_constant,
    parse_float=_number,
    parse_int=_integer,
)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
