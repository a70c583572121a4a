"""Every JSON value that a schema allows, as a Hypothesis strategy.

Values are drawn from what a keyword says of its own type, and those that the others
(`not`, `if`, `dependentRequired`, …) forbid are dropped by the check that answers go
through. So whatever is drawn is a valid answer, and the smallest comes first: empty
lists, empty texts, no optional keys.

Source: JSON Schema, draft 2020-12.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hypothesis import Phase, find, settings
from hypothesis import strategies as st

from bridge.api.result import schema_of
from bridge.errors import InvalidRequest
from bridge.protocol.agent_output import ANSWER_SCHEMA
from bridge.protocol.json_schema import problem_of
from bridge.testing.formats import FORMATS
from bridge.testing.merged import merged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import DrawFn, SearchStrategy

    Schema = Mapping[str, Any] | bool

# What the encoder of records can write.
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
# Below this, what refers to itself is kept as small as it may be.
_DEEP = 4
_TOO_DEEP = 24
_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
# The keywords that say something of one type only.
_OF_TYPE = {
    "object": {"properties", "required", "additionalProperties", "patternProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "contains"},
    "string": {"pattern", "minLength", "maxLength", "format"},
    "number": {"minimum", "maximum", "multipleOf"},
}
_TEXTS = st.text()
_SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4)
_ANYTHING: SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def values(form: object = None) -> SearchStrategy[Any]:
    """JSON values that are valid answers of a form, which is what `ask` takes.

    That is a pydantic model or another type that pydantic can check, a JSON Schema as a
    dict, or None for an `AgentOutput`.

    Raises:
        InvalidRequest: it is none of these, or refers to what is not in it.
    """
    schema = ANSWER_SCHEMA if form is None else schema_of(form)
    return _values(json.dumps(schema))


def smallest(form: object = None) -> Any:
    """The smallest of these values."""
    schema = ANSWER_SCHEMA if form is None else schema_of(form)
    return json.loads(_smallest(json.dumps(schema)))


@lru_cache(maxsize=256)
def _smallest(text: str) -> str:
    # Not the phase that explains: it draws a hundred larger ones.
    quick = settings(
        max_examples=50,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate, Phase.shrink],
    )
    return json.dumps(find(_values(text), lambda _: True, settings=quick))


@lru_cache(maxsize=256)
def _values(text: str) -> SearchStrategy[Any]:
    schema = json.loads(text)
    found = _Drawing(schema).of(schema, 0)
    return found.filter(lambda value: problem_of(schema, value) is None)


class _Drawing:
    """Draws from one schema, whose own parts `$ref` can name."""

    def __init__(self, root: Schema) -> None:
        self._root = root

    def of(self, schema: Schema, depth: int) -> SearchStrategy[Any]:
        """The values of one part of the schema, so many parts below the whole."""
        return _drawn(self, schema, depth)

    def draw(self, draw: DrawFn, schema: Schema, depth: int) -> Any:
        """Draw one value."""
        if depth > _TOO_DEEP:
            return draw(st.nothing())
        flat = self._flat(draw, schema, depth)
        if flat is True or flat == {}:
            return draw(_ANYTHING)
        if flat is False:
            return draw(st.nothing())
        if "const" in flat:
            return flat["const"]
        if "enum" in flat:
            return draw(st.sampled_from(flat["enum"]))
        kind = draw(st.sampled_from(_types(flat)))
        if kind == "object":
            return self._object(draw, flat, depth)
        if kind == "array":
            return self._array(draw, flat, depth)
        return draw(_scalar(kind, flat))

    def _flat(self, draw: DrawFn, schema: Schema, depth: int) -> Any:
        """The schema without what only joins others: one branch of each choice."""
        for _ in range(_TOO_DEEP):
            if isinstance(schema, bool):
                return schema
            rest = dict(schema)
            if "$ref" in rest:
                schema = merged(rest, self._found(rest.pop("$ref")), without="$ref")
            elif "allOf" in rest:
                for each in rest.pop("allOf"):
                    rest = merged(rest, each)
                schema = rest
            elif choice := next((n for n in ("anyOf", "oneOf") if n in rest), None):
                branches = rest.pop(choice)
                schema = merged(rest, self._branch(draw, branches, depth))
            elif "if" in rest and ("then" in rest or "else" in rest):
                parts = [rest.pop(n, True) for n in ("if", "then", "else")]
                yes, no = merged(merged(rest, parts[0]), parts[1]), parts[2]
                schema = yes if draw(st.booleans()) else merged(rest, no)
            else:
                return rest
        return draw(st.nothing())

    def _branch(self, draw: DrawFn, branches: list[Schema], depth: int) -> Schema:
        """One of them; those that may lead back to the whole are the larger."""
        plain = [each for each in branches if "$ref" not in json.dumps(each)]
        others = [each for each in branches if each not in plain]
        if depth >= _DEEP and plain:
            others = []
        return draw(st.sampled_from(plain + others))

    def _found(self, ref: str) -> Schema:
        """What a `$ref` names within the schema."""
        found: Any = self._root
        pointer = ref.removeprefix("#")
        try:
            if not ref.startswith("#") or (pointer and pointer[0] != "/"):
                raise KeyError(ref)
            for part in pointer.split("/")[1:]:
                key = part.replace("~1", "/").replace("~0", "~")
                found = found[int(key) if isinstance(found, list) else key]
        except (LookupError, ValueError, TypeError):
            raise InvalidRequest(
                f"$ref {ref!r}: there is no such part in the schema, and nothing else "
                "is looked for; draw the answers from a strategy of your own: "
                "`strategy.map(answer)`"
            ) from None
        return found  # type: ignore[no-any-return]

    def _object(self, draw: DrawFn, schema: dict[str, Any], depth: int) -> Any:
        known: dict[str, Schema] = schema.get("properties", {})
        required = dict.fromkeys(schema.get("required", ()))
        is_deep = depth >= _DEEP
        chosen = {
            name
            for name in known
            if name in required or (not is_deep and draw(st.booleans()))
        }
        value = {
            name: draw(self.of(self._of_key(schema, name), depth + 1))
            for name in [*required, *known]
            if name in required or name in chosen
        }
        least = schema.get("minProperties", 0) - len(value)
        others = self._other_keys(schema)
        if others is not None and (least > 0 or (not is_deep and _seldom(draw))):
            most = schema.get("maxProperties", len(value) + max(least, 2)) - len(value)
            names = others.filter(lambda name: name not in known)
            more = st.lists(
                names, min_size=max(least, 0), max_size=max(most, 0), unique=True
            )
            for name in draw(more):
                value[name] = draw(self.of(self._of_key(schema, name), depth + 1))
        return value

    def _other_keys(self, schema: dict[str, Any]) -> SearchStrategy[str] | None:
        """Keys beside those that have a name; None if there can be none."""
        patterns = list(schema.get("patternProperties", ()))
        is_open = schema.get("additionalProperties", True) is not False
        if not patterns and not is_open:
            return None
        if "propertyNames" in schema:
            return self.of(merged(schema["propertyNames"], {"type": "string"}), _DEEP)
        usual = [st.text(max_size=4)] if is_open else []
        return st.one_of(*map(_matching, patterns), *usual)

    def _of_key(self, schema: dict[str, Any], name: str) -> Schema:
        """What the value of a key must be."""
        found: list[Schema] = [
            each
            for pattern, each in schema.get("patternProperties", {}).items()
            if re.search(pattern, name)
        ]
        if name in schema.get("properties", {}):
            found.append(schema["properties"][name])
        if not found:
            other: Schema = schema.get("additionalProperties", True)
            return other
        whole = found[0]
        for each in found[1:]:
            whole = merged(whole, each)
        return whole

    def _array(self, draw: DrawFn, schema: dict[str, Any], depth: int) -> Any:
        first: list[Schema] = schema.get("prefixItems", [])
        items: Schema = schema.get("items", True)
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if depth >= _DEEP:
            most = least
        count = len(first)
        if least < count:
            # What comes first need not be there.
            count = draw(
                st.integers(least, count if most is None else min(count, most))
            )
        whole = [draw(self.of(each, depth + 1)) for each in first[:count]]
        if "contains" in schema and schema.get("minContains", 1) > 0:
            one = merged(items, schema["contains"])
            whole += [draw(self.of(one, depth + 1))]
        if items is False or count < len(first):
            return whole
        return whole + draw(
            st.lists(
                self.of(items, depth + 1),
                min_size=max(0, least - len(whole)),
                max_size=None if most is None else max(0, most - len(whole)),
                unique_by=_canonical if schema.get("uniqueItems") else None,
            )
        )


@st.composite
def _drawn(draw: DrawFn, drawing: _Drawing, schema: Schema, depth: int) -> Any:
    return drawing.draw(draw, schema, depth)


def _seldom(draw: DrawFn) -> bool:
    """True about once in four times; the simpler is False."""
    return draw(st.sampled_from((False, False, False, True)))


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _types(schema: Mapping[str, Any]) -> list[str]:
    """The types that a value may have; those that the keywords are about come first."""
    named = schema.get("type")
    if named is not None:
        return [named] if isinstance(named, str) else list(named)
    meant = [kind for kind, words in _OF_TYPE.items() if words & schema.keys()]
    return [*meant, *(kind for kind in _TYPES if kind not in meant)]


def _scalar(kind: str, schema: Mapping[str, Any]) -> SearchStrategy[Any]:
    if kind == "string":
        return _strings(schema)
    if kind == "integer":
        return _integers(schema)
    if kind == "number":
        return _numbers(schema)
    return st.booleans() if kind == "boolean" else st.none()


def _strings(schema: Mapping[str, Any]) -> SearchStrategy[str]:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if "pattern" in schema:
        return _matching(schema["pattern"]).filter(
            lambda text: least <= len(text) and (most is None or len(text) <= most)
        )
    if schema.get("format") in FORMATS:
        return FORMATS[schema["format"]]
    return st.text(min_size=least, max_size=most)


def _matching(pattern: str) -> SearchStrategy[str]:
    r"""Texts in which a pattern is found, as ECMA 262 reads it.

    There `\d` and `\w` are ASCII, and `$` is not before a last line feed.
    """
    if re.search(r"(?<!\\)(?:\\\\)*\$$", pattern):
        pattern = pattern[:-1] + r"\Z"
    return st.from_regex(re.compile(pattern, re.ASCII))


def _integers(schema: Mapping[str, Any]) -> SearchStrategy[int]:
    step = schema.get("multipleOf", 1)
    return _steps(schema, int(step) if step == int(step) else 1)


def _steps(schema: Mapping[str, Any], step: float) -> SearchStrategy[Any]:
    """Multiples of a number, within the bounds."""
    least, most = _SMALLEST, _LARGEST
    if "minimum" in schema:
        least = max(least, math.ceil(schema["minimum"] / step))
    if "exclusiveMinimum" in schema:
        least = max(least, math.floor(schema["exclusiveMinimum"] / step) + 1)
    if "maximum" in schema:
        most = min(most, math.floor(schema["maximum"] / step))
    if "exclusiveMaximum" in schema:
        most = min(most, math.ceil(schema["exclusiveMaximum"] / step) - 1)
    if abs(step) > 1:
        least, most = max(least, int(_SMALLEST / step)), min(most, int(_LARGEST / step))
    if least > most:
        return st.nothing()
    return st.integers(least, most).map(lambda number: number * step)


def _numbers(schema: Mapping[str, Any]) -> SearchStrategy[float]:
    if "multipleOf" in schema:
        return _steps(schema, schema["multipleOf"])
    least = schema.get("minimum", schema.get("exclusiveMinimum"))
    most = schema.get("maximum", schema.get("exclusiveMaximum"))
    return st.floats(
        least,
        most,
        exclude_min="exclusiveMinimum" in schema and "minimum" not in schema,
        exclude_max="exclusiveMaximum" in schema and "maximum" not in schema,
        allow_nan=False,
        allow_infinity=False,
    )
