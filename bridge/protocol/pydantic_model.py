"""The pydantic model of a value: it decides where the quick check cannot.

Programs may use a value in models of their own, so pydantic also reads and writes one
that is a part of another.
"""

from collections.abc import Callable
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    SerializationInfo,
    create_model,
)
from pydantic import Field as PydanticField
from pydantic_core import core_schema

from bridge.protocol.plain_types import Field

_CONFIG = ConfigDict(frozen=True, extra="allow", populate_by_name=True)
# How pydantic was asked to write the whole, and so each of its parts.
_OPTIONS = (
    "mode", "include", "exclude", "by_alias", "exclude_unset", "exclude_defaults",
    "exclude_none",
)  # fmt: skip
# `Kind` is a subclass of `Value`, which is passed along: it imports this module.
Kind = Any
_models: dict[Kind, type[BaseModel]] = {}


def model_of(kind: Kind) -> type[BaseModel]:
    """The model with the fields of a value."""
    if kind not in _models:
        fields: Any = {
            name: (hint, _field(kind.fields[name]))
            for name, hint in kind.hints().items()
        }
        _models[kind] = create_model(
            kind.__name__, __config__=_CONFIG, __doc__=kind.__doc__, **fields
        )
    return _models[kind]


def convert(kind: Kind, data: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of a value as pydantic reads them, and the keys that are no fields.

    Raises:
        ValidationError: it is no such value.
    """
    return parts_of(model_of(kind).model_validate(data))


def parts_of(read: BaseModel) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields that were given, and the keys that are no fields."""
    fields = read.model_fields_set & type(read).model_fields.keys()
    return {name: getattr(read, name) for name in fields}, read.model_extra or {}


def schema_of(
    kind: Kind, made_of: Callable[[BaseModel], Any], handler: GetCoreSchemaHandler
) -> core_schema.CoreSchema:
    """What pydantic does with a value that is a part of a model."""

    def read(value: Any, check: Callable[[Any], BaseModel]) -> Any:
        return value if isinstance(value, kind) else made_of(check(value))

    def write(value: Any, info: SerializationInfo) -> Any:
        return value.model_dump(**{name: getattr(info, name) for name in _OPTIONS})

    return core_schema.no_info_wrap_validator_function(
        read,
        handler.generate_schema(model_of(kind)),
        serialization=core_schema.plain_serializer_function_ser_schema(
            write, info_arg=True
        ),
    )


def _field(described: Field) -> Any:
    if described.default_factory is not None:
        return PydanticField(
            default_factory=described.default_factory, alias=described.json_name
        )
    default = ... if described.is_required() else described.default
    return PydanticField(default, alias=described.json_name)
