"""What a schema allows, keyword by keyword, as a Hypothesis strategy.

Values are drawn from what a keyword says of its own type. What the others (`not`, `if`,
`dependentRequired`, …) forbid may be among them: `schema_values` drops it.

Source: JSON Schema, draft 2020-12.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from bridge.errors import InvalidRequest
from bridge.testing.merged import DEPENDENT, follows, merged
from bridge.testing.references import find_part, is_recursive
from bridge.testing.scalars import OWN_STRATEGY, compiled, matching, scalars

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import DrawFn, SearchStrategy

    Schema = Mapping[str, Any] | bool

# Below this, lists and objects are kept small; what refers to itself, minimal.
_DEEP = 4
_TOO_DEEP = 24
_FEW = 3
_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
# What joins schemas, or names the values.
_JOINING = {"$ref", "allOf", "anyOf", "oneOf", "if", "const", "enum", *DEPENDENT}
# The keywords that say something of one type only.
_OF_TYPE = {
    "object": {"properties", "required", "additionalProperties", "patternProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "contains"},
    "string": {"pattern", "minLength", "maxLength", "format"},
    "number": {"minimum", "maximum", "multipleOf"},
}
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.text(max_size=4)
    | st.floats(allow_nan=False, allow_infinity=False)
)
_ANYTHING: SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


class Drawing:
    """Draws from one schema, whose own parts `$ref` can name."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._is_recursive = is_recursive(root)
        self._made: dict[tuple[str, int], SearchStrategy[Any]] = {}

    def of(self, schema: Schema, depth: int) -> SearchStrategy[Any]:
        """The values of one part of the schema, so many parts below the whole."""
        # Hypothesis takes longer to make a strategy than to draw from it.
        key = json.dumps(schema), depth
        if key not in self._made:
            plain = _plain(schema)
            self._made[key] = _drawn(self, schema, depth) if plain is None else plain
        return self._made[key]

    def draw(self, draw: DrawFn, schema: Schema, depth: int) -> Any:
        """Draw one value."""
        if depth > _TOO_DEEP and self._is_recursive:
            return draw(st.nothing())
        flat = self._flat(draw, schema, depth)
        if flat is True or flat == {}:
            return draw(_ANYTHING)
        if flat is False:
            return draw(st.nothing())
        if "const" in flat:
            return flat["const"]
        if "enum" in flat:
            return draw(_one_of_these(flat["enum"]))
        kind = draw(_one_of_these(_types(flat)))
        if kind == "object":
            return self._object(draw, flat, depth)
        if kind == "array":
            return self._array(draw, flat, depth)
        return draw(scalars(kind, flat))

    def _flat(self, draw: DrawFn, schema: Schema, depth: int) -> Any:
        """The schema without what only joins others: one branch of each choice."""
        for _ in range(_TOO_DEEP):
            if isinstance(schema, bool):
                return schema
            rest = dict(schema)
            if "$ref" in rest:
                schema = merged(rest, self._part(rest.pop("$ref")), without="$ref")
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
            elif where := next((n for n in DEPENDENT if n in rest), None):
                schema = _with_dependent(draw, rest, rest.pop(where))
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

    def _part(self, ref: str) -> Schema:
        """What a `$ref` names within the schema."""
        try:
            return find_part(self._root, ref)  # type: ignore[no-any-return]
        except LookupError:
            raise InvalidRequest(
                f"$ref {ref!r}: there is no such part in the schema, and nothing else "
                f"is looked for; {OWN_STRATEGY}"
            ) from None

    def _object(self, draw: DrawFn, schema: dict[str, Any], depth: int) -> Any:
        known: dict[str, Schema] = schema.get("properties", {})
        required = dict.fromkeys(schema.get("required", ()))
        chosen = {
            name
            for name, each in known.items()
            if name in required or (each is not False and self._more(draw, depth))
        }
        value = {
            name: draw(self.of(self._of_key(schema, name), depth + 1))
            # Each once: a part drawn twice is one drawn 2ⁿ times, n levels below.
            for name in required | dict.fromkeys(known)
            if name in required or name in chosen
        }
        least = schema.get("minProperties", 0) - len(value)
        others = self._other_keys(schema)
        is_deep = depth >= _DEEP
        if others is not None and (least > 0 or (not is_deep and _seldom(draw))):
            most = schema.get("maxProperties", len(value) + max(least, 2)) - len(value)
            names = others.filter(lambda name: name not in known)
            more = st.lists(
                names, min_size=max(least, 0), max_size=max(most, 0), unique=True
            )
            for name in draw(more):
                value[name] = draw(self.of(self._of_key(schema, name), depth + 1))
        return value

    def _more(self, draw: DrawFn, depth: int) -> bool:
        """Whether there is what may be missing: seldom in the depth, or never."""
        if depth < _DEEP:
            return draw(st.booleans())
        return not self._is_recursive and _seldom(draw)

    def _other_keys(self, schema: dict[str, Any]) -> SearchStrategy[str] | None:
        """Keys beside those that have a name; None if there can be none."""
        patterns = list(schema.get("patternProperties", ()))
        is_open = schema.get("additionalProperties", True) is not False
        if not patterns and not is_open:
            return None
        if "propertyNames" in schema:
            names = merged(schema["propertyNames"], {"type": "string"})
            return self.of(names, _DEEP).filter(lambda name: isinstance(name, str))
        usual = [st.text(max_size=4)] if is_open else []
        return st.one_of(*map(matching, patterns), *usual)

    def _of_key(self, schema: dict[str, Any], name: str) -> Schema:
        """What the value of a key must be."""
        found: list[Schema] = [
            each
            for pattern, each in schema.get("patternProperties", {}).items()
            if compiled(pattern).search(name)
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
        items: Any = schema.get("items", True)
        if isinstance(items, list):
            # As before draft 2020-12.
            first, items = items, schema.get("additionalItems", True)
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if most is not None and most < least:
            return draw(st.nothing())
        if depth >= _DEEP or (depth and self._is_recursive):
            # A list of lists has so many leaves to the power of its depth.
            top = least + (_FEW if depth < _DEEP else not self._is_recursive)
            most = top if most is None else min(most, top)
        count = len(first)
        if least < count:
            # What comes first need not be there.
            count = draw(
                st.integers(least, count if most is None else min(count, most))
            )
        whole = [draw(self.of(each, depth + 1)) for each in first[:count]]
        if "contains" in schema:
            one = self.of(merged(items, schema["contains"]), depth + 1)
            whole += [draw(one) for _ in range(schema.get("minContains", 1))]
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
def _drawn(draw: DrawFn, drawing: Drawing, schema: Schema, depth: int) -> Any:
    return drawing.draw(draw, schema, depth)


def _seldom(draw: DrawFn) -> bool:
    """True about once in four times; the simpler is False."""
    return draw(st.sampled_from((False, False, False, True)))


def _one_of_these(choices: list[Any]) -> SearchStrategy[Any]:
    return st.sampled_from(choices) if choices else st.nothing()


def _plain(schema: Schema) -> SearchStrategy[Any] | None:
    """The values of a part that says nothing but its one simple type."""
    if isinstance(schema, bool) or schema.keys() & _JOINING:
        return None
    kind = schema.get("type")
    if not isinstance(kind, str) or kind in ("object", "array"):
        return None
    found = scalars(kind, schema)
    # Hypothesis makes no list of nothing, not even `[]`: it is to find that out.
    return None if found is st.nothing() else found


def _with_dependent(
    draw: DrawFn, schema: dict[str, Any], dependent: dict[str, Any]
) -> Schema:
    """The schema with some of these keys, and what follows from each."""
    chosen = [name for name in dependent if draw(st.booleans())]
    whole = merged(schema, {"required": chosen})
    # One may follow from the other.
    for _ in dependent:
        for name, then in dependent.items():
            if isinstance(whole, dict) and name in whole["required"]:
                whole = merged(whole, follows(then))
    return whole  # type: ignore[no-any-return]


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _types(schema: Mapping[str, Any]) -> list[str]:
    """The types that a value may have; those that the keywords are about come first."""
    named = schema.get("type")
    if named is not None:
        return [named] if isinstance(named, str) else list(named)
    meant = [kind for kind, words in _OF_TYPE.items() if words & schema.keys()]
    return [*meant, *(kind for kind in _TYPES if kind not in meant)]
