"""Commands with verbs, such as `hostbridge task claim 42`; options said by operations.

A module with `VERBS` is such a command: its first verb is the default.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, Literal, NamedTuple, get_args, get_origin

from bridge.cli.common.options import AS_JSON, Option, option, switch
from bridge.cli.common.parser import UsageError
from bridge.cli.screen.durations import duration
from bridge.cli.screen.numbers import MOST, number
from bridge.operation import Argument, about

# What a shell offers for a value, by the word that stands for it.
_COMPLETES = {"AGENT": "agents", "TASK": "tasks", "TASK|none": "tasks"}
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


def option_of(argument: Argument, heading: str = "Options", **more: Any) -> Option:
    """The option that stands for an argument of an operation."""
    members, says, name = argument.members, argument.says, _name(argument)
    settings: dict[str, Any] = {"heading": heading, "help": says.text}
    if bool in members:
        return switch(name, **settings | more)
    words = [w for m in members if get_origin(m) is Literal for w in get_args(m)]
    said = [word for word in says.option.split() if not word.startswith("--")]
    if any(get_origin(member) is list for member in members):
        settings["action"] = "append"
    if words:
        settings["choices"] = [word for word in words if isinstance(word, str)]
    elif timedelta in members:
        settings |= {"metavar": "TIME", "type": duration()}
    elif int in members and str not in members:
        type_ = number(int(says.least or 0), int(says.most or MOST))
        settings |= {"metavar": "N", "type": type_}
    else:
        value = said[0] if said else "TASK" if int in members else "TEXT"
        settings |= {"metavar": value, "completes": _COMPLETES.get(value, "")}
    return option(name, **settings | more)


def _name(argument: Argument) -> str:
    usual = argument.parameter.removesuffix("_s").replace("_", "-")
    words = argument.says.option.split()
    return next((word for word in words if word.startswith("--")), f"--{usual}")


def given_in(options: Namespace, arguments: Iterable[Argument]) -> dict[str, Any]:
    """The arguments of an operation that were given as options.

    Raises:
        UsageError: one that is needed was not.
    """
    found = {}
    for each in arguments:
        name = _name(each)
        value = getattr(options, name[2:].replace("-", "_"), None)
        if value is not None:
            found[each.parameter] = value
        elif each.is_needed:
            prog = options.prog
            raise UsageError(
                f"{prog.removeprefix('hostbridge ')} needs {name}; see `{prog} --help`"
            )
    return found
