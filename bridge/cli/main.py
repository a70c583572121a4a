"""The `hostbridge` command: finds the command's module, and the exit code of its error.

A command's module is imported when it is called: starting fast is a promise.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from bridge.cli.exit_codes import Exit, exit_code
from bridge.errors import BridgeError

if TYPE_CHECKING:
    from pathlib import Path

# One line each for `hostbridge --help`, in the order of use.
COMMANDS = {
    "ask": "Ask an agent and print its answer.",
    "submit": "Ask without waiting; prints the request id.",
    "wait": "Wait for requests, as they are completed.",
    "cancel": "Cancel a request; a running agent is stopped.",
    "respond": "Answer a request by hand.",
    "status": "What waits, what runs, which sessions are open.",
    "show": "One request's whole story.",
    "where": "Where the state of this project lies, and why.",
    "install": "Register the hooks with Claude Code.",
    "uninstall": "Remove the hooks; other settings stay as they are.",
    "doctor": "Look for what is wrong, with cause and cure.",
    "off": "Stop everything at once, here or in one session.",
    "on": "Go on after `off`.",
    "schema": "Print the JSON Schema of a record.",
    "prune": "Remove finished requests by age and size.",
    "hook": "What the hook executables call.",
}


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        sys.exit(run(sys.argv[1:]))
    except BrokenPipeError:
        # The reader has gone; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(Exit.FAILED)


def run(arguments: list[str]) -> int:
    """Run one command; returns the exit code."""
    name = arguments[0] if arguments else "--help"
    if name in ("--version", "-V"):
        return _version()
    if name in ("--help", "-h"):
        return _help()
    if name not in COMMANDS:
        return _unknown(name)
    import typer

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    module = import_module(f"bridge.cli.{name}")
    app.command(name, help=module.__doc__)(module.command)
    try:
        result = app(
            arguments[1:], prog_name=f"hostbridge {name}", standalone_mode=False
        )
    except BridgeError as exc:
        print(f"hostbridge: {exc}", file=sys.stderr)
        return exit_code(exc)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as exc:  # noqa: BLE001 - the top: usage errors and our own bugs
        return _usage_or_bug(exc)
    return int(result or 0)


def _usage_or_bug(exc: Exception) -> int:
    show = getattr(exc, "show", None)
    if show is not None:
        show()
        return Exit.USAGE
    if type(exc).__name__ in ("Abort", "Exit"):
        return int(getattr(exc, "exit_code", Exit.INTERRUPTED))
    path = _log_bug()
    print(f"hostbridge: a bug: {exc!r}; the log is {path}", file=sys.stderr)
    return Exit.BUG


def _log_bug() -> Path:
    import tempfile
    import traceback
    from pathlib import Path

    with tempfile.NamedTemporaryFile(
        "w", prefix="hostbridge-", suffix=".log", delete=False
    ) as log:
        log.write(f"{sys.version}\n{sys.argv}\n{traceback.format_exc()}")
    return Path(log.name)


def _help() -> int:
    print("hostbridge: ask the agent session that is already open\n")
    width = max(map(len, COMMANDS))
    for name, line in COMMANDS.items():
        print(f"  {name:<{width}}  {line}")
    print("\n  hostbridge COMMAND --help tells more. For a start:\n")
    print("    hostbridge install && hostbridge doctor")
    print('    hostbridge ask general-purpose "Which modules lack tests?"')
    return Exit.OK


def _unknown(name: str) -> int:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else "see `hostbridge --help`"
    print(f"hostbridge: no command {name!r}; {hint}", file=sys.stderr)
    return Exit.USAGE


def _version() -> int:
    from importlib.metadata import version

    print(f"hostbridge {version('hostbridge')}")
    return Exit.OK
