"""One settings file: read and replaced as a whole, through a link if it is one.

Dotfile managers keep `~/.claude/settings.json` as a link: what it points to is
replaced, the link stays. Mode and owner stay as well, but only its owner may write to
it, whatever the umask: what stands in it is run. A file that changed since it was
read is left alone: the client writes its settings, too.
"""

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bridge.errors import reason_of
from bridge.host.settings_edit import SettingsUnreadable
from bridge.protocol.wording import in_shell
from bridge.store.plain_file import read_plain

# May write: the group, and everybody.
_OTHERS = 0o022


def load(file: Path) -> str | None:
    """The text of a settings file; None when there is none.

    Raises:
        SettingsUnreadable: not a file, not readable, or not UTF-8.
    """
    try:
        data = read_plain(file)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise SettingsUnreadable(f"{file}: {reason_of(exc)}") from None
    try:
        return data.decode()
    except UnicodeDecodeError as exc:
        line = data[: exc.start].count(b"\n") + 1
        raise SettingsUnreadable(f"{file}:{line}: not UTF-8") from None


def store(file: Path, text: str | None, *, before: str | None) -> bool:
    """Write `text` to the file, or remove it; `before` is its text now.

    Returns whether its folder was made for it.

    Raises:
        SettingsUnreadable: it is read-only, has changed, or cannot be written.
    """

    def check() -> None:
        if load(file) != before:
            raise SettingsUnreadable(f"{file}: changed just now; try again")

    check()
    target = os.path.realpath(file)
    _refuse_read_only(file, target)
    try:
        made = _make_folder(file, target)
        if text is None:
            os.unlink(target)
        else:
            _replace(target, text.encode(), check)
    except OSError as exc:
        raise SettingsUnreadable(
            f"{file}: {reason_of(exc)}; nothing was changed"
        ) from None
    return made


def keep_others_out(file: Path) -> None:
    """Let nobody but its owner write to a file."""
    with suppress(OSError):
        mode = stat.S_IMODE(os.stat(file).st_mode)
        if mode & _OTHERS:
            os.chmod(file, mode & ~_OTHERS)


def remove_folder(file: Path) -> None:
    """Remove the folder of a settings file, if nothing else is in it."""
    with suppress(OSError):
        os.rmdir(file.parent)


def _refuse_read_only(file: Path, target: str) -> None:
    """A rename would bypass the file's mode, which somebody set on purpose."""
    with suppress(FileNotFoundError):
        facts = os.stat(target)
        if not facts.st_mode & 0o222 or not os.access(target, os.W_OK):
            mode = stat.S_IMODE(facts.st_mode)
            raise SettingsUnreadable(
                f"{file}: read-only (mode {mode:04o}); nothing was changed. If it is "
                f"yours to change: {in_shell('chmod', 'u+w', target)}"
            )


def _make_folder(file: Path, target: str) -> bool:
    """Make `.claude`; the target of a dangling link is not created."""
    folder = os.path.dirname(target)
    if os.path.isdir(folder) or os.path.realpath(file.parent) != folder:
        return False
    os.mkdir(folder, 0o755)
    return True


def _replace(target: str, data: bytes, check: Callable[[], None]) -> None:
    """Write the file anew; `check` is made last, for the disk may take its time."""
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(6)}.tmp")
    try:
        facts: os.stat_result | None = os.stat(target)
    except FileNotFoundError:
        facts = None
    # Settings may hold keys: until it has its own mode, the copy is ours alone.
    mode = 0o600 if facts else 0o644
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with open(fd, "wb") as file:
            if facts is not None:
                with suppress(PermissionError):
                    os.fchown(fd, facts.st_uid, facts.st_gid)
                os.fchmod(fd, stat.S_IMODE(facts.st_mode) & ~_OTHERS)
            file.write(data)
            file.flush()
            os.fsync(fd)
        check()
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
