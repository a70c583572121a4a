"""JSON Schemas of every kind that a small model would break, if it could."""

from __future__ import annotations

from typing import Any

SHAPES: dict[str, dict[str, Any]] = {
    "const, enum": {
        "type": "object",
        "properties": {"tool": {"const": "read_file"}, "mode": {"enum": ["r", "rb"]}},
        "required": ["tool", "mode"],
        "additionalProperties": False,
    },
    "anyOf of tools": {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "tool": {"const": name},
                    "arguments": {
                        "type": "object",
                        "properties": {of: {"type": "string", "maxLength": 40}},
                        "required": [of],
                    },
                },
                "required": ["tool", "arguments"],
            }
            for name, of in (("read_file", "path"), ("run_command", "command"))
        ]
    },
    "numbers": {
        "type": "object",
        "properties": {
            "legs": {"type": "integer", "minimum": 1, "maximum": 100},
            "kilos": {"type": "number", "minimum": 0, "exclusiveMaximum": 90},
            "tens": {"type": "integer", "multipleOf": 10, "minimum": 0, "maximum": 90},
        },
        "required": ["legs", "kilos", "tens"],
    },
    "lengths": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 12},
            "tags": {
                "type": "array",
                "items": {"type": "string", "pattern": "^[a-z]{2,8}$"},
                "minItems": 1,
                "maxItems": 3,
            },
        },
        "required": ["name", "tags"],
    },
    "nested, nullable": {
        "type": "object",
        "properties": {
            "owner": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "maxLength": 20},
                    "home": {"$ref": "#/$defs/home"},
                },
                "required": ["name", "home"],
            }
        },
        "required": ["owner"],
        "$defs": {
            "home": {
                "anyOf": [
                    {"type": "null"},
                    {
                        "type": "object",
                        "properties": {"town": {"type": "string", "maxLength": 20}},
                        "required": ["town"],
                    },
                ]
            }
        },
    },
}
