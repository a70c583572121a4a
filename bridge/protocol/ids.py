"""Request ids: what may be one, and how ours are made.

An id is 1 to 128 characters of `A-Z a-z 0-9 _ -`, so it is a safe file name as it is.
Ours are lower case, sort by creation, and carry the priority, so that a queue of ten
thousand can be ordered from its file names alone:

    01k3q9zv4w2-n-7f3kqd
    |           | ` random, six characters
    |           ` h, n or l: high, normal, low
    ` microseconds since 1970, eleven characters of base 32
"""

import re
from os import urandom
from typing import Literal, NewType

from bridge.errors import InvalidRequest
from bridge.protocol.wording import quoted

RequestId = NewType("RequestId", str)
Priority = Literal["high", "normal", "low"]

PRIORITIES: tuple[Priority, ...] = ("high", "normal", "low")

# Crockford's base 32: in ASCII order, without i, l, o, u.
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_ANY = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")
OURS = re.compile(rf"([{_DIGITS}]{{11}})-([hnl])-[{_DIGITS}]{{6}}\Z")
_LETTERS: dict[str, Priority] = {p[0]: p for p in PRIORITIES}


def check_id(text: str) -> RequestId:
    """Return `text` as an id.

    Raises:
        InvalidRequest: it is no text, empty, too long, or holds another character.
    """
    if not is_id(text):
        raise InvalidRequest(
            f"request id {quoted(text)}: expected 1 to 128 of A-Z a-z 0-9 _ -"
        )
    return RequestId(text)


def is_id(text: object) -> bool:
    """Whether `text` may be a request id."""
    return isinstance(text, str) and bool(_ANY.match(text))


def new_request_id(now_us: int, priority: Priority = "normal") -> RequestId:
    """Make an id that sorts by `now_us`, microseconds since 1970."""
    moment = "".join(_DIGITS[now_us >> shift & 31] for shift in range(50, -1, -5))
    chance = int.from_bytes(urandom(4))  # six digits of five bits: 30 of the 32
    tail = "".join(_DIGITS[chance >> shift & 31] for shift in range(0, 30, 5))
    return RequestId(f"{moment}-{priority[0]}-{tail}")


def find_rank(request_id: str) -> tuple[Priority, int] | None:
    """Priority and creation time (microseconds) of one of our own ids.

    None for an id that somebody else chose: for those, the file says it.
    """
    match = OURS.match(request_id)
    if match is None:
        return None
    moment = 0
    for digit in match[1]:
        moment = moment << 5 | _DIGITS.index(digit)
    return _LETTERS[match[2]], moment
