"""The rules of a project, for `hostbridge trust`: shown as they are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.cli.definition_text import BROKEN
from bridge.cli.output import visible
from bridge.cli.screen import Styled
from bridge.rules.agents_named import agent_check
from bridge.rules.compiled import compile_rules
from bridge.rules.layers import live, sources, untrusted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.api.bridge import Bridge
    from bridge.rules.rule_file import RuleFile

_MAX_SHOWN = 20_000
_MARK = "new, or changed"


@dataclass(frozen=True, slots=True)
class ProjectRules:
    """The rules files of a project, and a text about each.

    Attributes:
        files: all of them.
        sound: those without an error.
        new: those that are not trusted as they are.
    """

    files: list[RuleFile]
    sound: list[RuleFile]
    new: list[RuleFile]
    _data: dict[Path, bytes]

    @property
    def is_any_new(self) -> bool:
        """Whether there is anything that could be trusted now."""
        return any(file in self.sound for file in self.new)

    def lines(self, most: int | None = _MAX_SHOWN) -> Iterator[str]:
        """What they say, cut at `most` characters each, and what is wrong there."""
        for file in self.files:
            mark = _MARK if file in self.new else ""
            yield from _lines(file, self._data[file.file], mark, most)


def rules_of(bridge: Bridge) -> ProjectRules:
    """The project's own rules; those of a linked worktree are the main one's."""
    place = bridge.store.place
    if place.main is not None:
        return ProjectRules([], [], [], {})
    check = agent_check(bridge.settings, place.project)
    # Read once: what is shown is what is trusted.
    found = sources(bridge.settings, place)
    files = [file for file in live(found, check) if file.layer == "project"]
    outside = untrusted(found)
    data = {source.file: source.data or b"" for source in found}
    sound = [file for file in files if not file.errors and file.digests]
    new = [file for file in files if file.file in outside or not file.digests]
    return ProjectRules(files, sound, new, data)


def put_in_force(bridge: Bridge) -> None:
    """Have hooks find what is trusted now, and keep these bytes."""
    is_there = any(
        s.data is not None for s in sources(bridge.settings, bridge.store.place)
    )
    if is_there or bridge.store.exists():
        compile_rules(bridge.settings, bridge.store)


def _lines(file: RuleFile, data: bytes, mark: str, most: int | None) -> Iterator[str]:
    mark = BROKEN if file.errors else mark
    yield ""
    yield Styled(
        f"rules: {visible(str(file.file))}{f'  ({mark})' if mark else ''}", "bold"
    )
    for problem in file.problems:
        yield from (f"    {visible(line)}" for line in str(problem).splitlines())
    shown = visible(data.decode("utf-8", "replace")[:most], kept="\n")
    yield from (f"    {line}" for line in shown.splitlines())
    if most is not None and len(data) > most:
        yield "    … all of it: hostbridge trust --show"
