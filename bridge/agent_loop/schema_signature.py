"""A JSON Schema in a line that a model reads at once: `{path: string, line?: integer}`.

Pure. Shorter than the schema by far, which is what a small model needs; what it cannot
say in this way it says as JSON.
"""

from __future__ import annotations

import json
from typing import Any

_PLAIN = frozenset({"string", "integer", "number", "boolean", "null"})


def signature(schema: Any) -> str:
    """The line for one schema; descriptions stand as comments."""
    if not isinstance(schema, dict) or not schema:
        return "any"
    if "const" in schema:
        return _json(schema["const"])
    if "enum" in schema:
        return " | ".join(_json(value) for value in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(signature(part) for part in schema[key])
    kind = schema.get("type")
    if isinstance(kind, list) and all(isinstance(one, str) for one in kind):
        return " | ".join(signature({**schema, "type": one}) for one in kind)
    if kind == "array":
        return f"[{signature(schema.get('items'))}, …]"
    if kind == "object" and schema.get("properties"):
        return _object(schema)
    if isinstance(kind, str) and kind in _PLAIN:
        return kind
    return _json(schema)


def _object(schema: dict[str, Any]) -> str:
    required = schema.get("required")
    # In the third draft it is a word about the object itself.
    required = required if isinstance(required, list) else ()
    fields = []
    for name, part in schema["properties"].items():
        mark = "" if name in required else "?"
        told = part.get("description") if isinstance(part, dict) else None
        comment = f" /* {' '.join(str(told).split())} */" if told else ""
        fields.append(f"{name}{mark}: {signature(part)}{comment}")
    return "{" + ", ".join(fields) + "}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
