"""The fields of a value, and the quick check of what is put into them.

The quick check takes only the exact type, within its limits: whatever it takes,
pydantic would take unchanged. It raises `NotPlain` for everything else, and pydantic
decides.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

if TYPE_CHECKING:
    Reader = Callable[[Any], Any]


class NotPlain(Exception):
    """A value that the quick check cannot decide about."""


REQUIRED = object()


class Field:
    """One field of a value, with its name in JSON."""

    def __init__(
        self,
        default: Any = REQUIRED,
        default_factory: Callable[[], Any] | None = None,
        json_name: str = "",
        *,
        needed: bool = False,
    ) -> None:
        """Describe a field; without a default it is required.

        `needed`: a hostbridge that does not know it may not read a record that sets it
        (`bridge.protocol.record`).
        """
        self.default = default
        self.default_factory = default_factory
        self.json_name = json_name
        self.needed = needed

    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is REQUIRED and self.default_factory is None

    def get_default(self) -> Any:
        """The value if none is given."""
        return self.default_factory() if self.default_factory else self.default


def field(**description: Any) -> Any:
    """Describe a field that needs more than a default, as `Field` takes it."""
    return Field(**description)


def camel_case(name: str) -> str:
    """`a_name` as JSON has it: `aName`."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


_ALLOWS: dict[str, Callable[[Any, Any], bool]] = {
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "lt": operator.lt,
    "min_length": lambda value, limit: len(value) >= limit,
    "max_length": lambda value, limit: len(value) <= limit,
    "pattern": lambda value, limit: re.fullmatch(limit, value) is not None,
}


class Limits:
    """What a number or a text must satisfy: `ge=1`, `max_length=9`, as in pydantic."""

    def __init__(self, **limits: Any) -> None:
        """Keep the limits."""
        self.limits = limits
        self._allowed = [(_ALLOWS[key], limit) for key, limit in limits.items()]

    def __call__(self, value: Any) -> Any:
        """Return a value within the limits; raise ValueError for any other."""
        for allows, limit in self._allowed:
            if not allows(value, limit):
                raise ValueError(value)
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """What pydantic makes of the type, with the same limits."""
        return {**handler(source), **self.limits}


class Check:
    """A rule in words of its own: it returns the value, or raises ValueError."""

    def __init__(self, rule: Callable[[Any], Any]) -> None:
        """Keep the rule."""
        self.rule = rule

    def __call__(self, value: Any) -> Any:
        """Apply the rule."""
        return self.rule(value)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """What pydantic makes of the type, and the rule after it."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self.rule, handler(source))


class Renamed:
    """The old names of a value, as earlier versions wrote them, and the new ones."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """Keep the names."""
        self.names = names

    def __call__(self, value: Any) -> Any:
        """Return a value that has a new name already."""
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """The rule before what pydantic makes of the type."""
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(
            lambda value: self.names.get(str(value), value), handler(source)
        )


def reader_of(hint: Any, base: type) -> Reader:
    """The quick check for a type; `base` is the class of all values."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _limited(reader_of(parts[0], base), parts[1:])
    if origin in (Union, UnionType):
        return _any_of([reader_of(part, base) for part in parts])
    if origin is Literal:
        return _plain(lambda value: type(value) is str and value in parts)
    if origin is tuple:
        return _sequence(reader_of(parts[0], base))
    if origin is dict:
        return _mapping(reader_of(parts[1], base))
    if hint is Any:
        return lambda value: value
    if hint is str:
        return _text
    if issubclass(hint, Enum):
        return _member(hint)
    if issubclass(hint, base):
        return _value(hint)
    return _plain(lambda value: type(value) is hint)


def _plain(is_plain: Callable[[Any], bool]) -> Reader:
    def read(value: Any) -> Any:
        if not is_plain(value):
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


def _limited(read: Reader, rules: Sequence[Reader]) -> Reader:
    def limited(value: Any) -> Any:
        value = read(value)
        try:
            for rule in rules:
                value = rule(value)
        except ValueError:
            raise NotPlain from None
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
        if type(value) not in (str, kind):
            raise NotPlain
        try:
            return kind(value)
        except ValueError:
            raise NotPlain from None

    return read


def _value(kind: Any) -> Reader:
    def read(value: Any) -> Any:
        # pydantic must judge the whole of which this is a part: no conversion here.
        if type(value) is not kind and not kind.fits(value):
            raise NotPlain
        return kind.model_validate(value)

    return read
