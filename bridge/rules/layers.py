"""The rules files of a project, in their layers, and which of them are in force.

    <package>/rules/built_in.yaml         built-in: off until a file names them
    ~/.hostbridge/rules.yaml              user
    <project>/.bridge/rules.yaml          project, after `hostbridge trust`
    …/rules/NAME.yaml                     the rule set NAME of that layer

Of a linked worktree the project is the main one. A file that has changed since and may
not be used (not trusted, or not YAML) leaves in force what was: the state keeps a copy.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bridge.agents.files import Unreadable, place_in, read_bytes
from bridge.agents.trust import Trust
from bridge.agents.yaml_source import read_tree
from bridge.config import Settings
from bridge.errors import BridgeError, InvalidRequest
from bridge.protocol.wording import in_shell
from bridge.rules.freshness import (
    FILE,
    FOLDER,
    MAX_SETS,
    SETS_FOLDER,
    folders_of,
    names_of_sets,
)
from bridge.rules.rule_file import (
    RULE_EVENTS,
    Below,
    Layer,
    Rule,
    RuleFile,
    read_rules,
    unread,
)
from bridge.store.location import Place
from bridge.store.store import Store

CheckAgent = Callable[[str], str | None]
_PROJECTS = "a project's rules take `hostbridge trust`; copy what is to be yours"
BUILT_IN = Path(__file__).with_name("built_in.yaml")


@dataclass(frozen=True, slots=True)
class Source:
    """One rules file that may be there, and its bytes.

    Attributes:
        data: its bytes; None if it is not there, or cannot be read: `why` says so then.
        admits: whether these bytes may be in force.
    """

    layer: Layer
    rule_set: str
    file: Path
    data: bytes | None
    why: str
    admits: Callable[[bytes], bool]

    @property
    def copy(self) -> str:
        """The name of its copy in the state."""
        return f"{self.layer}{self.rule_set and '.'}{self.rule_set}.yaml"

    @property
    def is_admitted(self) -> bool:
        """Whether the file as it is may be in force."""
        return self.data is not None and self.admits(self.data)


def sources(settings: Settings, place: Place) -> list[Source]:
    """Every rules file of user and project, those of sets too."""
    found: list[Source] = []
    theirs = place.owner / ".bridge"
    for layer, folder in folders_of(settings, place).items():
        is_projects = layer == "project"
        trust = Trust.read(settings.home, place.owner) if is_projects else None
        sets = [folder / SETS_FOLDER / name for name in names_of_sets(folder)]
        for number, file in enumerate([folder / FILE, *sets]):
            own = () if is_projects else (theirs, theirs / SETS_FOLDER)
            if any(place_in(each, file) for each in own):
                data, why = None, f"leads to {os.path.realpath(file)}: {_PROJECTS}"
            elif number > MAX_SETS:
                data, why = (
                    None,
                    f"is one of more than {MAX_SETS} rule sets; remove some",
                )
            else:
                data, why = _read(file, follow_links=not is_projects)

            def admits(data: bytes, file: Path = file, trust: Any = trust) -> bool:
                return trust is None or trust.admits(file, data)

            rule_set = file.stem if number else ""
            found.append(Source(layer, rule_set, file, data, why, admits))
    return found


def _read(file: Path, *, follow_links: bool) -> tuple[bytes | None, str]:
    if not file.exists() and not file.is_symlink():
        return None, ""
    try:
        return read_bytes(file, follow_links=follow_links), ""
    except Unreadable as exc:
        return None, exc.why


def read_all(
    texts: Mapping[Source, bytes],
    check_agent: CheckAgent = lambda _name: None,
) -> list[RuleFile]:
    """The files in their layers, the built-in one first, with these bytes."""
    built_in = read_rules(BUILT_IN.read_text(), BUILT_IN, "built-in")
    found = [built_in]
    below = Below(variables=built_in.variables, named=_named())
    user: dict[str, Any] = {}
    for source, data in texts.items():
        if source.layer == "project":
            below = replace(
                below,
                variables={**built_in.variables, **user},
                kept=frozenset(user),
            )
        digests = {source.file: hashlib.sha256(data).hexdigest()}
        try:
            read = read_rules(
                data.decode().removeprefix("\ufeff"),
                source.file,
                source.layer,
                below,
                rule_set=source.rule_set,
                check_agent=check_agent,
            )
        except UnicodeDecodeError as exc:
            line = data.count(b"\n", 0, exc.start) + 1
            read = unread(source.file, source.layer, "not UTF-8", line)
        if source.layer == "user":
            user |= read.variables
        found.append(replace(read, digests=digests))
    return found


def _named() -> dict[tuple[str, str], Mapping[str, Any]]:
    """The built-in rules as they are written, by event and name."""
    value = read_tree(BUILT_IN.read_text(), BUILT_IN).value
    return {
        (event, rule["name"]): rule
        for event in RULE_EVENTS
        for rule in value.get(event, ())
    }


def live(
    found: Iterable[Source],
    check_agent: CheckAgent = lambda _name: None,
) -> list[RuleFile]:
    """The files as they are, trusted or not, with all their problems."""
    found = list(found)
    read = read_all({s: s.data for s in found if s.data is not None}, check_agent)
    return [*read, *(unread(s.file, s.layer, s.why) for s in found if s.why)]


def read_one(
    settings: Settings,
    place: Place,
    file: Path,
    check_agent: CheckAgent,
) -> RuleFile:
    """A file as it would be read in its place, wherever it is now.

    In a `.bridge` folder it is a project's, everywhere else the user's.

    Raises:
        InvalidRequest: there is no such file.
    """
    layer: Layer = "project" if ".bridge" in file.parts else "user"
    data, why = _read(file, follow_links=True)
    if data is None and not why:
        raise InvalidRequest(f"{file}: no such file")
    found = [Source(layer, "", file, data, why, lambda _data: True)]
    if layer == "project":
        users = [each for each in sources(settings, place) if each.layer == "user"]
        found = [*users, *found]
    return next(read for read in live(found, check_agent) if read.file == file)


def untrusted(found: Iterable[Source]) -> list[Path]:
    """The files that are there, and may not be in force as they are."""
    return [s.file for s in found if s.data is not None and not s.is_admitted]


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
