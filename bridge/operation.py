"""An operation, said once: what it does, and what it takes.

A function is an operation: people and models read its docstring, and its parameters are
the arguments. `Says` in an annotation explains one, and limits it:

    limit: Annotated[int, Says("How many at most.", least=1, most=500)] = 50

Tools over MCP and of our own loop, options of commands and calls of programs are made
from this. pydantic, which checks what is given, is loaded when something is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from inspect import Parameter, getdoc, signature
from types import UnionType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from bridge.errors import InvalidRequest
from bridge.hints import did_you_mean
from bridge.protocol.plain_json import JSONDecodeError, loads
from bridge.protocol.plain_types import camel_case
from bridge.protocol.record import first_problem
from bridge.protocol.wording import quoted

# Taken and not looked at: what was written for other systems says who calls.
IGNORED = ("session_id", "project")
NEEDED = Parameter.empty
_NONE: Mapping[str, Any] = {}


class Says(NamedTuple):
    """What is said of an argument, once for all surfaces.

    Attributes:
        text: what it is for, in a sentence.
        least: a number is not below this.
        most: a number is not above this; a text or a list is not longer.
        name: what tools call it, if that is not the parameter's name.
        also: what others call it.
        option: its name on the command line and what stands for its value, such as
            `--on TASK`; by default the name with dashes, and a word for its type.
        schema: the JSON Schema of its value, where its type does not tell.
    """

    text: str = ""
    least: float | None = None
    most: float | None = None
    name: str = ""
    also: tuple[str, ...] = ()
    option: str = ""
    schema: dict[str, Any] | None = None


class Argument(NamedTuple):
    """An argument: the parameter, its type, what is said of it, and its default."""

    parameter: str
    kind: Any
    says: Says
    default: Any

    @property
    def name(self) -> str:
        """What a tool calls it."""
        return self.says.name or self.parameter

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every name that it may be given by; that of results, too."""
        names = (self.name, *self.says.also, camel_case(self.name))
        return tuple(dict.fromkeys(names))

    @property
    def members(self) -> set[Any]:
        """The types that a value may have."""
        union = get_origin(self.kind) in (Union, UnionType)
        return {*get_args(self.kind)} if union else {self.kind}

    @property
    def is_needed(self) -> bool:
        """Whether there is no default."""
        return self.default is NEEDED


def about(deed: Callable[..., Any]) -> str:
    """What an operation does: its docstring, but for the part for programmers."""
    return (getdoc(deed) or "").partition("\n\nRaises:")[0]


def keys_of(content: type, defaults: Mapping[str, Any] = _NONE) -> Iterator[Argument]:
    """The keys of a TypedDict, as arguments; None by default, of a switch False."""
    for name, kind in get_type_hints(content, include_extras=True).items():
        is_switch = getattr(kind, "__origin__", kind) is bool
        yield _argument(name, kind, defaults.get(name, False if is_switch else None))


def arguments_of(
    deed: Callable[..., Any],
    *,
    without: Collection[str] = (),
    defaults: Mapping[str, Any] = _NONE,
) -> Iterator[Argument]:
    """A function's parameters after the first; `defaults` are those of its `**`."""
    hints = get_type_hints(deed, include_extras=True)
    for name, parameter in [*signature(deed).parameters.items()][1:]:
        if parameter.kind is Parameter.VAR_KEYWORD:
            (content,) = get_args(hints[name])
            yield from keys_of(content, defaults)
        elif name not in without:
            yield _argument(name, hints[name], parameter.default)


def _argument(name: str, kind: Any, default: Any) -> Argument:
    said = [each for each in getattr(kind, "__metadata__", ()) if type(each) is Says]
    bare = kind.__origin__ if said else kind
    return Argument(name, bare, said[0] if said else Says(), default)


class Operation:
    """A function as a tool: `deed` gets where it is called, then its arguments.

    One that `changes` nothing only reads. `without` are parameters that no caller
    gives.
    """

    def __init__(
        self,
        deed: Callable[..., Any],
        name: str = "",
        *,
        changes: bool = False,
        without: Collection[str] = (),
        defaults: Mapping[str, Any] = _NONE,
    ) -> None:
        self.deed = deed
        self.name = name or deed.__name__
        self.changes = changes
        self._given: Any = {"without": without, "defaults": defaults}

    @property
    def about(self) -> str:
        """What a model reads of it."""
        return about(self.deed)

    @cached_property
    def arguments(self) -> dict[str, Argument]:
        """What it takes, by name."""
        found = arguments_of(self.deed, **self._given)
        return {each.name: each for each in found}

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        schema: dict[str, Any] = self._model.model_json_schema()
        return {name: value for name, value in schema.items() if name != "title"}

    @cached_property
    def _model(self) -> Any:
        from pydantic import ConfigDict, create_model

        fields: Any = {_key(name): _field(a) for name, a in self.arguments.items()}
        strict = ConfigDict(extra="forbid", frozen=True)
        return create_model(self.name, __config__=strict, **fields)

    def wrong_names(self, names: Collection[str]) -> dict[str, str]:
        """What is wrong with the names of arguments, by name; what lacks by none."""
        spelt = {name: each.spellings for name, each in self.arguments.items()}
        known = {*IGNORED, *(one for names in spelt.values() for one in names)}
        found = {each: self._unknown(each) for each in names if each not in known}
        lacking = [
            name
            for name, each in self.arguments.items()
            if each.is_needed and not {*spelt[name]} & {*names}
        ]
        if lacking:
            found[""] = f"{self.name} needs {', '.join(lacking)}"
        return found

    def _unknown(self, name: str) -> str:
        known = [*self.arguments]
        hint = did_you_mean(name, known) or f"; known: {', '.join(known)}"
        return f"{self.name} has no argument {quoted(name)}{hint}"

    def checked(self, given: Mapping[str, Any]) -> Any:
        """The arguments of a call, as a value of the operation's own type.

        Raises:
            InvalidRequest: one is unknown, missing, or not what it must be.
        """
        from pydantic import ValidationError

        spelt = {one: a for a in self.arguments.values() for one in a.spellings}
        known = {
            name: _read(value, spelt[name]) if name in spelt else value
            for name, value in given.items()
            if name in spelt or name not in IGNORED
        }
        try:
            return self._model.model_validate(known)
        except ValidationError as exc:
            raise InvalidRequest(self._problem(exc)) from None

    def _problem(self, exc: Any) -> str:
        """What is wrong with arguments; a name that is misspelt first."""
        for each in exc.errors():
            if each["type"] == "extra_forbidden":
                return self._unknown(str(each["loc"][-1]))
        # A union has its members in the place, which say nothing to whoever calls.
        place, _, rest = first_problem(exc).partition(": ")
        return f"{self.name}: {place.partition('.')[0]}: {rest}"

    def call(self, where: Any, checked: Any) -> Any:
        """Do it, with checked arguments; those that are None count as not given."""
        given = {
            each.parameter: value
            for name, each in self.arguments.items()
            if (value := getattr(checked, _key(name))) is not None
        }
        return self.deed(where, **given)


def _key(name: str) -> str:
    """What an argument is called in the model: not as the model's own methods are."""
    from pydantic import BaseModel

    return f"{name}_" if hasattr(BaseModel, name) else name


def _read(value: Any, argument: Argument) -> Any:
    """A value; some clients write lists and objects as the text of their JSON."""
    if not isinstance(value, str) or str in argument.members:
        return value
    try:
        found = loads(value)
    except JSONDecodeError:
        return value
    return found if isinstance(found, list | dict) or found is None else value


def _field(argument: Argument) -> tuple[Any, Any]:
    """An argument as pydantic has it: its type, and all else."""
    from pydantic import AliasChoices, Field, WithJsonSchema

    _, kind, says, default = argument
    limits: Any = {"ge": says.least, "le": says.most}
    if not {int, float} & argument.members:
        limits = {"max_length": says.most}
    if says.schema:
        kind = Annotated[kind, WithJsonSchema(says.schema)]
    field = Field(
        ... if default is NEEDED else default,
        description=says.text or None,
        validation_alias=AliasChoices(*argument.spellings),
        **{name: limit for name, limit in limits.items() if limit is not None},
    )
    return (kind | None if default is None else kind), field
