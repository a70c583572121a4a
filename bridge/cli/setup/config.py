"""The settings, where each comes from, and changing what lasts.

What is set goes into a config.toml: this project's, if that has the setting already, or
else yours, for all your projects. A variable such as BRIDGE_SLOTS wins over both files,
and the project's file wins over yours. Open sessions obey new limits at once.

Changes are refused inside a Claude Code session: its model must not raise the limits
that its user set.

For example:
  hostbridge config
  hostbridge config set agents_per_hour 400
"""

import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path

from bridge.api.setting_files import Listed, Scope, SettingFiles
from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.options import option, switch
from bridge.cli.common.output import complain, say, say_json, say_result
from bridge.cli.common.verbs import Verbs
from bridge.cli.screen.screen import Line, screen_of
from bridge.cli.screen.table import Column, table
from bridge.config import TABLE
from bridge.protocol.wording import in_shell
from bridge.setting import number_text
from bridge.store.sessions import live_sessions
from bridge.store.store import Store

_COLUMNS = (
    Column("SETTING"),
    Column("VALUE", whole=True),
    Column("FROM"),
    Column("MEANING", least=20, spare=1),
)

_KEY = option("key", metavar="KEY", completes="settings", help="Which setting.")
_WHERE = (
    switch("--user", apart="file", help="Your own file, for all your projects."),
    switch("--project", apart="file", help="The file of this project."),
)
VERBS = Verbs()


@VERBS.add()
def _list(options: Namespace) -> int:
    """List all settings; the default."""
    files = SettingFiles(Path())
    listed = files.listed()
    if options.as_json:
        paths = {f"{scope}File": path for scope, path in files.paths.items()}
        say_json({"settings": listed, "problems": files.problems} | paths)
        return _warn(files)
    say(*list_lines(listed, screen_of(sys.stdout).width))
    if sys.stdout.isatty():
        for scope, path in files.paths.items():
            yet = "" if path.exists() else " (not there)"
            say(f"{scope} file: {path}{yet}")
    return _warn(files)


@VERBS.add(_KEY)
def _get(options: Namespace) -> int:
    """Print one value."""
    files = SettingFiles(Path())
    found = files.find(options.key)
    say_result(options, found, _words(found, is_short=False))
    return _warn(files)


@VERBS.add(
    _KEY,
    option("value", metavar="VALUE|-", help="To what; - reads it from stdin."),
    *_WHERE,
)
def _set(options: Namespace) -> int:
    """Set one, in a file."""
    text = options.value
    return _change(options, sys.stdin.readline().rstrip("\n") if text == "-" else text)


@VERBS.add(_KEY, *_WHERE)
def _unset(options: Namespace) -> int:
    """Take one out of a file again."""
    return _change(options, None)


def _change(options: Namespace, text: str | None) -> int:
    scope: Scope | None = None
    if options.user or options.project:
        scope = "user" if options.user else "project"
    key, path = SettingFiles(Path()).change(options.key, text, scope)
    done = f"no longer set in {path}" if text is None else f"set in {path}"
    after = SettingFiles(Path())
    if key not in TABLE:
        say_result(options, {"key": key, "value": None}, f"{key}: {done}")
        return _warn(after)
    found = after.find(key)
    words = f"{key} = {_words(found)}  ({found.source}; {done})"
    if any(file.path == path and not file.is_obeyed for file in after.files()):
        words = f"{key} is {done}, but nothing in that file counts until it is correct"
    say_result(options, found, words)
    _warn_of_others(after, found, path)
    return _warn(after)


def list_lines(listed: Iterable[Listed], width: int | None) -> Iterator[Line]:
    """The table of settings."""
    is_short = width is not None
    rows = [
        (each.key, _words(each, is_short=is_short), each.source, each.meaning)
        for each in listed
    ]
    return table(_COLUMNS, rows, width)


def _words(each: Listed, *, is_short: bool = True) -> str:
    """A value for people; in digits, which scripts can read, unless it `is_short`."""
    value = each.value
    if value is None or (value == "" and each.usual):
        return each.usual
    if isinstance(value, bool):
        return str(value).lower()
    return number_text(value) if is_short and isinstance(value, int) else str(value)


def _warn(files: SettingFiles) -> int:
    """Say what is wrong with the files; 2 if anything is."""
    for problem in files.problems:
        complain(problem)
    for file in files.files():
        if file.is_exposed and any(TABLE[key].is_secret for key in file.values):
            path = file.path
            complain(
                f"{path} holds a key, and others can read it: "
                f"{in_shell('chmod', '600', path)}"
            )
    return Exit.USAGE if files.problems else Exit.OK


def _warn_of_others(files: SettingFiles, found: Listed, path: Path) -> None:
    """Say what wins over the file that was changed."""
    if found.source == found.variable:
        complain(f"{found.variable} is set in this shell, and wins over {path}")
    elif found.source == "project file" and path != files.paths["project"]:
        complain(f"{files.paths['project']} wins over {path} in this project")
    for session in live_sessions(Store(files.place)):
        if session.limits and found.key in session.limits.by_variable:
            complain(
                f"session {session.session_id} was started with {found.variable}, "
                "which wins there; start it again without"
            )
