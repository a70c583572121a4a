"""The JSON Schema of a record that is a plain mapping, made from its `TypedDict`."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)  # fmt: skip

_NAMES = {
    str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null",
}  # fmt: skip


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a `TypedDict`, with those that it names below `$defs`."""
    below: dict[str, Any] = {}
    schema = _object(kind, below)
    return schema | ({"$defs": dict(sorted(below.items()))} if below else {})


def _object(kind: Any, below: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    optional = {name for name, hint in hints.items() if get_origin(hint) is NotRequired}
    schema: dict[str, Any] = {
        "type": "object",
        "title": kind.__name__,
        "description": " ".join((kind.__doc__ or "").split()).replace("`", ""),
        "properties": {name: _part(hint, below) for name, hint in hints.items()},
    }
    if kind.__total__:
        schema["required"] = [name for name in hints if name not in optional]
    return schema


def _part(hint: Any, below: dict[str, Any]) -> dict[str, Any]:
    """The schema of one type, as records have them."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (NotRequired, Annotated):
        return _part(parts[0], below)
    if origin in (Union, UnionType):
        return {"anyOf": [_part(part, below) for part in parts]}
    if origin is Literal:
        return {"enum": list(parts)}
    if origin is list:
        return {"type": "array", "items": _part(parts[0], below)}
    if origin is tuple:
        items = [_part(part, below) for part in parts]
        return {"type": "array", "prefixItems": items, "minItems": len(items)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _part(parts[1], below)}
    if is_typeddict(hint):
        if hint.__name__ not in below:
            # Its place first: it may name itself.
            below[hint.__name__] = {}
            below[hint.__name__] = _object(hint, below)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    return {"type": _NAMES[hint]} if hint in _NAMES else {}
