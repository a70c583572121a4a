"""JSON as orjson reads and writes it, without orjson where the value is plain.

Importing orjson takes a fifth of a short command: it loads dataclasses, datetime and
uuid. The standard library does the same for a short text of strings, small integers,
lists and objects; everything else goes to orjson, which converts it or says what is
wrong.
"""

import json
import sys
from contextlib import suppress
from typing import Any

# The base classes of orjson's errors.
JSONDecodeError = json.JSONDecodeError
JSONEncodeError = TypeError

# From here on orjson is so much faster that its import pays.
_LONG = 1 << 16
# orjson writes no deeper than 254 levels, and no integer of more than 64 bits.
_DEEPEST = 250
_LARGE = 1 << 53


def loads(data: bytes | str) -> Any:
    """Decode a JSON text.

    Raises:
        JSONDecodeError: it is not JSON, or not UTF-8.
    """
    if "orjson" not in sys.modules and len(data) < _LONG:
        # orjson says what is wrong.
        with suppress(ValueError, RecursionError):
            utf8 = data.encode() if isinstance(data, str) else data
            # An escape may be half a character, which orjson refuses.
            if b"\\u" not in utf8 and _is_plain(value := json.loads(utf8.decode())):
                return value
    import orjson

    return orjson.loads(data)


def dumps(
    value: Any, *, indented: bool = False, sort_keys: bool = False, line: bool = False
) -> bytes:
    """The JSON of a value, in UTF-8 and on one line, unless it is indented.

    As a `line` it has a line break at its end.

    Raises:
        JSONEncodeError: a part of it has no JSON form.
    """
    if "orjson" not in sys.modules and _is_plain(value):
        with suppress(UnicodeEncodeError):
            text = json.dumps(
                value,
                ensure_ascii=False,
                indent=2 if indented else None,
                separators=None if indented else (",", ":"),
                sort_keys=sort_keys,
            )
            return (text + "\n" * line).encode()
    import orjson

    option = orjson.OPT_INDENT_2 * indented | orjson.OPT_SORT_KEYS * sort_keys
    return orjson.dumps(value, option=option | orjson.OPT_APPEND_NEWLINE * line)


def check(value: Any) -> None:
    """Return if a value can be written; raises as `dumps` does."""
    if not _is_plain(value):
        dumps(value)


def _is_plain(value: Any, levels: int = _DEEPEST) -> bool:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-_LARGE < value < _LARGE)
    if not levels or kind not in (dict, list, tuple):
        return False
    if kind is dict:
        for key in value:
            if type(key) is not str:
                return False
        value = value.values()
    for part in value:
        # Most parts are texts.
        if type(part) is not str and not _is_plain(part, levels - 1):
            return False
    return True
