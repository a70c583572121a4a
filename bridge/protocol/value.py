"""Frozen values with typed fields, as they are stored in JSON files.

Keys in JSON are camelCase. Unknown keys are kept.

A program can use a value as a pydantic model, and as a part of one. pydantic is then
imported (`bridge.protocol.pydantic_model`): importing it takes longer than a whole hook
may.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Self,
    cast,
    dataclass_transform,
    get_type_hints,
)

from bridge.protocol.plain_types import (
    REQUIRED,
    Field,
    InvalidValue,
    Reader,
    camel_case,
    field,
    read_at,
    reader_of,
)
from bridge.protocol.wording import quoted

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(field,)
)
class Value:
    """A frozen value; its fields are the annotated names of the class."""

    fields: ClassVar[dict[str, Field]] = {}
    # By its own name and by its name in JSON: a field's own name, and what reads it.
    _readers: ClassVar[dict[str, tuple[str, Reader]]] = {}

    def __init_subclass__(cls) -> None:
        """Collect the fields: those of the base class first."""
        cls.fields = dict(cls.fields)
        for name in cls.__annotations__:
            given = vars(cls).get(name, REQUIRED)
            made = given if isinstance(given, Field) else Field(given)
            json_name = made.json_name or camel_case(name)
            cls.fields[name] = made._replace(json_name=json_name)
        cls._readers = {}

    def __init__(self, **values: Any) -> None:
        """Take each field by its own name or by its name in JSON.

        Raises:
            InvalidValue: names the first field that is wrong.
        """
        self.__dict__.update(self._read(values))

    @classmethod
    def model_validate(cls, value: Any) -> Self:
        """Read a value from decoded JSON.

        Raises:
            InvalidValue: names the first field that is wrong.
        """
        if isinstance(value, cls):
            return value
        made = cls.__new__(cls)
        made.__dict__.update(cls._read(value))
        return made

    @classmethod
    def fits(cls, value: Any) -> bool:
        """Whether a value can be read from decoded JSON."""
        try:
            cls._read(value)
        except InvalidValue:
            return False
        return True

    @classmethod
    def _read(cls, value: Any) -> dict[str, Any]:
        """The attributes of the value that decoded JSON describes."""
        if not isinstance(value, dict):
            raise InvalidValue("expected an object")
        if not cls._readers:
            for name, hint in cls.hints().items():
                reader = (name, reader_of(hint, Value))
                cls._readers |= {name: reader, cls.fields[name].json_name: reader}
        found: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, part in value.items():
            if key not in cls._readers:
                extra[key] = part
                continue
            name, read = cls._readers[key]
            if name in found:
                raise InvalidValue("given by both of its names", key)
            found[name] = read_at(read, key, part)
        fields_set = frozenset(found)
        for name, each in cls.fields.items():
            if name not in fields_set:
                found[name] = each.get_default()
                if found[name] is REQUIRED:
                    raise InvalidValue("field required", each.json_name)
        return found | {"_extra": extra, "_fields_set": fields_set}

    @classmethod
    def hints(cls) -> dict[str, Any]:
        """The type of each field."""
        hints = get_type_hints(cls, include_extras=True)
        return {name: hints[name] for name in cls.fields}

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        """As pydantic's, whose `ValidationError` it raises."""
        return cast("Self", cls._pydantic().validate_json(text))

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of the value."""
        return cls._pydantic().json_schema()

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """As pydantic's: field names and Python values, unless its options differ."""
        return cast("dict[str, Any]", self._pydantic().dump_python(self, **options))

    def model_dump_json(self, **options: Any) -> str:
        """As pydantic's."""
        return self._pydantic().dump_json(self, **options).decode()

    @classmethod
    def _pydantic(cls: Any) -> TypeAdapter[Any]:
        from bridge.protocol.pydantic_model import adapter_of

        return adapter_of(cls)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, handler: Any) -> Any:
        """Let pydantic's models, those of programs too, have a field of this type."""
        from bridge.protocol.pydantic_model import schema_of

        return schema_of(cls, handler)

    def model_copy(
        self, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> Self:
        """As pydantic's: a copy with some keys changed; nothing is checked."""
        others = dict(update or {})
        fields = {name: others.pop(name) for name in self.fields.keys() & others}
        made = self.with_(**fields, _extra=self.model_extra | others)
        if deep:
            from copy import deepcopy

            return deepcopy(made)
        return made

    @property
    def model_fields_set(self) -> frozenset[str]:
        """The fields that were given, rather than left to their defaults."""
        fields_set: frozenset[str] = self.__dict__["_fields_set"]
        return fields_set

    @property
    def model_extra(self) -> dict[str, Any]:
        """The keys that are no fields; each can also be read as an attribute."""
        extra: dict[str, Any] = self.__dict__["_extra"]
        return extra

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A key that is no field."""
            extra = self.__dict__.get("_extra", {})
            # Python asks for names with two underscores: they say how to copy it, say.
            if name not in extra or name.startswith("__"):
                raise AttributeError(f"{type(self).__name__} has no {name!r}")
            return extra[name]

    def with_(self, **changes: Any) -> Self:
        """A copy with some fields changed, unknown keys kept; nothing is checked."""
        made = object.__new__(type(self))
        fields_set = self.model_fields_set.union(changes.keys() & self.fields)
        made.__dict__.update(self.__dict__ | changes, _fields_set=fields_set)
        return made

    def to_data(self) -> dict[str, Any]:
        """The value as decoded JSON, with the unknown keys."""
        found = {
            each.json_name: as_data(self.__dict__[name])
            for name, each in self.fields.items()
        }
        return {**found, **as_data(self.__dict__["_extra"])}

    def needs(self) -> set[str]:
        """The names in JSON of the `needed` fields that it sets, also in its parts."""
        found: set[str] = set()
        for name, each in self.fields.items():
            part = self.__dict__[name]
            if each.needed and part != each.get_default():
                found.add(each.json_name)
            for inner in part if isinstance(part, tuple) else (part,):
                found |= inner.needs() if isinstance(inner, Value) else set()
        return found

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a value is frozen."""
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        """Refuse: a value is frozen."""
        raise AttributeError(f"{type(self).__name__} is frozen: cannot delete {name}")

    def __eq__(self, other: object) -> bool:
        """Whether it is the same kind of value, with the same fields and keys."""
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = dict(self.__dict__), dict(other.__dict__)
        return (mine | {"_fields_set": 0}) == (theirs | {"_fields_set": 0})

    def __hash__(self) -> int:
        """By the fields; a value that holds a dict has no hash."""
        return hash(tuple(self.__dict__[name] for name in self.fields))

    def __repr__(self) -> str:
        """The class, what was said of it, and its other keys; long parts cut short."""
        parts = {
            name: part
            for name, each in self.fields.items()
            if (part := self.__dict__[name]) != each.get_default()
        } | self.model_extra
        shown = ", ".join(f"{name}={quoted(part, 200)}" for name, part in parts.items())
        return f"{type(self).__name__}({shown})"


def as_data(value: Any) -> Any:
    """Any value as decoded JSON has it."""
    if isinstance(value, Value):
        return value.to_data()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {key: as_data(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_data(part) for part in value]
    return value
