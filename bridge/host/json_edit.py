"""Edit JSON as text: everything else keeps its bytes, spaces and order.

Pure. A `JsonNode` is a value with its place in the text; `insert` and `remove` return
new text, which is parsed again for the next edit.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from json.decoder import JSONDecodeError
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class JsonPart:
    """One member of an object, or one item of a list: `key` is None."""

    key: str | None
    start: int
    node: JsonNode


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value and where it stands: `text[start:end]`."""

    value: Any
    start: int
    end: int
    parts: tuple[JsonPart, ...] = ()

    def find(self, key: str) -> JsonPart | None:
        """The member `key`; of several the last, which is the one that counts."""
        return next((p for p in reversed(self.parts) if p.key == key), None)


def parse(text: str) -> JsonNode:
    """Parse one JSON document.

    Raises:
        JSONDecodeError: it is not valid; the error has the place.
    """
    node = _value(text, _skip(text, 0), 0)
    end = _skip(text, node.end)
    if end != len(text):
        raise JSONDecodeError("something follows the end of the document", text, end)
    return node


def insert(text: str, node: JsonNode, value: Any, key: str | None = None) -> str:
    """Add `value` as the last part of the object or list `node`.

    It is laid out like its neighbours: on its own lines, or on theirs.
    """
    name = f"{json.dumps(key)}: " if key is not None else ""
    newline = "\r\n" if "\r\n" in text else "\n"
    if not node.parts:
        margin = _margin(text, node.start)
        inner = margin + _unit(text)
        new = f"{inner}{name}{_layout(value, inner, _unit(text))}"
        body = f"\n{new}\n{margin}".replace("\n", newline)
        return text[: node.start + 1] + body + text[node.end - 1 :]
    last = node.parts[-1]
    end = last.node.end
    if "\n" not in text[node.start : node.parts[0].start]:
        flat = json.dumps(value, ensure_ascii=False)
        return f"{text[:end]}, {name}{flat}{text[end:]}"
    margin = _margin(text, last.start)
    new = f",\n{margin}{name}{_layout(value, margin, _unit(text))}"
    return text[:end] + new.replace("\n", newline) + text[end:]


def remove(text: str, node: JsonNode, part: JsonPart) -> str:
    """Remove one part of `node`, with its comma."""
    at = node.parts.index(part)
    if len(node.parts) == 1:
        return text[: node.start + 1] + text[node.end - 1 :]
    if at == 0:
        return text[: part.start] + text[node.parts[1].start :]
    return text[: node.parts[at - 1].node.end] + text[part.node.end :]


def _layout(value: Any, margin: str, unit: str) -> str:
    laid = json.dumps(value, indent=unit, ensure_ascii=False)
    return laid.replace("\n", f"\n{margin}")


def _margin(text: str, position: int) -> str:
    """The white space that begins the line of `position`."""
    start = text.rfind("\n", 0, position) + 1
    found = re.compile(r"[ \t]*").match(text, start)
    return found[0] if found else ""


def _unit(text: str) -> str:
    """One step of indentation, as the first indented line has it."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> JsonNode:
    if depth > MAX_DEPTH:
        raise JSONDecodeError(f"nested more than {MAX_DEPTH} levels deep", text, at)
    close = {"{": "}", "[": "]"}.get(text[at : at + 1])
    if close is not None:
        return _container(text, at, depth, close)
    try:
        value, end = _DECODER.raw_decode(text, at)
    except JSONDecodeError:
        raise
    except ValueError as exc:  # a number of thousands of digits
        raise JSONDecodeError(str(exc), text, at) from None
    return JsonNode(value, at, end)


def _container(text: str, start: int, depth: int, close: str) -> JsonNode:
    """Grammar: "{" [ member { "," member } ] "}"; a list is the same without keys."""
    parts: list[JsonPart] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != close or parts:
        first = at
        key = None
        if close == "}":
            key, at = _key(text, at)
        node = _value(text, at, depth + 1)
        parts.append(JsonPart(key, first, node))
        at = _skip(text, node.end)
        if text[at : at + 1] == close:
            break
        if text[at : at + 1] != ",":
            raise JSONDecodeError(f"expected ',' or '{close}'", text, at)
        at = _skip(text, at + 1)
    value: Any = [part.node.value for part in parts]
    if close == "}":
        value = {part.key: part.node.value for part in parts}
    return JsonNode(value, start, at + 1, tuple(parts))


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise JSONDecodeError("expected a key in double quotes", text, at)
    key, end = _DECODER.raw_decode(text, at)
    colon = _skip(text, end)
    if text[colon : colon + 1] != ":":
        raise JSONDecodeError("expected ':'", text, colon)
    return key, _skip(text, colon + 1)
