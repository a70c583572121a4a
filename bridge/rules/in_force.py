"""Which rules hold: those of the files as they are, or as they were before.

A file that has changed since and may not be used leaves in force what was, so that a
copy of each file in force is in the state. What is shown, tested and compiled is all
decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.agents.yaml_source import read_tree
from bridge.config import Settings
from bridge.errors import BridgeError
from bridge.protocol.wording import in_shell
from bridge.rules.freshness import FOLDER
from bridge.rules.layers import Source, live, read_all, sources
from bridge.rules.rule_file import RULE_EVENTS, Rule, RuleFile
from bridge.store.store import Store

if TYPE_CHECKING:
    CheckAgent = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a project.

    Attributes:
        found: the files as they are.
        texts: the bytes that count of each of them.
        agree: how a user agrees to those of the project.
    """

    found: list[Source]
    texts: dict[Source, bytes]
    agree: str = "hostbridge trust"

    @classmethod
    def choose(cls, found: list[Source], copy: Callable[[str], bytes | None]) -> Rules:
        """What counts of these files; `copy` reads the copy of one."""
        chosen = ((source, _in_force(source, copy(source.copy))) for source in found)
        return cls(found, {s: data for s, data in chosen if data is not None})

    @classmethod
    def look(cls, settings: Settings, store: Store) -> Rules:
        """The same, without making a state."""
        place = store.place
        found = sources(settings, place)
        rules = cls.choose(found, lambda _name: None)
        # A state that cannot be read has no copies for the hooks either.
        with suppress(BridgeError, OSError), store.state(make=False) as state:
            rules = cls.choose(found, state[FOLDER].read)
        # The rules of a linked worktree are the main one's.
        where = f"{in_shell('cd', place.main)} && " if place.main else ""
        return replace(rules, agree=f"{where}hostbridge trust")

    def files(self, check_agent: CheckAgent = lambda _name: None) -> list[RuleFile]:
        """The files as they count."""
        return read_all(self.texts, check_agent)

    def live(self, check_agent: CheckAgent = lambda _name: None) -> list[RuleFile]:
        """The files as they are, with all their problems."""
        return live(self.found, check_agent)

    @property
    def is_whole(self) -> bool:
        """Whether every file counts as it is."""
        return all(self.texts.get(s) == s.data and not s.why for s in self.found)

    def waiting(self) -> list[RuleFile]:
        """The rules that their files have now, and that do not count."""
        return _without(self.live(), self.files())

    def before(self) -> set[tuple[Path, str]]:
        """The rules that count, and that their files do not have any more."""
        old = _without(self.files(), self.live())
        return {(file.file, rule.name) for file in old for rule in file.rules}

    def notes(self) -> Iterator[str]:
        """Of each file that does not count as it is, what holds in its place."""
        read = {file.file: file for file in self.live()}
        for source in self.found:
            before = self.texts.get(source)
            is_held = before not in (None, source.data) and _is_whole(before or b"")
            holds = "what it said before holds" if is_held else "its rules do nothing"
            if source.data is None and not source.why:
                if is_held:
                    yield f"{source.file} is gone; {holds}"
            elif source.data is not None and not source.is_admitted:
                why = f"{source.file} is not trusted as it is; {holds}"
                yield f"{why}; look at it, and agree: {self.agree}"
            elif not read[source.file].is_read:
                yield f"{read[source.file].errors[0]}; {holds}"


def variables_of(files: Iterable[RuleFile]) -> dict[str, Any]:
    """The variables that files declare; the user's go before a project's."""
    ranks = {"built-in": 0, "project": 1, "user": 2}
    ordered = sorted(files, key=lambda file: ranks[file.layer])
    return {name: v for file in ordered for name, v in file.variables.items()}


def _without(files: list[RuleFile], others: list[RuleFile]) -> list[RuleFile]:
    """The files, without the rules that are the same in others."""

    def key(file: RuleFile, rule: Rule) -> tuple[Path, str, str, str]:
        return file.file, rule.event, rule.name, repr(rule.fields)

    same = {key(file, rule) for file in others for rule in file.rules}
    return [
        replace(f, rules=tuple(r for r in f.rules if key(f, r) not in same))
        for f in files
    ]


def _in_force(source: Source, copy: bytes | None) -> bytes | None:
    """The bytes of a file that count: its own, or those that did before."""
    data = source.data
    if data is not None and source.admits(data) and _is_whole(data):
        return data
    if data is None and not source.why and source.layer == "user":
        # It is gone. The project's own stay until `trust` says so.
        return None
    if copy is not None and source.admits(copy):
        return copy
    # Half a file of the user's, and nothing before it: its problems are shown.
    return data if data is not None and source.layer == "user" else None


def _is_whole(data: bytes) -> bool:
    """Whether the file is YAML of this kind; one that is being edited may not be."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    value = read_tree(text, Path(), may_be_empty=True).value
    return isinstance(value, dict) and all(
        isinstance(value.get(event) or [], list) for event in RULE_EVENTS
    )
