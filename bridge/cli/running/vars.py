"""The variables of a session: what its rules read, and who may change it.

A variable that a rules file declares belongs to you: a model can set only what nobody
declares. They outlive /clear, --resume and compaction. Inside an agent they are its
own.

For example:
  hostbridge vars
  hostbridge vars set validation_model:=null task=rename
"""

import sys
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path

from bridge.api.bridge import Bridge
from bridge.api.variables import Variables
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.inputs import read_pairs
from bridge.cli.common.options import option
from bridge.cli.common.output import json_text, say, say_json, short_path, visible
from bridge.cli.common.verbs import Verbs
from bridge.cli.screen.screen import screen_of
from bridge.cli.screen.table import Column, table

_COLUMNS = (Column("NAME", least=12), Column("VALUE", least=12), Column("FROM"))

_SESSION = option(
    "--session",
    metavar="ID",
    completes="sessions",
    help="Which session, if several are open; the beginning of its id is enough.",
)
_NAMES = option("names", metavar="NAME", nargs="+", help="Which.")
VERBS = Verbs()


def _open(options: Namespace) -> Variables:
    bridge = Bridge.open()
    return Variables.open(bridge.store, bridge.settings, options.session, "person")


@VERBS.add(_SESSION)
def _list(options: Namespace) -> int:
    """List all of them; the default."""
    variables = _open(options)
    known = variables.known()
    if options.as_json:
        for name, each in known.items():
            say_json({"name": name, "value": each.value, "owner": each.owner})
        return Exit.OK
    width = screen_of(sys.stdout).width
    rows = []
    for name, each in known.items():
        origin = variables.origin(name)
        if width is not None and origin.startswith("/"):
            origin = short_path(Path(origin))
        rows.append((visible(name), json_text(each.value), visible(origin)))
    say(*table(_COLUMNS, rows, width))
    return Exit.OK


@VERBS.add(_NAMES, _SESSION)
def _get(options: Namespace) -> int:
    """Print values, a text as it is; exit code 1 if one is not there."""
    names, known = options.names, _open(options).all()
    for name in names:
        value = known.get(name)
        if isinstance(value, str) and not options.as_json:
            say(visible(value, kept="\n\t"))
        else:
            say(json_text(value))
    return Exit.OK if all(name in known for name in names) else Exit.FAILED


_VALUE = "NAME:=JSON for what is no text; null switches off what a rule asks for."


@VERBS.add(option("names", metavar="NAME=VALUE", nargs="+", help=_VALUE), _SESSION)
def _set(options: Namespace) -> int:
    """Set variables, and print them."""
    variables, values = _open(options), read_pairs("vars set", options.names)
    variables.change(values)
    return _tell(variables, values)


@VERBS.add(_NAMES, _SESSION)
def _unset(options: Namespace) -> int:
    """Have variables be as they were first."""
    variables = _open(options)
    variables.unset(*options.names)
    return _tell(variables, options.names)


def _tell(variables: Variables, names: Iterable[str]) -> int:
    known = variables.all()
    for name in names:
        value = json_text(known[name]) if name in known else "not set"
        say(f"{visible(name)} = {value}")
    return Exit.OK
