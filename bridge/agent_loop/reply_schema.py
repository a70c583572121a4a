"""The schema of a reply, and the tool call in a reply. Pure.

A reply is one call of an offered tool, `{"tool": NAME, "arguments": {…}}`. Decoding
enforces that, and the reply is checked again all the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bridge.agent_loop.model_policy import LARGE, ModelPolicy
from bridge.agent_loop.tool import object_schema
from bridge.policy.tool_names import SUBMIT
from bridge.protocol.agent_output import ANSWER_SCHEMA
from bridge.protocol.embedded_json import Invalid, find_json
from bridge.protocol.keywords import as_uri, subschemas, with_numeric_bounds

_SUMMARY_CHARS = 500

# Left to the check of the answer: decoding enforces none of them, and without them it
# allows more.
_CHECKED = frozenset(
    {"uniqueItems", "contains", "minContains", "maxContains"}
    | {"propertyNames", "dependentRequired", "dependentSchemas", "dependencies"}
    | {"not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems"}
    | {"$schema", "$id"}
)
# The formats that decoding can enforce.
# Source: llguidance, docs/json_schema.md, "Supported keys".
FORMATS = frozenset(
    {"date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6"}
    | {"uri", "uuid"}
)

# Keywords with schemas that decoding can enforce: several by name, or one or a list.
NAMED = ("properties", "patternProperties", "$defs", "definitions")
HOLDING = ("items", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems")
# With these, one part of a schema decides about properties that another part names.
_ENTANGLED = frozenset(
    {"allOf", "not", "if", "dependentSchemas", "dependencies", "$dynamicRef"}
    | {"patternProperties", "propertyNames", "unevaluatedProperties"}
)
_ELSEWHERE = frozenset({"anyOf", "oneOf", "$ref"})
# These, beside one of those, say nothing more about the value.
_HARMLESS = frozenset(
    {"type", "title", "description", "default", "examples", "deprecated", "$comment"}
    | {"discriminator", "$defs", "definitions", "$schema", "$id"}
)
# Limits for a schema whose parts decide about one another.
_LOOSE = ModelPolicy(max_text_chars=4_000, max_items=64)


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A call as the model made it, not checked yet.

    `arguments` is an object; for `submit_result` any value, since an answer may be one.
    """

    tool: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class NoCall:
    """A reply that is not a call: the failure's code, and the error for the model."""

    code: str
    complaint: str


def call_shape(
    schemas: Mapping[str, dict[str, Any]], policy: ModelPolicy = LARGE
) -> dict[str, Any]:
    """The JSON Schema of a call to any of the tools: their schemas by name."""
    definitions: dict[str, Any] = {}
    options = []
    for name, schema in schemas.items():
        arguments = narrowed(schema, policy)
        if any("$ref" in part for _, part in subschemas(arguments)):
            # References start at the top, where the tool's schema no longer is.
            place = f"#/$defs/{name.replace('~', '~0').replace('/', '~1')}"
            definitions[name] = _moved(arguments, place)
            arguments = {"$ref": place}
        call = {"tool": {"const": name}, "arguments": arguments}
        options.append(object_schema(call, *call))
    shape = options[0] if len(options) == 1 else {"anyOf": options}
    return {**shape, "$defs": definitions} if definitions else shape


def submit_schema(schema: dict[str, Any] | None, policy: ModelPolicy) -> dict[str, Any]:
    """The schema of an answer as the model should write it."""
    if schema is not None:
        return schema if policy.claims_evidence else _without_claims(schema)
    properties = dict(ANSWER_SCHEMA["properties"])
    required = ("status", "summary")
    if not policy.claims_evidence:
        summary = {**properties["summary"], "maxLength": _SUMMARY_CHARS}
        return object_schema(
            {"status": properties["status"], "summary": summary}, *required
        )
    item = properties["evidence"]["items"]
    call_id = {"type": ["string", "null"], "maxLength": 12}
    claim = object_schema(
        {**item["properties"], "toolUseId": call_id}, *item["required"]
    )
    properties["evidence"] = {"type": "array", "maxItems": 8, "items": claim}
    return object_schema(properties, *required)


def _without_claims(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without an `evidence` that is not required."""
    named = dict(schema.get("properties", {}))
    if "evidence" in schema.get("required", ()) or not named.pop("evidence", None):
        return schema
    return {**schema, "properties": named}


def read_call(text: str, tools: Iterable[str]) -> RequestedCall | NoCall:
    """The one call in a reply."""
    values = list(find_json(text))
    if not values:
        return NoCall("no_json", "the reply holds no JSON value")
    if isinstance(values[0], Invalid):
        return NoCall("no_json", values[0].problem)
    value = values[0]
    if len(values) > 1 or not isinstance(value, dict):
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
    return RequestedCall(tool, arguments)


def narrowed(schema: dict[str, Any], policy: ModelPolicy = LARGE) -> dict[str, Any]:
    """The schema with a limit for every text and list, and only the keys it names.

    What satisfies the result satisfies `schema`, but for what only a check decides:
    `uniqueItems`, say, or an unknown `format`. Without limits a model may write until
    its tokens are used up, and a small one fills any list. If several parts of a schema
    describe one value, objects stay open and limits are loose: an object closed to the
    keys of one part could not satisfy the others.
    """
    schema = with_numeric_bounds(schema)
    is_joined = any(_joins(part) for _, part in subschemas(schema))
    narrow: dict[str, Any] = _narrowed(
        schema, _LOOSE if is_joined else policy, closes=not is_joined
    )
    return narrow


def _joins(part: dict[str, Any]) -> bool:
    """Whether several schemas describe its value."""
    keys = part.keys() - _HARMLESS
    return bool(keys & _ENTANGLED) or (bool(keys & _ELSEWHERE) and len(keys) > 1)


def _narrowed(part: Any, policy: ModelPolicy, *, closes: bool) -> Any:
    if isinstance(part, list):
        return [_narrowed(each, policy, closes=closes) for each in part]
    if not isinstance(part, dict):
        return part
    new = _enforced(part)
    for key in new.keys() & {*HOLDING}:
        new[key] = _narrowed(new[key], policy, closes=closes)
    for key in new.keys() & {*NAMED}:
        new[key] = {
            name: _narrowed(each, policy, closes=closes)
            for name, each in new[key].items()
        }
    if new.keys() & {"const", "enum", *_ELSEWHERE}:
        return new
    kinds = new.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "string" in kinds and not new.keys() & {"pattern", "format"}:
        _limit(new, "Length", policy.max_text_chars, policy)
    if "array" in kinds:
        _limit(new, "Items", policy.max_items, policy)
    named = new.get("properties", {})
    required = set(new.get("required", ()))
    if closes and "object" in kinds and named and required <= named.keys():
        new.setdefault("additionalProperties", False)
    return new


def _enforced(part: dict[str, Any]) -> dict[str, Any]:
    """A schema without what is left to the check, as the newest draft says it."""
    new = {key: value for key, value in part.items() if key not in _CHECKED}
    if new.get("format") not in FORMATS:
        new.pop("format", None)
    if "$ref" in new:
        new["$ref"] = as_uri(str(new["$ref"]))
    return new


def _limit(part: dict[str, Any], what: str, most: int, policy: ModelPolicy) -> None:
    """Set a maximum if there is none, or if the policy caps a higher one."""
    most = max(most, part.get(f"min{what}", 0))
    known = part.setdefault(f"max{what}", most)
    if policy.caps_limits:
        part[f"max{what}"] = min(known, most)


def _moved(part: Any, place: str) -> Any:
    """The schema with its references adjusted to its new place."""
    if isinstance(part, list):
        return [_moved(p, place) for p in part]
    if not isinstance(part, dict):
        return part
    moved = {key: _moved(value, place) for key, value in part.items()}
    reference = part.get("$ref")
    if isinstance(reference, str) and reference.startswith("#"):
        moved["$ref"] = place + reference[1:]
    return moved
