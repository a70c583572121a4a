"""The rules of a project, for `hostbridge trust`.

New ones are shown as they are written, of the others what has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.agents.trust import Trust
from bridge.cli.definition_text import BROKEN
from bridge.cli.output import indented, visible
from bridge.cli.screen import Styled
from bridge.cli.trust_difference import cut, difference_lines
from bridge.rules.agents_named import agent_check
from bridge.rules.compiled import compile_rules
from bridge.rules.layers import live, sources, untrusted
from bridge.rules.rule_file import RuleFile

if TYPE_CHECKING:
    from bridge.api.bridge import Bridge

_MAX_SHOWN = 20_000


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
    _home: Path
    _trust: Trust

    @property
    def is_any_new(self) -> bool:
        """Whether there is anything that could be trusted now."""
        return any(file in self.sound for file in self.new)

    def lines(self, most: int | None = _MAX_SHOWN) -> Iterator[str]:
        """What they say, cut at `most` characters each, and what is wrong there."""
        for file in self.files:
            yield from ("", Styled(f"rules: {self._title(file)}", "bold"))
            for problem in file.problems:
                yield from (
                    f"    {visible(line)}" for line in str(problem).splitlines()
                )
            yield from self._difference(file, most) or self._text(file, most)

    def _difference(self, file: RuleFile, most: int | None) -> list[str]:
        if not file.digests:
            # It cannot be read.
            return []
        where = visible(str(file.file))
        return [*difference_lines(file, self._trust, self._home, most, where)]

    def _text(self, file: RuleFile, most: int | None) -> list[str]:
        text = visible(self._data[file.file].decode("utf-8", "replace"), kept="\n")
        return indented(cut(text, most)).split("\n")

    def _title(self, file: RuleFile) -> str:
        mark = ""
        if file.errors:
            mark = BROKEN
        elif file in self.new:
            is_known = self._trust.knows(file.file)
            mark = "changed since you trusted it" if is_known else "new"
        return f"{visible(str(file.file))}{f'  ({mark})' if mark else ''}"


def rules_of(bridge: Bridge) -> ProjectRules:
    """The project's own rules; those of a linked worktree are the main one's."""
    place = bridge.store.place
    check = agent_check(bridge.settings, place.project)
    # Read once: what is shown is what is trusted.
    found = [] if place.main else sources(bridge.settings, place)
    files = [file for file in live(found, check) if file.layer == "project"]
    outside = untrusted(found)
    data = {source.file: source.data or b"" for source in found}
    sound = [file for file in files if not file.errors and file.digests]
    new = [file for file in files if file.file in outside or not file.digests]
    home = bridge.settings.home
    trust = Trust.read(home, place.project)
    return ProjectRules(files, sound, new, data, home, trust)


def put_in_force(bridge: Bridge) -> None:
    """Have hooks find what is trusted now, and keep these bytes."""
    is_there = any(
        s.data is not None for s in sources(bridge.settings, bridge.store.place)
    )
    if is_there or bridge.store.exists():
        compile_rules(bridge.settings, bridge.store)
