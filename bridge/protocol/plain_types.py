"""Fields of a value, and the quick check of what is put into them.

The quick check takes only the exact type, within its limits: whatever it takes,
pydantic would take unchanged. It raises `NotPlain` for all the rest, and pydantic
decides.
"""

from __future__ import annotations

import re
from enum import Enum
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Reader = Callable[[Any], Any]


class NotPlain(Exception):
    """A value that does not plainly fit its field."""


class Default(Enum):
    """What stands for no default."""

    NONE = "none"


class Field:
    """One field of a value."""

    def __init__(
        self,
        default: Any = Default.NONE,
        default_factory: Callable[[], Any] | None = None,
        json_name: str = "",
    ) -> None:
        """Describe a field; it is required where it has neither kind of default."""
        self.default = default
        self.default_factory = default_factory
        self.json_name = json_name

    def named(self, name: str) -> Field:
        """The field with its name in JSON: camelCase, unless it was given another."""
        head, *rest = name.split("_")
        camel = head + "".join(part[:1].upper() + part[1:] for part in rest)
        return Field(self.default, self.default_factory, self.json_name or camel)

    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is Default.NONE and self.default_factory is None

    def get_default(self, *, call_default_factory: bool) -> Any:
        """What it is where nothing is given."""
        if self.default_factory is not None and call_default_factory:
            return self.default_factory()
        return self.default


def field(
    *,
    default: Any = Default.NONE,
    default_factory: Callable[[], Any] | None = None,
    json_name: str = "",
) -> Any:
    """Describe a field that needs more than a default."""
    return Field(default, default_factory, json_name)


class Limits:
    """What a number or a text must satisfy; named as pydantic names it."""

    def __init__(
        self,
        *,
        ge: int | None = None,
        gt: int | None = None,
        le: int | None = None,
        lt: int | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        pattern: str | None = None,
        strict: bool | None = None,
    ) -> None:
        """Keep the limits that are given."""
        self.told = {
            key: limit
            for key, limit in locals().items()
            if key != "self" and limit is not None
        }

    def allow(self, value: Any) -> bool:
        """Whether a value is within the limits."""
        return all(_ALLOWS[key](value, limit) for key, limit in self.told.items())


_ALLOWS: dict[str, Callable[[Any, Any], bool]] = {
    "ge": lambda value, limit: value >= limit,
    "gt": lambda value, limit: value > limit,
    "le": lambda value, limit: value <= limit,
    "lt": lambda value, limit: value < limit,
    "min_length": lambda value, limit: len(value) >= limit,
    "max_length": lambda value, limit: len(value) <= limit,
    "pattern": lambda value, limit: re.fullmatch(limit, value) is not None,
    "strict": lambda _value, _limit: True,
}


class Check:
    """A function that a value goes through: it returns it, or raises ValueError."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        """Check with this function."""
        self.function = function


def reader_of(hint: Any, base: type) -> Reader:
    """The quick check for a type; `base` is the class of all values."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _limited(reader_of(parts[0], base), parts[1:])
    if origin in (Union, UnionType):
        return _any_of([reader_of(part, base) for part in parts])
    if origin is Literal:
        return _one_of(parts)
    if origin is tuple:
        return _sequence(reader_of(parts[0], base))
    if origin is dict:
        return _mapping(reader_of(parts[1], base))
    return _simple(hint, base)


def _simple(hint: Any, base: type) -> Reader:
    if hint is Any:
        return lambda value: value
    if hint is str:
        return _text
    if issubclass(hint, Enum):
        return _member(hint)
    return _value(hint) if issubclass(hint, base) else _exactly(hint)


def _exactly(kind: type) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise NotPlain
        return value

    return read


def _text(value: Any) -> Any:
    if type(value) is not str:
        raise NotPlain
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotPlain from None
    return value


def _limited(read: Reader, rules: Sequence[Any]) -> Reader:
    def limited(value: Any) -> Any:
        value = read(value)
        for rule in rules:
            if isinstance(rule, Check):
                try:
                    value = rule.function(value)
                except ValueError:
                    raise NotPlain from None
            elif not rule.allow(value):
                raise NotPlain
        return value

    return limited


def _any_of(readers: list[Reader]) -> Reader:
    def read(value: Any) -> Any:
        for each in readers:
            try:
                return each(value)
            except NotPlain:
                pass
        raise NotPlain

    return read


def _one_of(choices: tuple[Any, ...]) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not str or value not in choices:
            raise NotPlain
        return value

    return read


def _sequence(read: Reader) -> Reader:
    def read_all(value: Any) -> Any:
        if type(value) not in (list, tuple):
            raise NotPlain
        return tuple([read(item) for item in value])

    return read_all


def _mapping(read: Reader) -> Reader:
    def read_all(value: Any) -> Any:
        if type(value) is not dict:
            raise NotPlain
        return {_text(key): read(part) for key, part in value.items()}

    return read_all


def _member(kind: type[Enum]) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not str and type(value) is not kind:
            raise NotPlain
        try:
            return kind(value)
        except ValueError:
            raise NotPlain from None

    return read


def _value(kind: Any) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is kind:
            return value
        if type(value) is not dict:
            raise NotPlain
        # What does not plainly fit is judged with all that is around it.
        kind._read(value)  # noqa: SLF001 - one class in two files
        return kind.model_validate(value)

    return read
