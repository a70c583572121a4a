"""The `hostbridge` command: runs a command's module, and turns errors into exit codes.

A command is a module with a function `command` (see `commands`); its docstring is the
help, and ends with two examples. It is imported only when it is called, so that every
command starts fast. With `--json`, an error is also one object on stdout.
"""

import gc
import os
import sys
from importlib import import_module
from typing import Any

from bridge.cli.commands import COMMANDS, GROUPS, OLDER, module_of
from bridge.cli.common.exit_codes import Exit
from bridge.errors import BridgeError, reason_of

_HELP = """\
hostbridge: ask the Claude Code session that is already open

Usage: hostbridge [-C DIR] COMMAND [ARGUMENTS] [OPTIONS]

To start:
  hostbridge install        # once, in your project
  claude                    # in another terminal: a session
  hostbridge ask "Which modules lack tests?"

{commands}

`hostbridge COMMAND --help` says more about a command.\
"""


def main() -> None:
    """Run the command line and exit with its code."""
    _print_anything()
    # Most of what a command allocates lives until its end: collect garbage less often.
    gc.set_threshold(100_000)
    arguments = sys.argv[1:]
    try:
        code = run(arguments)
        sys.stdout.flush()
    except OSError as exc:
        code = _machine(exc, arguments)
    except KeyboardInterrupt as exc:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)
        from bridge.cli.common.error_report import report_other

        # The notes say what becomes of the requests.
        message = "; ".join(["interrupted", *getattr(exc, "__notes__", ())])
        request_id = getattr(exc, "request_id", None)
        report_other("interrupted", message, arguments, request_id)
        # Not by sys.exit: an interpreter that was interrupted inside an `exec`, which
        # dataclasses use, ends by killing itself with SIGINT.
        os._exit(Exit.INTERRUPTED)
    # The process ends: a last garbage collection takes longer than many commands.
    gc.freeze()
    sys.exit(code)


def _machine(error: OSError, arguments: list[str]) -> int:
    """Report that the disk is full, a file is not ours, a pipe has no reader."""
    from bridge.cli.common.error_report import report_other

    why = reason_of(error)
    message = f"{error.filename}: {why}" if error.filename else why
    try:
        sys.stdout.flush()
    except OSError:
        # Python would try to write the rest again at the end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if not isinstance(error, BrokenPipeError):
        report_other("os_error", message, arguments)
    return Exit.FAILED


def _print_anything() -> None:
    """Let no closed stream and no limited encoding be a reason to fail."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for life
        else:
            stream.reconfigure(errors="backslashreplace")


def run(arguments: list[str]) -> int:
    """Run one command; returns the exit code."""
    try:
        return _run(arguments)
    except BridgeError as exc:
        from bridge.cli.common.error_report import report

        return report(exc, arguments)
    except OSError:
        raise
    except Exception as exc:  # noqa: BLE001 - the top: a bug of ours
        return _bug(exc, arguments)


def _run(arguments: list[str]) -> int:
    name = arguments[0] if arguments else "--help"
    if name in ("-C", "--directory"):
        _go_to(arguments[1:2])
        return _run(arguments[2:])
    if name in ("--version", "-V"):
        return _version()
    if name == "help" and arguments[1:]:
        arguments = [arguments[1], "--help"]
        name = arguments[0]
    if name in ("--help", "-h", "help"):
        return _help()
    if name not in COMMANDS:
        raise _unknown(name, arguments[1:])
    return _call(name, arguments[1:])


def _go_to(folders: list[str]) -> None:
    """Go to a folder, as if the command had been started there; then to the next."""
    from bridge.cli.common.parser import UsageError

    if not folders:
        raise UsageError(
            "-C: expected a folder, then the command; see `hostbridge --help`"
        )
    for folder in folders:
        try:
            os.chdir(folder)
        except OSError as exc:
            why = os.strerror(exc.errno or 0).lower()
            raise UsageError(f"-C {folder}: {why}; give the path of a folder") from None


def _call(name: str, arguments: list[str]) -> int:
    from bridge.cli.common.parser import is_help, parse, parse_verb

    module = import_module(module_of(name))
    prog = f"hostbridge {name}"
    verbs: dict[str, Any] = getattr(module, "VERBS", {})
    if is_help(arguments):
        from bridge.cli.common.help_text import help_text, verb_help
        from bridge.cli.common.output import say

        verb = next((word for word in arguments if word in verbs), None)
        say(verb_help(prog, verb, verbs[verb]) if verb else help_text(prog, module))
        return Exit.OK
    if verbs:
        options = parse_verb(prog, {n: v.options for n, v in verbs.items()}, arguments)
        command = verbs[options.verb].run
    else:
        options = parse(prog, module.OPTIONS, arguments)
        command = module.command
    if options.no_color:
        from bridge.config import forbid_colour

        forbid_colour()
    if options.directory:
        _go_to(options.directory)
    if name in OLDER and sys.stderr.isatty():
        from bridge.cli.common.output import complain

        complain(f"`{prog}` is the older spelling of `hostbridge {OLDER[name]}`")
    return int(command(options) or 0)


def _bug(exc: Exception, arguments: list[str]) -> int:
    from bridge.cli.common.crash_report import log_bug
    from bridge.cli.common.error_report import report_other

    message = f"a bug of hostbridge: {exc!r}; please report it with {log_bug(exc)}"
    report_other("bug", message, arguments)
    return Exit.BUG


def _help() -> int:
    from bridge.cli.common.help_text import table
    from bridge.cli.common.output import say

    width = max(len(name) for group in GROUPS.values() for name in group)
    parts = [
        f"{heading}:\n{table(group.items(), left_width=width)}"
        for heading, group in GROUPS.items()
    ]
    say(_HELP.format(commands="\n\n".join(parts)))
    return Exit.OK


def _unknown(name: str, others: list[str]) -> BridgeError:
    """The error for a word that is no command."""
    import shlex

    from bridge.cli.common.parser import UsageError
    from bridge.hints import close

    if name.startswith("-"):
        command = next((word for word in others if word in COMMANDS), None)
        if command is None:
            return UsageError(f"no option {name!r}; see `hostbridge --help`")
        others.remove(command)
        moved = shlex.join([command, name, *others])
        return UsageError(f"options come after the command: hostbridge {moved}")
    near = [] if " " in name else close(name, COMMANDS, most=2)
    has_words = bool(others) and not others[0].startswith("-")
    if near and near[0] in ("ask", "submit") and has_words:
        meant = shlex.join(["hostbridge", near[0], *others])
        return UsageError(f"no command {name!r}; did you mean: {meant}")
    hint = f"did you mean {' or '.join(near)}?" if near else "see `hostbridge --help`"
    asked = f"; to ask: {_as_question([name, *others])}"
    asked = asked if has_words or not near else ""
    return UsageError(f"no command {name!r}; {hint}{asked}")


def _as_question(words: list[str]) -> str:
    """The command that asks what was typed without one; its options stay at the end."""
    import shlex

    first_option = next((i for i, w in enumerate(words) if w[:1] == "-"), len(words))
    question, options = words[:first_option], words[first_option:]
    if not any(map(str.isspace, "".join(question[1:]))):
        question = [" ".join(question)]
    return shlex.join(["hostbridge", "ask", *question, *options])


def _version() -> int:
    from importlib.metadata import version

    from bridge.cli.common.output import say

    say(f"hostbridge {version('hostbridge')}")
    return Exit.OK
