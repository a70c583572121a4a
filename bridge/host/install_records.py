"""What installs leave in our own folder.

~/.hostbridge/installs/<digest>.json  one settings file: its text before the install
~/.hostbridge/hooks.sh                where this machine has hostbridge, for settings
                                      that name no path (`install --project`)
"""

from __future__ import annotations

import hashlib
import os
import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bridge.host.hook_table import POINTER
from bridge.protocol.record import Record
from bridge.store.location import Place, open_state
from bridge.store.records import read_quietly

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.store.directory import Folder


class Past(Record):
    """One install: `original` is the file's text before it, None for no file."""

    file: str
    kind: str
    original: str | None = None
    after_sha256: str
    made_folder: bool = False

    def was_last(self, text: str | None) -> bool:
        """Whether the file is unchanged since."""
        return text is not None and sha256(text) == self.after_sha256


class Memory:
    """The records of installs below `home`.

    Raises:
        StateRefused: `home` is not safe to use (any method).
    """

    def __init__(self, home: Path) -> None:
        self._place = Place(home, home, home, "our own folder")

    @contextmanager
    def _records(self) -> Iterator[Folder]:
        with open_state(self._place) as home, home.folder("installs") as folder:
            yield folder

    def recall(self, file: Path) -> Past | None:
        """What is known about the last install in a settings file."""
        with self._records() as folder:
            return read_quietly(folder, _name(str(file)), Past)

    def has_made(self, folder: Path) -> bool:
        """Whether an existing install made the folder of its settings."""
        return any(
            past.made_folder and os.path.dirname(past.file) == str(folder)
            for past in self._all()
        )

    def kinds(self) -> set[str]:
        """The kinds of the existing installs."""
        return {past.kind for past in self._all()}

    def _all(self) -> list[Past]:
        with self._records() as records:
            pasts = [
                read_quietly(records, f"{name}.json", Past) for name in records.names()
            ]
        return [past for past in pasts if past is not None]

    def remember(self, past: Past) -> None:
        """Write down an install."""
        name, data = _name(past.file), past.to_json()
        with self._records() as folder:
            if folder.read(name) != data:
                folder.replace(name, data)

    def forget(self, file: Path) -> None:
        """Forget an install; the pointer goes with the last one that needed it."""
        with self._records() as folder:
            folder.remove(_name(str(file)))
        if "project" not in self.kinds():
            with open_state(self._place) as home:
                home.remove(POINTER)

    def point(self, hooks: Path, python: str) -> None:
        """Write down where this machine has hostbridge."""
        lines = (
            "# Written by `hostbridge install --project`: where this machine has it.",
            f"hooks={shlex.quote(str(hooks))}",
            f'set -- "$1" "$2" {shlex.quote(python)}',
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
