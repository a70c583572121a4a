"""Flows in files: one by its path, and those that it calls by their names."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.agents.files import Unreadable, open_plain
from bridge.errors import BridgeError, InvalidRequest
from bridge.flow.parser import as_parsed, parse_flow
from bridge.flow.problems import InvalidFlow, near

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bridge.flow.syntax_tree import Flow

SUFFIX = ".flow"
_MAX_BYTES = 16 * 1024 * 1024


def text_of(file: Path) -> str:
    """The text in a file.

    Raises:
        InvalidRequest: it is not there, no plain file, not UTF-8, or too long.
    """
    try:
        with open_plain(file) as opened:
            data = opened.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise InvalidRequest(f"{file}: longer than {_MAX_BYTES >> 20} MiB")
        return data.decode()
    except Unreadable as error:
        raise InvalidRequest(str(error)) from None
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{file}: not UTF-8 at offset {error.start}") from None


def digest_of(file: Path) -> str:
    """The digest of a flow's text, as its plan has it; empty if it cannot be read."""
    try:
        return hashlib.sha256(as_parsed(text_of(file)).encode()).hexdigest()
    except InvalidRequest:
        return ""


class Library:
    """Flows by name: NAME.flow in one of these folders, the first that has it.

    `read` gives the text of a file, or raises why not.
    """

    def __init__(
        self, folders: Sequence[Path], read: Callable[[Path], str] = text_of
    ) -> None:
        self.folders = folders
        self._read = read
        self._known: dict[str, Flow | str] = {}

    def find(self, name: str) -> Flow | str:
        """The flow of a name, or what is wrong with it."""
        if name not in self._known:
            self._known[name] = self._look(name)
        return self._known[name]

    def _look(self, name: str) -> Flow | str:
        for folder in self.folders:
            file = folder / f"{name}{SUFFIX}"
            if file.is_file():
                try:
                    return parse_flow(self._read(file), file=str(file))
                except InvalidFlow as error:
                    wrong = (str(replace(each, quoted="")) for each in error.problems)
                    return f"@call:{name} cannot be called: {'; '.join(wrong)}"
                except BridgeError as error:
                    return f"@call:{name} cannot be called: {error}"
            if os.path.lexists(file):
                return f"@call:{name} cannot be called: {file} is not a plain file"
        names = (f.stem for folder in self.folders for f in folder.glob(f"*{SUFFIX}"))
        looked = f"; there is none in {', '.join(map(str, self.folders))}"
        return f"no flow is called {name!r}{near(name, sorted(names)) or looked}"
