"""JSON Schemas of all kinds that a small model would violate if it could."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def _object(**properties: Schema) -> Schema:
    """An object with all of these properties."""
    return {"type": "object", "properties": properties, "required": [*properties]}


def _text(most: int, **more: Any) -> Schema:
    return {"type": "string", "maxLength": most, **more}


SHAPES: dict[str, Schema] = {
    "const, enum": {
        **_object(tool={"const": "read_file"}, mode={"enum": ["r", "rb"]}),
        "additionalProperties": False,
    },
    "anyOf of tools": {
        "anyOf": [
            _object(tool={"const": name}, arguments=_object(**{of: _text(40)}))
            for name, of in (("read_file", "path"), ("run_command", "command"))
        ]
    },
    "numbers": _object(
        legs={"type": "integer", "minimum": 1, "maximum": 100},
        kilos={"type": "number", "minimum": 0, "exclusiveMaximum": 90},
        tens={"type": "integer", "multipleOf": 10, "minimum": 0, "maximum": 90},
    ),
    "lengths": _object(
        name=_text(12, minLength=2),
        tags={
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z]{2,8}$"},
            "minItems": 1,
            "maxItems": 3,
        },
    ),
    "nested, nullable": {
        **_object(owner=_object(name=_text(20), home={"$ref": "#/$defs/home"})),
        "$defs": {"home": {"anyOf": [{"type": "null"}, _object(town=_text(20))]}},
    },
}
