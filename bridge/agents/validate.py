"""Check what a file holds against a model: every problem at once, each at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from bridge.agents.diagnostic import Place, near, shown

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from bridge.agents.yaml_source import Tree

M = TypeVar("M", bound=BaseModel)

_EXPECTED = {
    "string_type": "a string",
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}


class Written(BaseModel):
    """What a file may say: nothing unknown, nothing of another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def check(model: type[M], tree: Tree) -> tuple[M | None, M]:
    """Read the tree as `model`: None for one with problems, which the tree then has.

    The second is there in any case: the fields that are in order, the others at their
    defaults, so that what is in them can be looked at, too. A field that is null counts
    as left out.
    """
    value = tree.value
    if not isinstance(value, dict):
        if value is not None or not tree.problems:
            tree.complain((), f"expected a mapping of fields, got {shown(value)}")
        return None, _salvaged(model, {})
    told = {key: part for key, part in value.items() if part is not None}
    try:
        whole = model.model_validate(told)
    except ValidationError as exc:
        errors = exc.errors(include_url=False)
    else:
        return whole, whole
    for error in errors:
        place = _known(tuple(error["loc"]), tree.value)
        tree.complain(place, _message(model, error))
    bad = {error["loc"][0] for error in errors if error["loc"]}
    return None, _salvaged(model, {k: v for k, v in told.items() if k not in bad})


def _salvaged(model: type[M], fields: dict[str, Any]) -> M:
    required = {k: None for k, f in model.model_fields.items() if f.is_required()}
    return model.model_construct(**(required | fields))


def _known(place: Place, value: Any) -> Place:
    """The place as it is in the file: pydantic adds parts of its own, as `[key]`."""
    kept: list[str | int] = []
    for part in place:
        kept.append(part)
        if isinstance(value, (dict, list)):
            try:
                value = value[part]  # type: ignore[index]
            except (KeyError, IndexError, TypeError):
                break
        else:
            kept.pop()
            break
    return tuple(kept)


def _message(model: type[BaseModel], error: ErrorDetails) -> str:
    kind, given = error["type"], error["input"]
    if kind == "extra_forbidden":
        fields = _fields_at(model, error["loc"][:-1])
        return f"unknown field{near(str(error['loc'][-1]), fields)}"
    if kind == "missing":
        return "is missing"
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}, got {shown(given)}"
    if kind == "literal_error":
        expected = error.get("ctx", {}).get("expected", "")
        hint = near(given, expected.split("'")[1::2]) if isinstance(given, str) else ""
        return f"expected {expected}, got {shown(given)}{hint}"
    told = error["msg"].removeprefix("Value error, ").replace("Input should", "must")
    return f"{told[:1].lower()}{told[1:]}, got {shown(given)}"


def _fields_at(model: type[BaseModel], place: tuple[str | int, ...]) -> list[str]:
    """The fields that there are where an unknown one was found."""
    found: type[BaseModel] | None = model
    annotation: Any = None
    for part in place:
        if found is not None and part in found.model_fields:
            annotation = found.model_fields[str(part)].annotation
        found = _model_in(annotation)
    return list(found.model_fields) if found is not None else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that a field is, or is a list of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(each) for each in get_args(annotation))
    return next((each for each in inner if each is not None), None)
