"""Commands with verbs, such as `hostbridge task claim 42`; options said by operations.

A module with `VERBS` is such a command: its first verb is the default.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from bridge.cli.numbers import MOST, number
from bridge.cli.options import AS_JSON, Option, option, switch
from bridge.cli.parser import UsageError
from bridge.operation import Argument, about

Deed = Callable[[Namespace], int]


class Verb(NamedTuple):
    """What a command can do: a line of help, the deed, and what it takes."""

    about: str
    run: Deed
    options: tuple[Option, ...]


class Verbs(dict[str, Verb]):
    """The verbs of a command, in the order of its help; each takes --json."""

    def add(self, *options: Option) -> Callable[[Deed], Deed]:
        """Make a function the verb of its name; the docstring is the line of help."""

        def added(deed: Deed) -> Deed:
            line = about(deed).partition("\n\n")[0]
            self[deed.__name__.strip("_")] = Verb(line, deed, (*options, AS_JSON))
            return deed

        return added


def options_of(module: ModuleType) -> tuple[Option, ...]:
    """Every option of a command, those of its verbs each once."""
    verbs: dict[str, Verb] = getattr(module, "VERBS", {})
    of_verbs = {o.names: o for verb in verbs.values() for o in verb.options}
    return (*getattr(module, "OPTIONS", ()), *of_verbs.values())


def option_of(argument: Argument) -> Option:
    """The option that stands for an argument of an operation."""
    members, says = argument.members, argument.says
    name = _name(argument)
    settings: dict[str, Any] = {"help": says.text}
    if bool in members:
        return switch(name, **settings)
    words = [w for m in members if get_origin(m) is Literal for w in get_args(m)]
    if any(get_origin(member) is list for member in members):
        settings["action"] = "append"
    if words:
        return option(name, choices=[w for w in words if type(w) is str], **settings)
    if int in members and str not in members:
        type_ = number(int(says.least or 0), int(says.most or MOST))
        return option(name, metavar="N", type=type_, **settings)
    value = _value(argument)
    completes = "tasks" if value.startswith("TASK") else ""
    return option(name, metavar=value, completes=completes, **settings)


def _name(argument: Argument) -> str:
    said = argument.says.option.split()
    usual = f"--{argument.parameter.replace('_', '-')}"
    return next((word for word in said if word.startswith("--")), usual)


def _value(argument: Argument) -> str:
    """What stands for its value in the help: a task may be named by its number."""
    usual = "TASK" if int in argument.members else "TEXT"
    said = argument.says.option.split()
    return next((word for word in said if not word.startswith("--")), usual)


def given_in(options: Namespace, arguments: Iterable[Argument]) -> dict[str, Any]:
    """The arguments of an operation that were given as options.

    Raises:
        UsageError: one that is needed was not.
    """
    found = {}
    for each in arguments:
        name = _name(each)
        value = getattr(options, name[2:].replace("-", "_"))
        if value is not None:
            found[each.parameter] = value
        elif each.is_needed:
            prog = options.prog
            raise UsageError(
                f"{prog.removeprefix('hostbridge ')} needs {name}; see `{prog} --help`"
            )
    return found
