"""Complete commands, options, agents' names and request ids with the Tab key.

Prints a script for your shell. For every new shell, put one line into its profile:

  # ~/.bashrc
  eval "$(hostbridge completion bash)"

  # ~/.zshrc, below compinit
  eval "$(hostbridge completion zsh)"

  # ~/.config/fish/config.fish
  hostbridge completion fish | source

The script asks hostbridge for names and ids when you press Tab.

For example:
  hostbridge completion bash
  eval "$(hostbridge completion bash)"
"""

import argparse
import re
from argparse import Namespace
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.cli.commands import COMMANDS, module_of
from bridge.cli.common.options import COMMON, Option, option
from bridge.cli.common.output import say
from bridge.cli.common.parser import UsageError

_SHELLS = ("bash", "zsh", "fish")
_IDS_SHOWN = 50
_PLAIN = re.compile(r"[\w.:@/+-]+")


def _agents(bridge: Bridge) -> Iterator[str]:
    from bridge.agents.known_agents import BUILT_IN
    from bridge.agents.registry import Registry

    registry = Registry.open(bridge.settings, bridge.store.place.project)
    yield from sorted({*BUILT_IN, *registry.names()})


def _ids(bridge: Bridge) -> Iterator[str]:
    """The newest, of those that sort by time."""
    from bridge.cli.common.which_request import all_ids

    yield from sorted(all_ids(bridge), reverse=True)[:_IDS_SHOWN]


def _questions(bridge: Bridge) -> Iterator[str]:
    """The ids of all that waits for a reply."""
    from bridge.api.inbox import inbox

    yield from (each.id for each in inbox(bridge.store))


def _settings(_: Bridge, /) -> Iterator[str]:
    """What can be set."""
    from bridge.config import TABLE

    yield from (key for key, each in TABLE.items() if not each.only_variable)


def _models(bridge: Bridge) -> Iterator[str]:
    from bridge.agents.files import MODELS_FOLDER
    from bridge.protocol.names import MODEL_FILE, MODEL_NAMES

    yield from sorted(MODEL_NAMES)
    for file in sorted(
        Path(bridge.settings.home, MODELS_FOLDER).glob(f"*{MODEL_FILE}")
    ):
        yield file.name


def _records(_: Bridge, /) -> Iterator[str]:
    from bridge.api.record_schemas import schema_names

    yield from schema_names()


def _downloads(_: Bridge, /) -> Iterator[str]:
    """What `models pull` takes by a short name."""
    from bridge.llama.recommended import RECOMMENDED

    yield from RECOMMENDED


def _sessions(bridge: Bridge) -> Iterator[str]:
    from bridge.store.sessions import live_sessions

    if bridge.store.exists():
        yield from (session.session_id for session in live_sessions(bridge.store))


def _tasks(bridge: Bridge) -> Iterator[str]:
    """The numbers of those that are not closed, without the mark of a comment."""
    if bridge.tasks.database.exists():
        found = bridge.tasks.list(status=("open", "in_progress", "needs_review"))
        yield from (str(task.number) for task in found)


# What the script asks for.
_NAMES: dict[str, Callable[[Bridge], Iterator[str]]] = {
    "agents": _agents,
    "downloads": _downloads,
    "ids": _ids,
    "models": _models,
    "questions": _questions,
    "records": _records,
    "sessions": _sessions,
    "settings": _settings,
    "tasks": _tasks,
}

USAGE = "|".join(_SHELLS)
OPTIONS = (
    option(
        "what",
        metavar=USAGE,
        help="Your shell.",
    ),
)


def command(options: Namespace) -> None:
    """Print a shell's script, or what the script asks for."""
    names = _NAMES.get(options.what)
    if names is not None:
        # The shell's script evaluates what is printed here, and splits it at blanks.
        say("\n".join(filter(_PLAIN.fullmatch, names(Bridge.open()))))
        return
    if options.what not in _SHELLS:
        expected = ", ".join(_SHELLS)
        raise UsageError(f"completion: expected {expected}, got {options.what!r}")
    import shtab

    say(shtab.complete(_whole_parser(), options.what))


def _whole_parser() -> argparse.ArgumentParser:
    """All commands as one parser, which is only looked at."""
    parser = argparse.ArgumentParser("hostbridge", add_help=False)
    _add(parser, COMMON)
    commands = parser.add_subparsers()
    for name, line in COMMANDS.items():
        one = commands.add_parser(name, help=line, description=line, add_help=False)
        module = import_module(module_of(name))
        _add(one, (*getattr(module, "OPTIONS", ()), *COMMON))
        if verbs := getattr(module, "VERBS", {}):
            below = one.add_subparsers()
            for verb, (about, _, options) in verbs.items():
                _add(below.add_parser(verb, help=about, add_help=False), options)
    return parser


def _add(parser: argparse.ArgumentParser, options: tuple[Option, ...]) -> None:
    import shtab

    files = {"file": shtab.FILE, "directory": shtab.DIRECTORY}
    for each in options:
        action = parser.add_argument(*each.names, **each.settings)
        if each.names == ("what",) and parser.prog.endswith("completion"):
            action.choices = _SHELLS
        elif each.completes == "routes":
            action.choices = ("auto", "host", "claude", "local", "endpoint")
        elif each.completes:
            asked = shtab.cmd(f"hostbridge completion {each.completes} 2>/dev/null")
            action.complete = files.get(each.completes, asked)  # type: ignore[attr-defined]
