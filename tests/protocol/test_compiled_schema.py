"""A check ends, whatever the schema: references, patterns and values are limited."""

from typing import Any

import pytest

from bridge.protocol import compiled_schema
from bridge.protocol.json_schema import problem_of, problem_of_schema, problems_of

pytestmark = pytest.mark.slow

NESTED = "^(a+)+$"


EVIL = "a" * 60 + "!"


DRAFT_7 = "http://json-schema.org/draft-07/schema#"


DRAFT_4 = "http://json-schema.org/draft-04/schema#"


def doubling(keyword: str, levels: int = 40) -> dict[str, Any]:
    """A schema of a few lines and 2**40 branches."""
    parts = {
        str(n): {keyword: [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(levels)
    }
    return {"$defs": {**parts, str(levels): {}}, "$ref": "#/$defs/0"}


def dependent(levels: int = 40) -> dict[str, Any]:
    parts: dict[str, Any] = {
        str(n): {"dependentSchemas": {x: {"$ref": f"#/$defs/{n + 1}"} for x in "ab"}}
        for n in range(levels)
    }
    defs = parts | {str(levels): {}}
    return {"unevaluatedProperties": False, "$defs": defs, "$ref": "#/$defs/0"}


def twice_referred(levels: int = 40) -> dict[str, Any]:
    parts: dict[str, Any] = {
        str(n): dict.fromkeys(("$ref", "$dynamicRef"), f"#/$defs/{n + 1}")
        for n in range(levels)
    }
    end = {str(levels): {}}
    return {"unevaluatedItems": False, **parts["0"], "$defs": parts | end}


BOMBS: dict[str, tuple[dict[str, Any], Any, str]] = {
    "pattern": ({"pattern": NESTED}, EVIL, "does not match"),
    "names": (
        {"patternProperties": {NESTED: {}}, "additionalProperties": False},
        {EVIL: 1},
        "was unexpected",
    ),
    "names, unevaluated": (
        {"patternProperties": {NESTED: {}}, "unevaluatedProperties": False},
        {EVIL: 1},
        "was unexpected",
    ),
    "an older draft": ({"$schema": DRAFT_4, "pattern": NESTED}, EVIL, "does not match"),
    "a part of another draft": (
        {"items": {"$schema": DRAFT_7, "pattern": NESTED}},
        [EVIL],
        "does not match",
    ),
    "the whole, from within": (
        {
            "$schema": DRAFT_7,
            "anyOf": [
                {"type": "array", "items": {"$ref": "#"}},
                {"type": "string", "pattern": NESTED},
            ],
        },
        [EVIL],
        "does not match",
    ),
    "looking around": ({"pattern": "^(?:(?=a)a+)+$"}, EVIL, "too many tries"),
    "looking around, often": (
        {"items": {"pattern": "(?=.*x)b"}},
        ["a" * 3_000] * 1_000,
        "too many tries",
    ),
    "looking around in short texts": (
        {"items": {"not": {"pattern": r"^(?:a|(?=a)a)*\b(?=!)$"}}},
        ["a" * 11] * 200_000,
        "too many tries",
    ),
    "looking around once": ({"pattern": "(?=.*x)b"}, "a" * 10_000, "too many tries"),
    "oneOf": (doubling("oneOf"), {}, "too many steps"),
    "allOf": (doubling("allOf"), {}, "too many steps"),
    "dependent": (dependent(), {"a": 1, "b": 2}, "too many steps"),
    "two references": (twice_referred(), [1], "too many steps"),
    **{
        f"a long {key}": (
            {"items": {key: [{"maxLength": n} for n in range(3_000)]}},
            ["a" * 2_999] * 1_000,
            "too many steps",
        )
        for key in ("anyOf", "oneOf")
    },
    "many names": (
        {"items": {"patternProperties": {f"^{n}$": {} for n in range(900)}}},
        [{"a": 1}] * 1_000,
        "too many steps",
    ),
    "one of too many alternatives": (
        {"oneOf": [{"const": n} for n in range(5_000)]},
        -1,
        "is not valid under exactly one of the schemas in 'oneOf'",
    ),
    "quotes": (
        {"anyOf": [{"type": "integer"}] * 5_000},
        "a" * 1_000_000,
        "is not valid under any",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_error_a_check_that_would_take_too_long(monkeypatch, name):
    """A hang would meet the time limit of the tests."""
    monkeypatch.setattr(compiled_schema, "MAX_STEPS", 50_000)
    schema, value, message = BOMBS[name]

    problem = problem_of(schema, value)

    assert message in problem


@pytest.mark.parametrize("keyword", ["oneOf", "allOf"])
def test_error_a_schema_with_too_many_branches(keyword):
    problem = problem_of_schema(doubling(keyword))

    assert problem == "cannot be used: it is too large to be checked"


def test_all_values_share_the_steps(monkeypatch):
    """A message may hold any number of values, and each may be the answer."""
    monkeypatch.setattr(compiled_schema, "MAX_STEPS", 10_000)

    problems = problems_of(doubling("allOf", 6), [{"n": n} for n in range(200)])

    assert problems[0] is None
    assert "too many steps" in problems[-1]


def test_a_step_costs_more_for_a_large_value(monkeypatch):
    monkeypatch.setattr(compiled_schema, "MAX_STEPS", 1_000)
    schema = doubling("allOf", 5)

    assert problem_of(schema, {}) is None
    assert "too many steps" in str(problem_of(schema, [[[1] * 1_000]]))


def test_each_of_many_items_may_be_one_of_many_kinds():
    kinds = [{"properties": {"kind": {"const": n}}} for n in range(200)]
    schema = {"items": {"anyOf": kinds, "required": ["kind"]}}

    assert problem_of(schema, [{"kind": n % 200} for n in range(10_000)]) is None


def test_a_large_answer_can_be_checked():
    """Nearly the largest possible: many small objects, checked by a reference."""
    item = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["name", "n"],
        "additionalProperties": False,
    }
    schema = {"$defs": {"item": item}, "items": {"$ref": "#/$defs/item"}}
    items = [{"name": "x" * 16, "n": n} for n in range(90_000)]

    assert problem_of(schema, items) is None


def test_lookaround_in_many_texts_can_be_checked():
    schema = {"items": {"pattern": r"^(?=.*[a-z])(?=.*\d)(?!.*\.\.)[a-z\d.]{4,}$"}}

    assert problem_of(schema, [f"name.{n}" for n in range(50_000)]) is None


@pytest.mark.parametrize("pattern", [r"^\p{L}{200}%d$", r"(?=\p{L}{200}%d)" * 40])
def test_error_patterns_that_take_long_to_compile(pattern):
    """A short pattern can compile to ten MiB, and a schema can have many patterns."""
    patterns = {pattern.replace("%d", f"{n}"): {} for n in range(500)}

    problem = problem_of_schema({"patternProperties": patterns})

    assert "is no regular expression, or far too large" in problem


USUAL = [
    [rf"^(?!/)(?!.*\.\.)[\w./ -]{{1,{n}}}$" for n in (100, 90, 80)],
    [rf"^(?!\s*$).{{1,{n}}}$" for n in range(5_000, 8_000, 500)],
    [r"^(?=.*\d)(?=.*[a-z])(?=.*[A-Z]).{8,64}$"] * 100,
    [rf"^[\p{{L}} .'-]{{1,{n}}}$" for n in range(80, 100)],
    [rf"^[A-Za-z0-9._-]{{1,64}}$|{n}" for n in range(300)],
]


@pytest.mark.parametrize(
    "patterns", USUAL, ids=["paths", "not blank", "passwords", "names", "many"]
)
def test_usual_patterns_can_be_checked(patterns):
    fields = {f"f{n}": {"pattern": pattern} for n, pattern in enumerate(patterns)}
    schema = {"properties": fields}

    assert problem_of_schema(schema) is None
    problem = problem_of(schema, dict.fromkeys(fields, " /../\n"))
    assert "does not match" in problem
