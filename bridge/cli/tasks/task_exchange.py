"""`hostbridge task export` and `import`."""

import json
import os
import re
import shlex
import sys
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from bridge.cli.common.exit_codes import Exit
from bridge.cli.common.output import complain, counted, say, say_json, visible
from bridge.cli.common.read_file import all_of, bytes_of
from bridge.errors import InvalidRequest, reason_of
from bridge.tasks.tasks import Tasks

_NAMED = 10


def export(tasks: Tasks, options: Namespace) -> int:
    """Print every task, or write them to a file; returns the exit code."""
    data = tasks.export()
    if options.out is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(_printable(data) if sys.stdout.isatty() else data)
        sys.stdout.buffer.flush()
        return Exit.OK
    file = Path(options.out)
    _write_whole(file, data)
    complain(f"{counted(len(data.splitlines()), 'task')} in {file}")
    return Exit.OK


def _printable(data: bytes) -> bytes:
    """The same JSON, in which a terminal finds nothing that it would obey."""

    def printable(sign: re.Match[str]) -> str:
        return sign[0] if sign[0].isprintable() else json.dumps(sign[0])[1:-1]

    return re.sub(r"[^\n -~]", printable, data.decode()).encode()


def _write_whole(file: Path, data: bytes) -> None:
    """Write a file of the user's at once: a full disk leaves the one before."""
    temporary = ""
    try:
        fd, temporary = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
        with open(fd, "wb") as made:
            made.write(data)
            made.flush()
            os.fsync(fd)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, file)
    except OSError as exc:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise InvalidRequest(f"{file}: {reason_of(exc)}") from None


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def import_(tasks: Tasks, options: Namespace) -> int:
    """Merge an export; returns the exit code: 1 if something is left for a person."""
    name, only = options.file, options.tasks
    if only and options.prefer is None:
        raise InvalidRequest(
            "task import: tasks are named for --prefer ours, or --prefer theirs"
        )
    shown = "stdin" if name == "-" else name
    is_stdin = name == "-"
    data = all_of(sys.stdin.buffer, shown) if is_stdin else bytes_of(Path(name))
    done = tasks.import_(data, name=shown, prefer=options.prefer, only=only)
    if options.as_json:
        say_json(done)
    else:
        say(
            f"{counted(done.added, 'task')} added, {done.changed:,} changed, "
            f"{done.unchanged:,} as they were"
        )
        for change in done.changes:
            title = visible(change.title)
            say(f"  #{change.number} {title}: {visible(change.what)}")
    if done.left_out:
        complain(f"left out: {visible(', '.join(done.left_out))}")
    if done.older:
        complain(f"older in {shown}, and left as it is here: {_named(done.older)}")
    if done.absent:
        delete = f"to remove one: hostbridge task delete {done.absent[0]}"
        complain(f"not in {shown}, and kept: {_named(done.absent)}; {delete}")
    for conflict in done.conflicts:
        title = visible(conflict.title)
        complain(f"#{conflict.number} {title}: {visible(conflict.what)}")
    if done.conflicts and (only or options.prefer is None):
        complain(
            "where both sides changed: --prefer ours, or --prefer theirs; for one "
            f"task, name it: hostbridge task import {shlex.quote(name)} "
            f"{done.conflicts[0].number} --prefer ours"
        )
    return Exit.FAILED if done.conflicts else Exit.OK


def _named(numbers: Sequence[int]) -> str:
    """The first of some tasks, and how many more there are."""
    more = len(numbers) - _NAMED
    rest = f" and {more:,} more" if more > 0 else ""
    return ", ".join(f"#{number}" for number in numbers[:_NAMED]) + rest
