"""Check what a file holds against a model: every problem at once, each at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from bridge.agents.diagnostic import Place, describe
from bridge.agents.yaml_source import UNCLEAR, Tree
from bridge.hints import did_you_mean

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


M = TypeVar("M", bound=BaseModel)

_EXPECTED = {
    "string_type": "a string",
    "path_type": "a path",
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "too_short": "at least one item",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}


def check(
    model: type[M], tree: Tree, value: Any = None, at: Place = ()
) -> tuple[M | None, M]:
    """Read the tree as `model`; None if that fails, with the problems in the tree.

    With a `value`, read that: it is what stands `at` that place, or a part of it.

    The second value is always there, so that its fields can be checked, too: it has
    the fields that are valid, and defaults for the others. A field that is null counts
    as absent.
    """
    value = value if at or value is not None else tree.value
    if not isinstance(value, dict):
        if value is not None or at or not tree.problems:
            tree.error(at, f"expected a mapping of fields, got {describe(value)}")
        return None, _salvaged(model, {})
    present = {key: part for key, part in value.items() if part is not None}
    try:
        whole = model.model_validate(present)
    except ValidationError as exc:
        errors = exc.errors(include_url=False)
    else:
        return whole, whole
    said = {problem.place for problem in tree.problems}
    for error in errors:
        place = (*at, *_place_in(value, error["loc"]))
        # Of `yes` the reader has said already what to write.
        if place not in said or str(error["input"]).lower() not in UNCLEAR:
            tree.error(place, _message(model, error))
    bad = {error["loc"][0] for error in errors if error["loc"]}
    return None, _salvaged(model, {k: v for k, v in present.items() if k not in bad})


def _salvaged(model: type[M], fields: dict[str, Any]) -> M:
    required = {k: None for k, f in model.model_fields.items() if f.is_required()}
    return model.model_construct(**(required | fields))


def _place_in(value: Any, place: Place) -> Place:
    """The place as it is in the file: pydantic adds parts of its own, as `[key]`."""
    for depth, part in enumerate(place):
        if not isinstance(value, (dict, list)):
            return place[:depth]
        try:
            value = value[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return place[: depth + 1]
    return place


def _message(model: type[BaseModel], error: ErrorDetails) -> str:
    kind, value = error["type"], error["input"]
    if kind == "extra_forbidden":
        fields = _fields_at(model, error["loc"][:-1])
        return f"unknown field{did_you_mean(str(error['loc'][-1]), fields)}"
    if kind == "missing":
        return "is missing"
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}, got {describe(value)}"
    if kind == "literal_error":
        expected = error.get("ctx", {}).get("expected", "")
        choices = expected.split("'")[1::2]
        hint = did_you_mean(value, choices) if isinstance(value, str) else ""
        return f"expected {expected}, got {describe(value)}{hint}"
    message = error["msg"].removeprefix("Value error, ").replace("Input should", "must")
    return f"{message[:1].lower()}{message[1:]}, got {describe(value)}"


def _fields_at(model: type[BaseModel], place: Place) -> list[str]:
    """The fields of the model at a place."""
    found: type[BaseModel] | None = model
    annotation: Any = None
    for part in place:
        if found is not None and part in found.model_fields:
            annotation = found.model_fields[str(part)].annotation
        found = _model_in(annotation)
    fields = found.model_fields.items() if found is not None else ()
    return [each.alias or name for name, each in fields]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that a field is, or is a list of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(each) for each in get_args(annotation))
    return next((each for each in inner if each is not None), None)
