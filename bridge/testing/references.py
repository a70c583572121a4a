"""What the `$ref`s of a JSON Schema name within it, and whether one leads back. Pure.

Source: JSON Schema, draft 2020-12, "References"; RFC 6901.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator

_ANCHORS = ("$anchor", "$dynamicAnchor")


def find_part(root: Any, ref: str) -> Any:
    """The part of a schema that a reference names, by its path or by its anchor.

    Raises:
        LookupError: there is none; what is outside of the schema is not looked for.
    """
    if not ref.startswith("#"):
        raise KeyError(ref)
    pointer = unquote(ref[1:])
    if pointer and pointer[0] != "/":
        for part in _objects(root):
            if pointer in (part.get(name) for name in _ANCHORS):
                return part
        raise KeyError(ref)
    found = root
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(key) if isinstance(found, list) else key]
        except (ValueError, TypeError) as exc:
            raise KeyError(ref) from exc
    return found


def is_recursive(root: Any) -> bool:
    """Whether something in the schema refers to what it is a part of."""
    leads_to: dict[str, set[str]] = {}
    new = _refs(root)
    while new:
        ref = new.pop()
        try:
            leads_to[ref] = _refs(find_part(root, ref))
        except LookupError:
            leads_to[ref] = set()
        new |= leads_to[ref] - leads_to.keys()
    # What leads to no other part is no circle; without it, neither are others.
    while ends := [ref for ref, more in leads_to.items() if not more]:
        for ref in ends:
            del leads_to[ref]
        for more in leads_to.values():
            more.difference_update(ends)
    return bool(leads_to)


def _refs(part: Any) -> set[str]:
    found = (each.get("$ref") for each in _objects(part))
    return {ref for ref in found if isinstance(ref, str)}


def _objects(part: Any) -> Iterator[dict[str, Any]]:
    """Each object in a JSON value."""
    left = [part]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            yield each
            left += each.values()
        elif isinstance(each, list):
            left += each
