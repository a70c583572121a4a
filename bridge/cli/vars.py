"""The variables of a session: what its rules read, and who may change it.

Without a word, all of them. A variable that a rules file declares belongs to you: a
model can set only what nobody declares. NAME:=null switches off what a rule asks for.
They outlive /clear, --resume and compaction. Inside an agent they are its own.

For example:
  hostbridge vars
  hostbridge vars set validation_model:=null task=rename
"""

import sys
from argparse import Namespace
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.api.variables import Variables
from bridge.cli.exit_codes import Exit
from bridge.cli.inputs import read_pairs
from bridge.cli.options import AS_JSON, option
from bridge.cli.output import json_text, say, say_json, short_path, visible
from bridge.cli.screen import screen_of
from bridge.cli.table import Column, table
from bridge.errors import InvalidRequest

_COLUMNS = (Column("NAME", least=12), Column("VALUE", least=12), Column("FROM"))

OPTIONS = (
    option(
        "what",
        metavar="list|get|set|unset",
        nargs="?",
        choices=("list", "get", "set", "unset"),
        default="list",
        help="What to do; list by default.",
    ),
    option("names", metavar="NAME|NAME=VALUE", nargs="*", help="Which, and to what."),
    option(
        "--session",
        metavar="ID",
        completes="sessions",
        help="Which session, if several are open; the beginning of its id is enough.",
    ),
    AS_JSON,
)


def command(options: Namespace) -> int:
    """List, get, set or unset; returns the exit code."""
    bridge = Bridge.open()
    variables = Variables.open(bridge.store, bridge.settings, options.session, "person")
    names: list[str] = options.names
    if options.what == "list":
        _list(variables, options)
        return Exit.OK
    if not names:
        raise InvalidRequest(f"{options.what} which one? see: hostbridge vars")
    if options.what == "get":
        return _get(variables, names, as_json=options.as_json)
    if options.what == "set":
        values = read_pairs("vars set", names)
        names = list(values)
        variables.change(values)
    else:
        variables.unset(*names)
    known = variables.all()
    for name in names:
        value = json_text(known[name]) if name in known else "not set"
        say(f"{visible(name)} = {value}")
    return Exit.OK


def _list(variables: Variables, options: Namespace) -> None:
    known = variables.known()
    if options.as_json:
        for name, each in known.items():
            say_json({"name": name, "value": each.value, "owner": each.owner})
        return
    width = screen_of(sys.stdout).width
    rows = []
    for name, each in known.items():
        origin = variables.origin(name)
        if width is not None and origin.startswith("/"):
            origin = short_path(Path(origin))
        rows.append((visible(name), json_text(each.value), visible(origin)))
    say(*table(_COLUMNS, rows, width))


def _get(variables: Variables, names: list[str], *, as_json: bool) -> int:
    """Print the values, a text as it is; exit code 1 if one is not there."""
    known = variables.all()
    for name in names:
        value = known.get(name)
        if isinstance(value, str) and not as_json:
            say(visible(value, kept="\n\t"))
        else:
            say(json_text(value))
    return Exit.OK if all(name in known for name in names) else Exit.FAILED
