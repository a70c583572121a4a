"""Frozen values with typed fields, as they lie in JSON files.

pydantic says what fits a field, but its import takes longer than a whole hook may. So a
value that plainly fits (the exact type, within its limits) is taken without pydantic.
Anything else goes to a pydantic model made from the same fields, which converts it or
says what is wrong (`bridge.protocol.pydantic_model`).

Keys in JSON are camelCase. Keys that we do not know are kept.
"""

from __future__ import annotations

import sys
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform

from bridge.protocol.plain_types import Default, Field, NotPlain, field, reader_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from bridge.protocol.plain_types import Reader


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(field,)
)
class Value:
    """A frozen value; its fields are the annotated names of the class."""

    model_fields: ClassVar[dict[str, Field]] = {}
    _readers: ClassVar[dict[str, tuple[str, Reader]] | None] = None

    def __init_subclass__(cls) -> None:
        """Collect the fields: those of the base class first."""
        fields = dict(cls.model_fields)
        for name in cls.__annotations__ if "__annotations__" in vars(cls) else ():
            if name[0] != "_":
                default = cls.__dict__.get(name, Default.NONE)
                told = default if isinstance(default, Field) else Field(default)
                fields[name] = told.named(name)
        cls.model_fields = fields
        cls._readers = None

    def __init__(self, **values: Any) -> None:
        """Take each field by its own name or by its name in JSON.

        Raises:
            ValueError: pydantic's `ValidationError`, which names the field.
        """
        self._fill(self, values)

    @classmethod
    def model_validate(cls, value: Any, *, strict: bool = False) -> Self:
        """Read a value from decoded JSON; with `strict` nothing is converted.

        Raises:
            ValueError: pydantic's `ValidationError`, which names the field.
        """
        if isinstance(value, cls):
            return value
        made = cls.__new__(cls)
        cls._fill(made, value, strict=strict)
        return made

    @classmethod
    def _fill(cls, made: Value, value: Any, *, strict: bool = False) -> None:
        try:
            fields, extra = cls._read(value)
        except NotPlain:
            from bridge.protocol.pydantic_model import convert

            fields, extra = convert(cls, value, Value, strict=strict)
        given = frozenset(fields)
        for name, told in cls.model_fields.items():
            if name not in fields:
                fields[name] = told.get_default(call_default_factory=True)
        made.__dict__.update(fields, _extra=extra, _given=given)

    @classmethod
    def _read(cls, value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The fields and the other keys of a value that plainly fits."""
        if not isinstance(value, dict):
            raise NotPlain
        readers = cls._readers or cls._make_readers()
        fields: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, part in value.items():
            known = readers.get(key)
            if known is None:
                extra[key] = part
                continue
            name, read = known
            if name in fields:
                raise NotPlain
            fields[name] = read(part)
        for name, told in cls.model_fields.items():
            if told.is_required() and name not in fields:
                raise NotPlain
        return fields, extra

    @classmethod
    def _make_readers(cls) -> dict[str, tuple[str, Reader]]:
        readers = {}
        for name, hint in cls.hints().items():
            read = reader_of(hint, Value)
            readers[name] = readers[cls.model_fields[name].json_name] = (name, read)
        cls._readers = readers
        return readers

    @classmethod
    def hints(cls) -> dict[str, Any]:
        """The type of each field."""
        found: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            names = vars(sys.modules[base.__module__])
            hints = vars(base).get("__annotations__", {})
            for name, hint in hints.items():
                if name in cls.model_fields:
                    found[name] = eval(hint, names)  # noqa: S307 - our own source
        return found

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of the value."""
        from bridge.protocol.pydantic_model import model_of

        return model_of(cls, Value).model_json_schema(by_alias=True)

    @property
    def model_fields_set(self) -> frozenset[str]:
        """The fields that were given, and not left to their defaults."""
        given: frozenset[str] = self.__dict__["_given"]
        return given

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """A copy with some fields changed, unknown keys kept; nothing is checked."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        if update:
            given = self.model_fields_set.union(update.keys() & self.model_fields)
            made.__dict__.update(update, _given=given)
        return made

    def model_dump(
        self,
        *,
        mode: str = "python",
        by_alias: bool = False,
        include: Collection[str] | None = None,
    ) -> dict[str, Any]:
        """The value as a dict; with the mode "json" of what JSON has alone."""
        whole = _json if mode == "json" else _python
        found = {
            told.json_name if by_alias else name: whole(self.__dict__[name], by_alias)
            for name, told in self.model_fields.items()
            if include is None or name in include
        }
        if include is None:
            found.update(whole(self.__dict__["_extra"], by_alias))
        return found

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a value is frozen."""
        raise AttributeError(f"{type(self).__name__} is frozen: {name} stays as it is")

    def __delattr__(self, name: str) -> None:
        """Refuse: a value is frozen."""
        raise AttributeError(f"{type(self).__name__} is frozen: {name} stays")

    def __eq__(self, other: object) -> bool:
        """Whether it is the same kind of value, with the same fields and keys."""
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = dict(self.__dict__), dict(other.__dict__)
        return (mine | {"_given": 0}) == (theirs | {"_given": 0})

    def __hash__(self) -> int:
        """By the fields; one that holds a dict has no hash."""
        return hash(tuple(self.__dict__[name] for name in self.model_fields))

    def __repr__(self) -> str:
        """The class and its fields, as one would write it."""
        told = ", ".join(f"{n}={self.__dict__[n]!r}" for n in self.model_fields)
        return f"{type(self).__name__}({told})"


def _python(value: Any, by_alias: bool) -> Any:  # noqa: FBT001 - as model_dump has it
    return _convert(value, by_alias, _python)


def _json(value: Any, by_alias: bool) -> Any:  # noqa: FBT001 - as model_dump has it
    if isinstance(value, Enum):
        return value.value
    found = _convert(value, by_alias, _json)
    return list(found) if isinstance(found, tuple) else found


def _convert(
    value: Any,
    by_alias: bool,  # noqa: FBT001 - as model_dump has it
    whole: Callable[[Any, bool], Any],
) -> Any:
    if isinstance(value, Value):
        mode = "json" if whole is _json else "python"
        return value.model_dump(mode=mode, by_alias=by_alias)
    if isinstance(value, dict):
        return {key: whole(part, by_alias) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(whole(part, by_alias) for part in value)
    return value
