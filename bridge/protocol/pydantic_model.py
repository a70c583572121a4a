"""The pydantic model of a value: it decides where the quick check cannot."""

from __future__ import annotations

from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, create_model
from pydantic import Field as PydanticField

from bridge.protocol.plain_types import Limits

if TYPE_CHECKING:
    from bridge.protocol.plain_types import Field

_CONFIG = ConfigDict(frozen=True, extra="allow", populate_by_name=True)
# `Kind` is a subclass of `Value`, which is passed along: it imports this module.
Kind = Any
_models: dict[Kind, type[BaseModel]] = {}
_kinds: dict[type[BaseModel], Kind] = {}


def model_of(kind: Kind, base: type) -> type[BaseModel]:
    """The model with the fields of a value; `base` is the class of all values."""
    if kind not in _models:
        fields: Any = {
            name: (_translate(hint, base), _field(kind.fields[name]))
            for name, hint in kind.hints().items()
        }
        made: type[BaseModel] = create_model(
            kind.__name__, __config__=_CONFIG, __doc__=kind.__doc__, **fields
        )
        _models[kind], _kinds[made] = made, kind
    return _models[kind]


def convert(kind: Kind, data: Any, base: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of a value as pydantic reads them, and the keys that are no fields.

    Raises:
        ValidationError: it is no such value.
    """
    read = model_of(kind, base).model_validate(data)
    return _fields(read), read.model_extra or {}


def _field(described: Field) -> Any:
    if described.default_factory is not None:
        return PydanticField(
            default_factory=described.default_factory, alias=described.json_name
        )
    default = ... if described.is_required() else described.default
    return PydanticField(default, alias=described.json_name)


def _translate(hint: Any, base: type) -> Any:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        rules = (
            PydanticField(**rule.limits)
            if isinstance(rule, Limits)
            else AfterValidator(rule)
            for rule in parts[1:]
        )
        return Annotated[(_translate(parts[0], base), *rules)]
    if origin in (Union, UnionType):
        return Union[tuple(_translate(part, base) for part in parts)]  # noqa: UP007 - made at run time
    if origin is tuple:
        return tuple[_translate(parts[0], base), ...]  # type: ignore[misc]
    if origin is dict:
        return dict[parts[0], _translate(parts[1], base)]  # type: ignore[misc,valid-type]
    if origin is None and isinstance(hint, type) and issubclass(hint, base):
        return model_of(hint, base)
    return hint


def _fields(read: BaseModel) -> dict[str, Any]:
    fields_set = read.model_fields_set & type(read).model_fields.keys()
    return {name: _as_value(getattr(read, name)) for name in fields_set}


def _as_value(part: Any) -> Any:
    """A part of the model as the value that it stands for."""
    if isinstance(part, tuple):
        return tuple(map(_as_value, part))
    if not isinstance(part, BaseModel):
        return part
    return _kinds[type(part)](**_fields(part), **(part.model_extra or {}))
