"""Pipelines by name, each read once; and circles of those that call each other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.errors import BridgeError
from bridge.pipelines.reader import read_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bridge.pipelines.pipeline import Pipeline, Surroundings

MAX_DEPTH = 5


class Library:
    """Reads pipelines, and those that they call.

    `file_of` gives the file of a name, `text_of` its text; both raise `BridgeError`.
    """

    def __init__(
        self,
        around: Surroundings,
        file_of: Callable[[str], Path],
        text_of: Callable[[Path], str],
    ) -> None:
        self._around = replace(around, find_pipeline=self.find)
        self._file_of = file_of
        self._text_of = text_of
        self._known: dict[str, Pipeline | str] = {}
        self._depths: dict[str, int] = {}
        # Those that are being read, the first around the others.
        self._open: list[str] = []

    def read(self, file: Path) -> Pipeline:
        """The pipeline in a file, with its problems; raises as `text_of`."""
        return self._read(file.stem, file)

    def find(self, name: str) -> Pipeline | str:
        """The pipeline of a name, or why no step can call it."""
        if name in self._open:
            path = " > ".join([*self._open[self._open.index(name) :], name])
            return (
                f"pipelines that call each other never end: {path}; to go round "
                "again: repeat: {from: STEP, while: CONDITION, max: N}"
            )
        if name not in self._known:
            self._known[name] = self._look(name)
        if len(self._open) + self._depths.get(name, 1) > MAX_DEPTH:
            path = " > ".join([*self._open, name])
            return f"pipelines call each other {MAX_DEPTH} deep at most: {path}"
        return self._known[name]

    def _look(self, name: str) -> Pipeline | str:
        try:
            found = self._read(name, self._file_of(name))
        except BridgeError as error:
            return f"pipeline {name!r} cannot be called: {error}"
        if not found.errors:
            return found
        wrong = "; ".join(str(replace(each, quoted="")) for each in found.errors[:3])
        return f"pipeline {name!r} cannot be called: {wrong}"

    def _read(self, name: str, file: Path) -> Pipeline:
        text = self._text_of(file)
        self._open.append(name)
        try:
            found = read_pipeline(text, file, self._around)
        finally:
            self._open.pop()
        called = (step.detail.get("flow", "") for step in found.steps)
        self._depths[name] = 1 + max(
            (self._depths.get(c, 0) for c in called), default=0
        )
        return found
