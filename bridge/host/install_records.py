"""What installs leave in our own folder.

~/.hostbridge/installs/<digest>.json  one settings file: its text before the install
~/.hostbridge/hooks.sh                where this machine has hostbridge, for settings
                                      that name no path (`install --project`)
"""

import hashlib
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bridge.host.hook_table import POINTER
from bridge.protocol.record import Record
from bridge.store.directory import Folder
from bridge.store.location import Place, open_state
from bridge.store.records import read_quietly


class InstallRecord(Record):
    """One install: `original` is the file's text before it, None for no file.

    `excluded` is what was written into `exclude_file`, so that git ignores the file;
    `made_exclude` whether there was none.
    """

    file: str
    kind: str
    original: str | None = None
    after_sha256: str
    made_folder: bool = False
    exclude_file: str | None = None
    excluded: str | None = None
    made_exclude: bool = False

    def wrote(self, text: str | None) -> bool:
        """Whether the install left the file with this text."""
        return text is not None and sha256(text) == self.after_sha256


class InstallRecords:
    """The records of installs below `home`.

    Raises:
        StateRefused: `home` is not safe to use (any method).
    """

    def __init__(self, home: Path) -> None:
        self._place = Place(home, home, home, "our own folder")

    @contextmanager
    def _folder(self) -> Iterator[Folder]:
        with open_state(self._place) as home, home.folder("installs") as folder:
            yield folder

    def find(self, file: Path) -> InstallRecord | None:
        """What is known about the last install in a settings file."""
        with self._folder() as folder:
            return read_quietly(folder, _name(str(file)), InstallRecord)

    def has_made(self, folder: Path) -> bool:
        """Whether an existing install made the folder of its settings."""
        return any(
            record.made_folder and os.path.dirname(record.file) == str(folder)
            for record in self._all()
        )

    def kinds(self) -> set[str]:
        """The kinds of the existing installs."""
        return {record.kind for record in self._all()}

    def _all(self) -> list[InstallRecord]:
        with self._folder() as folder:
            files = [f"{name}.json" for name in folder.names()]
            found = [read_quietly(folder, file, InstallRecord) for file in files]
        return [record for record in found if record is not None]

    def save(self, record: InstallRecord) -> None:
        """Write down an install."""
        name, data = _name(record.file), record.to_json()
        with self._folder() as folder:
            if folder.read(name) != data:
                folder.replace(name, data)

    def remove(self, file: Path) -> None:
        """Remove a record; the pointer goes with the last one that needs it."""
        with self._folder() as folder:
            folder.remove(_name(str(file)))
        if "project" not in self.kinds():
            with open_state(self._place) as home:
                home.remove(POINTER)

    def write_pointer(self, hooks: Path, python: str) -> None:
        """Write down where this machine has hostbridge."""
        lines = (
            "# Written by `hostbridge install --project`: where this machine has it.",
            f"hooks={shlex.quote(str(hooks))}",
            f'set -- "$1" "$2" {shlex.quote(python)} "${{4-}}"',
            '[ -r "$hooks/$0" ] && . "$hooks/$0"',
        )
        data = "".join(f"{line}\n" for line in lines).encode()
        with open_state(self._place) as home:
            if home.read(POINTER) != data:
                home.replace(POINTER, data)


def sha256(text: str) -> str:
    """The digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _name(file: str) -> str:
    return f"{sha256(file)[:32]}.json"
