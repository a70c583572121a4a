"""Frozen values with typed fields, as they are stored in JSON files.

pydantic decides what fits a field, but importing it takes longer than a whole hook may.
So a value that plainly fits (the exact type, within its limits) is taken without
pydantic. Everything else goes to a pydantic model with the same fields, which converts
it or says what is wrong (`bridge.protocol.pydantic_model`).

Keys in JSON are camelCase. Unknown keys are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Self,
    dataclass_transform,
    get_type_hints,
)

from bridge.protocol import plain_types
from bridge.protocol.wording import quoted

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(plain_types.field,)
)
class Value:
    """A frozen value; its fields are the annotated names of the class."""

    fields: ClassVar[dict[str, plain_types.Field]] = {}
    # Whether there is a field that is `needed`, in any class.
    some_needed: ClassVar[bool] = False
    _readers: ClassVar[dict[str, Any] | None] = None
    # What is the same for every value of a class: it is asked for each that is read.
    _defaults: ClassVar[dict[str, Any]] = {}
    _factories: ClassVar[dict[str, Callable[[], Any]]] = {}
    _required: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        """Collect the fields: those of the base class first."""
        cls.fields = dict(cls.fields)
        for name in vars(cls).get("__annotations__", {}):
            default = vars(cls).get(name, plain_types.REQUIRED)
            made = (
                default
                if isinstance(default, plain_types.Field)
                else plain_types.Field(default)
            )
            made.json_name = made.json_name or plain_types.camel_case(name)
            cls.fields[name] = made
            Value.some_needed |= made.needed
        cls._readers = None
        each = cls.fields.items()
        cls._required = frozenset(name for name, of in each if of.is_required())
        cls._factories = {n: of.default_factory for n, of in each if of.default_factory}
        made_anew = cls._required.union(cls._factories)
        # In the order of the fields, which is that of a record's keys.
        cls._defaults = {n: None if n in made_anew else of.default for n, of in each}

    def __init__(self, **values: Any) -> None:
        """Take each field by its own name or by its name in JSON.

        Raises:
            ValueError: pydantic's `ValidationError`, which names the field.
        """
        self._fill(*self._read_or_convert(values))

    @classmethod
    def model_validate(cls, value: Any) -> Self:
        """Read a value from decoded JSON.

        Raises:
            ValueError: pydantic's `ValidationError`, which names the field.
        """
        if isinstance(value, cls):
            return value
        return cls._made_of(*cls._read_or_convert(value))

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        """As pydantic's: read a value from JSON; raises as `model_validate`."""
        from bridge.protocol.pydantic_model import model_of, parts_of

        return cls._made_of(*parts_of(model_of(cls).model_validate_json(text)))

    @classmethod
    def _made_of(cls, found: dict[str, Any], extra: dict[str, Any]) -> Self:
        made = cls.__new__(cls)
        made._fill(found, extra)  # noqa: SLF001 - one of our own
        return made

    @classmethod
    def _read_or_convert(cls, value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        try:
            return cls._read(value)
        except plain_types.NotPlain:
            from bridge.protocol.pydantic_model import convert

            return convert(cls, as_data(value))

    def _fill(self, found: dict[str, Any], extra: dict[str, Any]) -> None:
        values = self.__dict__
        values.update(self._defaults)
        for name, make in self._factories.items():
            if name not in found:
                values[name] = make()
        values.update(found, _extra=extra, _fields_set=frozenset(found))

    @classmethod
    def fits(cls, value: Any) -> bool:
        """Whether a decoded JSON value plainly fits, without any conversion."""
        try:
            cls._read(value)
        except plain_types.NotPlain:
            return False
        return True

    @classmethod
    def _read(cls, value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The fields and the other keys of a value that plainly fits."""
        if not isinstance(value, dict):
            raise plain_types.NotPlain
        readers = cls._readers or cls._make_readers()
        found: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, part in value.items():
            known = readers.get(key)
            if known is None:
                extra[key] = part
                continue
            name, read = known
            if name in found:
                raise plain_types.NotPlain
            found[name] = read(part)
        if not cls._required <= found.keys():
            raise plain_types.NotPlain
        return found, extra

    @classmethod
    def _make_readers(cls) -> dict[str, Any]:
        readers = {}
        for name, hint in cls.hints().items():
            read = plain_types.reader_of(hint, Value)
            readers[name] = readers[cls.fields[name].json_name] = (name, read)
        cls._readers = readers
        return readers

    @classmethod
    def hints(cls) -> dict[str, Any]:
        """The type of each field."""
        hints = get_type_hints(cls, include_extras=True)
        return {name: hints[name] for name in cls.fields}

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of the value."""
        from bridge.protocol.pydantic_model import model_of

        return model_of(cls).model_json_schema(by_alias=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, handler: Any) -> Any:
        """Let pydantic's models, those of programs too, have a field of this type."""
        from bridge.protocol.pydantic_model import parts_of, schema_of

        return schema_of(cls, lambda read: cls._made_of(*parts_of(read)), handler)

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """As pydantic's: field names and Python values, unless its options differ."""
        return self._as_model().model_dump(**options)

    def model_dump_json(self, **options: Any) -> str:
        """As pydantic's."""
        return self._as_model().model_dump_json(**options)

    def _as_model(self) -> BaseModel:
        from bridge.protocol.pydantic_model import model_of

        values = {name: self.__dict__[name] for name in self.fields}
        made = model_of(type(self)).model_construct({*self.model_fields_set}, **values)
        # Not as arguments: a key may be named like one.
        extra: Any = made.model_extra
        extra.update(self.model_extra)
        return made

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
