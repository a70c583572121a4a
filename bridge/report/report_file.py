"""The file of a report: written whole; nothing but an earlier one of ours is replaced.

A page is for its user alone. What other programs read, such as SARIF, has the mode that
any new file of this user has.
"""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from bridge.errors import InvalidRequest, reason_of
from bridge.report.page import MARK

PRIVATE = 0o600


def write(file: Path, text: str, *marks: str, mode: int = PRIVATE) -> None:
    """Write a report; a full disk leaves what was there.

    `marks`: each report of this kind begins with one of them, and no other file does;
    by default that of a page.

    Raises:
        InvalidRequest: something else stands there, or it cannot be written.
    """
    temporary = file.with_name(f".{secrets.token_hex(6)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        _refuse_others(file, marks or (MARK,))
        # A page names agents and failures, and may lie in a folder that others read.
        with open(os.open(temporary, flags, mode), "wb") as made:
            made.write(text.encode())
            made.flush()
            os.fsync(made.fileno())
        os.replace(temporary, file)
    except OSError as exc:
        raise InvalidRequest(f"{file}: {reason_of(exc)}") from None
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def _refuse_others(file: Path, marks: tuple[str, ...]) -> None:
    """Refuse to replace a file that is not a report; what a link leads to stays."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    except OSError:
        if not file.is_symlink():
            raise
        raise _is_other(file, "a link", marks) from None
    with open(fd, "rb") as found:
        is_file = stat.S_ISREG(os.fstat(fd).st_mode)
        begins = tuple(mark.encode() for mark in marks)
        if not is_file or not found.read(max(map(len, begins))).startswith(begins):
            raise _is_other(file, "not a report of hostbridge", marks)


def _is_other(file: Path, what: str, marks: tuple[str, ...]) -> InvalidRequest:
    prints = ("to print the page, give - as the name",) if marks == (MARK,) else ()
    return InvalidRequest(
        f"{file} is there already, and is {what}: it stays as it is",
        ways=("give another name", *prints),
    )
