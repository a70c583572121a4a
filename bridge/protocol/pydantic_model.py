"""A value as pydantic sees it: the model with its fields.

What is read is for the value's own reader to decide. pydantic describes the form, says
of a wrong value every place that is wrong, and writes, as its own options say.
"""

from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model
from pydantic import Field as PydanticField
from pydantic_core import core_schema

from bridge.protocol.plain_types import REQUIRED

_CONFIG = ConfigDict(frozen=True, extra="allow", populate_by_name=True)
# `Kind` is a subclass of `Value`, which is passed along: it imports this module.
Kind = Any


@cache
def adapter_of(kind: Kind) -> TypeAdapter[Any]:
    """What does with a value as pydantic does with a model."""
    return TypeAdapter(kind)


@cache
def model_of(kind: Kind) -> type[BaseModel]:
    """The model with the fields of a value."""
    hints = kind.hints()
    fields: dict[str, Any] = {}
    for name, each in kind.fields.items():
        default = each.get_default()
        fields[name] = (
            Annotated[hints[name], PydanticField(alias=each.json_name)],
            ... if default is REQUIRED else default,
        )
    return create_model(
        kind.__name__, __config__=_CONFIG, __doc__=kind.__doc__, **fields
    )


def schema_of(kind: Kind, handler: Any) -> core_schema.CoreSchema:
    """What pydantic does with a value, alone or in a model."""

    def read(value: Any, find_faults: Any) -> Any:
        try:
            return kind.model_validate(value)
        except ValueError:
            find_faults(value)
            raise

    def write(value: Any, write_model: Any) -> Any:
        return write_model(_as_model(value))

    form = handler.generate_schema(model_of(kind))
    return core_schema.no_info_wrap_validator_function(
        read,
        form,
        serialization=core_schema.wrap_serializer_function_ser_schema(
            write, schema=form
        ),
    )


def _as_model(value: Any) -> BaseModel:
    values = {name: getattr(value, name) for name in value.fields}
    made = model_of(value.__class__).model_construct(
        {*value.model_fields_set}, **values
    )
    # Not as arguments: a key may be named like one.
    extra: Any = made.model_extra
    extra.update(value.model_extra)
    return made
