"""`hostbridge task export` and `import`."""

import os
import sys
import tempfile
from argparse import Namespace
from pathlib import Path

from bridge.cli.exit_codes import Exit
from bridge.cli.output import complain, counted, say, say_json, visible
from bridge.cli.read_file import bytes_of
from bridge.errors import InvalidRequest, reason_of
from bridge.tasks.tasks import Tasks


def export(tasks: Tasks, options: Namespace) -> int:
    """Print every task, or write them to a file; returns the exit code."""
    data = tasks.export()
    if options.out is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return Exit.OK
    file = Path(options.out)
    _write_whole(file, data)
    complain(f"{counted(len(data.splitlines()), 'task')} in {file}")
    return Exit.OK


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
    name = options.words[0]
    data = sys.stdin.buffer.read() if name == "-" else bytes_of(Path(name))
    shown = "stdin" if name == "-" else name
    done = tasks.import_(data, name=shown, prefer=options.prefer)
    if options.as_json:
        say_json(done)
    else:
        say(
            f"{counted(done.added, 'task')} added, {done.changed:,} changed, "
            f"{done.unchanged:,} as they were"
        )
    for conflict in done.conflicts:
        title = visible(conflict.title)
        complain(f"#{conflict.number} {title}: {visible(conflict.what)}")
    if done.conflicts and options.prefer is None:
        complain("where both sides changed: --prefer ours, or --prefer theirs")
    return Exit.FAILED if done.conflicts else Exit.OK
