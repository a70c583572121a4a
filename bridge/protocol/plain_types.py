"""The fields of a value, and one reader for each type that a field may have.

A reader returns what it is given, as the field keeps it, or raises `InvalidValue`,
which says where and what was expected. Nothing is converted but a whole number: `1.0`
is an integer, as in JSON Schema, and `1` a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from re import fullmatch
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from bridge.protocol.wording import one_line

Reader = Callable[[Any], Any]
REQUIRED = object()
# How much of an invalid choice is quoted.
QUOTED_CHARS = 40
# From here on, not every whole number is a float.
_LARGE = 2**53


class InvalidValue(ValueError):
    """A value does not have its type; `str()` says so in one line, place first."""

    def __init__(self, expected: str, *place: object) -> None:
        where = one_line(".".join(map(str, place))) or "the object"
        super().__init__(f"{where}: {expected}")
        self.expected = expected
        self.place = place

    def below(self, step: object) -> InvalidValue:
        """The same, in the whole that has this value at `step`."""
        return InvalidValue(self.expected, step, *self.place)


class Field(NamedTuple):
    """One field of a value, with its name in JSON; without a default it is required.

    `needed`: a hostbridge that does not know it may not read a record that sets it
    (`bridge.protocol.record`).
    """

    default: Any = REQUIRED
    default_factory: Callable[[], Any] | None = None
    json_name: str = ""
    needed: bool = False

    def get_default(self) -> Any:
        """The value if none is given; `REQUIRED` if one must be."""
        return self.default_factory() if self.default_factory else self.default


def field(**description: Any) -> Any:
    """Describe a field that needs more than a default, as `Field` takes it."""
    return Field(**description)


def camel_case(name: str) -> str:
    """`a_name` as JSON has it: `aName`."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


# Whether a value is within a limit, and the message if it is not.
_LIMITS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "ge": (lambda value, limit: value >= limit, "must be greater than or equal to {}"),
    "gt": (lambda value, limit: value > limit, "must be greater than {}"),
    "le": (lambda value, limit: value <= limit, "must be less than or equal to {}"),
    "lt": (lambda value, limit: value < limit, "must be less than {}"),
    "min_length": (
        lambda value, limit: len(value) >= limit,
        "string should have at least {} character",
    ),
    "max_length": (
        lambda value, limit: len(value) <= limit,
        "string should have at most {} characters",
    ),
    "pattern": (
        lambda value, limit: fullmatch(limit, value) is not None,
        "string should match pattern '{}'",
    ),
}


class Limits:
    """A rule for a number or a text: `ge=1`, `max_length=9`, as in pydantic."""

    def __init__(self, **limits: Any) -> None:
        """Keep the limits."""
        self.limits = limits
        self._rules = [(*_LIMITS[key], limit) for key, limit in limits.items()]

    def __call__(self, value: Any) -> Any:
        """Return a value within the limits; raise ValueError for any other."""
        for allows, words, limit in self._rules:
            if not allows(value, limit):
                raise ValueError(words.format(limit))
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """What pydantic makes of the type, with the same limits."""
        return {**handler(source), **self.limits}


def reader_of(hint: Any, base: type) -> Reader:
    """The reader of a type; `base` is the class of all values.

    What a type is `Annotated` with are rules: each returns the value, perhaps changed,
    or raises ValueError.
    """
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: value
    if origin is Annotated:
        return _with_rules(parts[0], hint.__metadata__, base)
    if origin is Literal:
        return _choice({each: each for each in parts})
    if origin is tuple:
        return _tuple(reader_of(parts[0], base))
    if origin is dict:
        return _dict(reader_of(parts[1], base))
    if NoneType in parts:
        read = reader_of(parts[parts[0] is NoneType], base)
        return lambda value: None if value is None else read(value)
    if issubclass(hint, Enum):
        return _choice({each.value: each for each in hint})
    if issubclass(hint, base):
        return hint.model_validate  # type: ignore[no-any-return]
    return _with_rules(hint, (), base)


def _with_rules(hint: Any, rules: tuple[Reader, ...], base: type) -> Reader:
    read = _PLAIN[hint] if hint in _PLAIN else reader_of(hint, base)
    if hint is str:
        # Last: a rule may mend it.
        rules = (*rules, _check_unicode)

    def read_by_rules(value: Any) -> Any:
        value = read(value)
        try:
            for rule in rules:
                value = rule(value)
        except ValueError as exc:
            raise InvalidValue(str(exc)) from None
        return value

    return read_by_rules if rules else read


def _check_unicode(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("expected valid Unicode") from None
    return value


def _plain(kind: type, expected: str) -> Reader:
    def read(value: Any) -> Any:
        # Not by `isinstance`: to Python, `True` is a number.
        if type(value) is not kind:
            raise InvalidValue(f"expected {expected}")
        return value

    return read


def _integer(value: Any) -> int:
    if type(value) is float and value.is_integer() and abs(value) < _LARGE:
        return int(value)
    if type(value) is not int:
        raise InvalidValue("expected an integer")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise InvalidValue("expected a number")
    return float(value)


_PLAIN: dict[Any, Reader] = {
    bool: _plain(bool, "true or false"),
    str: _plain(str, "a string"),
    int: _integer,
    float: _number,
}


def _choice(values: Mapping[Any, Any]) -> Reader:
    *others, last = map(repr, values)
    expected = f"must be {', '.join(others)} or {last}" if others else f"must be {last}"

    def read(value: Any) -> Any:
        if isinstance(value, str) and value in values:
            return values[value]
        found = f", not {value[:QUOTED_CHARS]!r}" if isinstance(value, str) else ""
        raise InvalidValue(expected + found)

    return read


def _tuple(read: Reader) -> Reader:
    def read_all(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise InvalidValue("expected a list")
        return tuple([read_at(read, step, part) for step, part in enumerate(value)])

    return read_all


def _dict(read: Reader) -> Reader:
    def read_all(value: Any) -> Any:
        if not isinstance(value, dict):
            raise InvalidValue("expected an object")
        return {key(step): read_at(read, step, part) for step, part in value.items()}

    key = _with_rules(str, (), Enum)
    return read_all


def read_at(read: Reader, step: object, part: Any) -> Any:
    """Read a part; an error says that it stands at `step`."""
    try:
        return read(part)
    except InvalidValue as exc:
        raise exc.below(step) from None
