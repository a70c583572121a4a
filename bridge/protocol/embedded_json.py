"""Find the JSON in any message of an agent, in bounded time and depth."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from bridge.protocol import plain_json
from bridge.protocol.wording import shortened

# For a scan through prose: how many places it tries, how many characters it reads.
_MAX_STARTS = 200
_MAX_READ = 20_000_000
_MAX_QUOTED = 60
# An answer in a record is nested this much deeper than in the message.
_EXTRA_DEPTH = 16
# No 64-bit integer is longer.
_MAX_DIGITS = 20

_OPENING = re.compile(r"[ \t]*(`{3,}|~{3,})([^\n]*)\Z")
_NOTHING = object()


class Invalid(NamedTuple):
    """Text that looks like JSON, and why it is rejected."""

    problem: str


class _Rejected(ValueError):
    pass


def find_json(words: str) -> Iterator[Any]:
    """Yield the JSON values in `words`, decoded; `Invalid` for one that is rejected.

    If the whole text is one value, that is the only one. Otherwise they are the values
    in code fences, then every object or array in the prose. NaN, infinities, duplicate
    keys, lone surrogates and numbers beyond 64 bits are rejected: readers disagree
    about them.
    """
    whole = _decode(words.strip())
    if whole is not _NOTHING:
        yield whole
        return
    prose: list[str] = []
    fenced = [_decode(block.strip()) for block in _fenced(words, prose)]
    found = [value for value in fenced if value is not _NOTHING]
    yield from found
    # The prose around a fence counts, too: it may hold another answer.
    yield from _scan("\n".join(prose) if found else words)


def _decode(text: str) -> Any:
    """One value or `Invalid`; `_NOTHING` for text that is not JSON at all."""
    try:
        return _storable(_DECODER.decode(text))
    except _Rejected as exc:
        return Invalid(str(exc))
    except RecursionError:
        return Invalid("the JSON is nested too deeply")
    except ValueError:
        return _NOTHING


def _fenced(words: str, prose: list[str]) -> Iterator[str]:
    """The text in each code fence; an unclosed one extends to the end.

    All other lines are added to `prose`. It works line by line, so that its time grows
    with the text and not with its square.

    Source: CommonMark 0.31, "Fenced code blocks".
    """
    fence = ""
    block: list[str] = []
    # Not `splitlines`: a JSON string may contain Unicode line separators.
    for line in words.split("\n"):
        bare = line.strip(" \t\r")
        if not fence:
            opening = _OPENING.match(line)
            # After a fence of backticks, another backtick makes it inline code.
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
    """The objects and arrays in prose, within the limits."""
    position = 0
    budget = _MAX_READ
    for _ in range(_MAX_STARTS):
        starts = [i for c in "{[" if (i := words.find(c, position)) >= 0]
        if not starts or budget < 0:
            return
        start = min(starts)
        try:
            value, position = _DECODER.raw_decode(words, start)
            yield _storable(value)
            continue
        except _Rejected as exc:
            yield Invalid(str(exc))
            read = len(words) - start
        except RecursionError:
            yield Invalid("the JSON is nested too deeply")
            return
        except json.JSONDecodeError as exc:
            # For an unterminated string, the position is that of its beginning.
            is_cut = exc.msg.startswith("Unterminated")
            read = len(words) - start if is_cut else exc.pos - start
        budget -= read
        position = start + 1


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = Counter(key for key, _ in pairs)
        key = shortened(keys.most_common(1)[0][0], _MAX_QUOTED)
        raise _Rejected(f"the key {key!r} stands twice in one JSON object")
    return value


def _constant(name: str) -> Any:
    raise _Rejected(f"{name} is not JSON")


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise _Rejected(f"the number {shortened(text, _MAX_QUOTED)} is too large")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _Rejected(f"the number {shortened(text, _MAX_QUOTED)} is too large")
    return value


def _storable(value: Any) -> Any:
    """Return `value` if a record can hold it and be read back."""
    wrapped = value
    for _ in range(_EXTRA_DEPTH):
        wrapped = [wrapped]
    try:
        plain_json.dumps(wrapped)
    except plain_json.JSONEncodeError as exc:
        raise _Rejected(f"the JSON cannot be stored: {exc}") from None
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys,
    parse_constant=_constant,
    parse_float=_number,
    parse_int=_integer,
)
