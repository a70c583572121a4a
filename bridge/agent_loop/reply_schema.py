"""The shape of a reply, and the call in a reply. Pure.

A reply is one tool call: `{"tool": NAME, "arguments": {…}}`, any of the tools offered.
The model is held to that while it decodes; what came is checked again all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.agent_loop.model_policy import LARGE
from bridge.policy.tool_names import SUBMIT
from bridge.protocol.agent_output import ANSWER_SCHEMA
from bridge.protocol.embedded_json import Oddity, find_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bridge.agent_loop.model_policy import ModelPolicy

_SUMMARY_CHARS = 500

# With these, one part of a schema decides about what another part names: to close one
# of them could leave nothing that satisfies both.
_ENTANGLED = frozenset(
    {"allOf", "not", "if", "dependentSchemas", "$dynamicRef"}
    | {"patternProperties", "propertyNames", "unevaluatedProperties"}
)
_OPEN = frozenset({"const", "enum", "anyOf", "oneOf", "$ref"})


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the model made it; nothing in it is checked yet.

    `arguments` is an object; of `submit_result` any value, since an answer may be one.
    """

    tool: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class NoCall:
    """A reply that is no call: the code it would fail with, and what to tell."""

    code: str
    complaint: str


def call_shape(
    schemas: Mapping[str, dict[str, Any]], policy: ModelPolicy = LARGE
) -> dict[str, Any]:
    """The JSON Schema of a call of any of the tools, by name with their schemas."""
    definitions: dict[str, Any] = {}
    options = []
    for name, schema in schemas.items():
        arguments = bounded(schema, policy)
        if _has_key(arguments, frozenset({"$ref"})):
            # A reference is told from the top, where the tool's own schema is not.
            definitions[name] = _moved(arguments, f"#/$defs/{_pointer(name)}")
            arguments = {"$ref": f"#/$defs/{_pointer(name)}"}
        options.append(
            {
                "type": "object",
                "properties": {"tool": {"const": name}, "arguments": arguments},
                "required": ["tool", "arguments"],
                "additionalProperties": False,
            }
        )
    shape = options[0] if len(options) == 1 else {"anyOf": options}
    return {**shape, "$defs": definitions} if definitions else shape


def submit_schema(schema: dict[str, Any] | None, policy: ModelPolicy) -> dict[str, Any]:
    """The schema of an answer as the model is to write it."""
    if schema is not None:
        return schema if policy.claims_evidence else _without_claims(schema)
    properties = ANSWER_SCHEMA["properties"]
    summary = {**properties["summary"], "maxLength": _SUMMARY_CHARS}
    if not policy.claims_evidence:
        return _closed({"status": properties["status"], "summary": summary})
    item = properties["evidence"]["items"]
    claims = {
        "type": "array",
        "maxItems": 8,
        "items": {
            "type": "object",
            "properties": {
                **item["properties"],
                "toolUseId": {"type": ["string", "null"], "maxLength": 12},
            },
            "required": item["required"],
            "additionalProperties": False,
        },
    }
    return {
        **_closed({"status": properties["status"], "summary": properties["summary"]}),
        "properties": {**properties, "evidence": claims},
    }


def _without_claims(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without an `evidence` that need not be there."""
    named = schema.get("properties")
    if not isinstance(named, dict) or "evidence" in schema.get("required", ()):
        return schema
    return {**schema, "properties": {k: v for k, v in named.items() if k != "evidence"}}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_call(text: str, tools: Iterable[str]) -> Call | NoCall:
    """The one call in a reply."""
    said = list(find_json(text))
    if not said:
        return NoCall("no_json", "the reply holds no JSON value")
    if isinstance(said[0], Oddity):
        return NoCall("no_json", said[0].problem)
    value = said[0]
    if len(said) > 1 or not isinstance(value, dict):
        return NoCall("schema_mismatch", "the reply is not one JSON object")
    tool, arguments = value.get("tool"), value.get("arguments")
    is_answer = tool == SUBMIT and "arguments" in value
    if not isinstance(tool, str) or not (isinstance(arguments, dict) or is_answer):
        return NoCall("schema_mismatch", 'expected {"tool": …, "arguments": {…}}')
    if tool not in tools:
        known = ", ".join(tools)
        return NoCall(
            "schema_mismatch", f"no tool is named {tool!r}; there are {known}"
        )
    return Call(tool, arguments)


def bounded(schema: dict[str, Any], policy: ModelPolicy = LARGE) -> dict[str, Any]:
    """The schema with an end to every text and list, and no keys that it does not name.

    Only narrower: what satisfies it satisfies `schema`. A model that is held to a
    schema without an end may go on until its tokens are spent; a small one fills any
    list to its end. A schema whose parts decide about one another stays as it is.
    """
    if _has_key(schema, _ENTANGLED):
        return {k: v for k, v in schema.items() if k not in ("$schema", "$id")}
    narrow: dict[str, Any] = _bounded(schema, policy)
    return narrow


def _bounded(schema: Any, policy: ModelPolicy) -> Any:
    if not isinstance(schema, dict):
        return schema
    part = {
        key: value for key, value in schema.items() if key not in ("$schema", "$id")
    }
    if part.keys() & {"anyOf", "oneOf", "$ref"} and "properties" in part:
        return part
    for key in ("properties", "$defs", "definitions"):
        if isinstance(part.get(key), dict):
            part[key] = {
                name: _bounded(value, policy) for name, value in part[key].items()
            }
    for key in ("items", "additionalProperties"):
        if key in part:
            part[key] = _bounded(part[key], policy)
    for key in ("anyOf", "oneOf"):
        if isinstance(part.get(key), list):
            part[key] = [_bounded(value, policy) for value in part[key]]
    if not part.keys() & _OPEN:
        _end(part, policy)
    return part


def _end(part: dict[str, Any], policy: ModelPolicy) -> None:
    kinds = part.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "string" in kinds and not part.keys() & {"pattern", "format"}:
        _limit(part, "Length", policy.max_text_chars, policy)
    if "array" in kinds:
        _limit(part, "Items", policy.max_items, policy)
    named, required = part.get("properties", {}), part.get("required", [])
    is_known = isinstance(required, list) and set(required) <= named.keys()
    if "object" in kinds and named and is_known:
        part.setdefault("additionalProperties", False)


def _limit(part: dict[str, Any], what: str, most: int, policy: ModelPolicy) -> None:
    """Set a maximum where there is none, or a higher one that the policy caps."""
    most = max(most, part.get(f"min{what}", 0))
    known = part.setdefault(f"max{what}", most)
    if policy.caps_limits:
        part[f"max{what}"] = min(known, most)


def _has_key(part: Any, keys: frozenset[str]) -> bool:
    if isinstance(part, dict):
        return bool(part.keys() & keys) or any(_has_key(p, keys) for p in part.values())
    return isinstance(part, list) and any(_has_key(p, keys) for p in part)


def _moved(part: Any, place: str) -> Any:
    """The schema with its references told from where it now stands."""
    if isinstance(part, list):
        return [_moved(p, place) for p in part]
    if not isinstance(part, dict):
        return part
    moved = {key: _moved(value, place) for key, value in part.items()}
    reference = part.get("$ref")
    if isinstance(reference, str) and reference.startswith("#"):
        moved["$ref"] = place + reference[1:]
    return moved


def _pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
