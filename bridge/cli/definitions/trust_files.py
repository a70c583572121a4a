"""What a project brings, each with a text about it, for `hostbridge trust`.

Of a file the first that is shown is what is wrong with it, or what it would start: the
grants of a pipeline's programs. Then it is shown as it is written, or what has changed
in it. What is shown is what is trusted: each file is read once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.agents.known_agents import Agents
from bridge.agents.library import FLOWS, WORKFLOWS, Library
from bridge.agents.trust import Digested, Trust, find_text
from bridge.agents.yaml_source import read_tree
from bridge.cli.common.output import complain, counted, indented, visible
from bridge.cli.definitions.definition_text import BROKEN
from bridge.cli.screen.screen import Style, Styled
from bridge.policy.grant_description import what_it_lets
from bridge.policy.permission_rules import Rule, parse_rule
from bridge.protocol.names import MODEL_FILE
from bridge.rules.layers import live, sources, untrusted

if TYPE_CHECKING:
    from bridge.agents.library import ProjectFile
    from bridge.agents.trust import Digests
    from bridge.api.bridge import Bridge


UNCUT = "hostbridge trust --show"
_COLOURS: dict[str, Style] = {"+": "green", "-": "red", "@": "cyan"}
_DIGEST_CHARS = 12
# Comparing takes a time that may grow with the square of it.
_MAX_LINES = 3_000


class Brought(NamedTuple):
    """One definition, or file, of a project.

    Attributes:
        file: what a yes records.
        is_new: whether it is not trusted as it is.
        is_sound: whether it can be trusted.
        lines: all of it, of each part at most so many characters.
        most: how many, where a person is asked.
    """

    file: Digested
    is_new: bool
    is_sound: bool
    lines: Callable[[int | None], Iterator[str]]
    most: int = 20_000


class _Files(NamedTuple):
    trust: Trust
    home: Path

    def brought(
        self,
        what: str,
        file: Digested,
        data: bytes,
        first: Iterable[str],
        *,
        is_new: bool,
        is_sound: bool = True,
    ) -> Brought:
        """A file with these bytes; what its text begins with comes first."""
        name = visible(str(file.file))
        mark = ""
        if not is_sound:
            mark = BROKEN
        elif is_new:
            is_known = self.trust.knows(file.file)
            mark = "changed since you trusted it" if is_known else "new"
        title = f"{what}: {name}{f'  ({mark})' if mark else ''}"
        head = ["", Styled(title, "bold"), *(f"    {visible(line)}" for line in first)]

        def lines(most: int | None) -> Iterator[str]:
            yield from head
            # One that cannot be read has no digest, and no difference.
            home = self.home
            changed = [*difference_lines(file, self.trust, home, most, name)]
            text = visible(data.decode("utf-8", "replace"), kept="\n")
            is_compared = changed and file.digests
            yield from changed if is_compared else indented(cut(text, most)).split("\n")

        return Brought(file, is_new, is_sound, lines)


def files_of(bridge: Bridge) -> Iterator[Brought]:
    """The files of rules, flows and workflows."""
    settings, place = bridge.settings, bridge.store.place
    ours = _Files(Trust.read(settings.home, place.project), settings.home)
    # The rules of a linked worktree are the main one's.
    found = {s.file: s for s in ([] if place.main else sources(settings, place))}
    outside = untrusted(found.values())
    for file in live(found.values(), Agents.open(settings, place.project).wrong):
        if file.layer == "project":
            wrong = (line for p in file.problems for line in str(p).splitlines())
            data = found[file.file].data or b""
            is_new = file.file in outside or not file.digests
            is_sound = bool(file.digests) and not file.errors
            yield ours.brought(
                "rules", file, data, wrong, is_new=is_new, is_sound=is_sound
            )
    for kind in (FLOWS, WORKFLOWS):
        files, unread = Library(kind, settings, place.project).of_project()
        for why in unread:
            complain(f"{visible(str(why))}; it cannot be trusted")
        for each in files:
            grants = _grants(each) if kind is WORKFLOWS else ()
            is_new = not ours.trust.admits(each.file, each.data)
            yield ours.brought(kind.what, each, each.data, grants, is_new=is_new)


def _grants(each: ProjectFile) -> Iterator[str]:
    """What the `exec` steps of a pipeline may start, and what that lets them do."""
    value = read_tree(each.data.decode("utf-8", "replace"), each.file).value
    rules = value.get("allow") if isinstance(value, dict) else None
    for rule in rules if isinstance(rules, list) else ():
        parsed = parse_rule(str(rule))
        lets = what_it_lets(parsed) if isinstance(parsed, Rule) else parsed
        yield f"runs {rule}{f': {lets}' if lets else ''}"


def difference_lines(
    loaded: Digested, trust: Trust, home: Path, most: int | None, rest: str
) -> Iterator[str]:
    """What has changed since the last yes; nothing if that is not known.

    Of each file the first `most` characters; `rest` says where all of it is.
    """
    changed = _difference(loaded, trust, home)
    if not changed:
        return
    yield "what has changed:"
    for diff in changed:
        yield from map(_coloured, cut(diff, most).split("\n"))
    if most is None or max(map(len, changed)) <= most:
        yield f"the rest is as you trusted it: {rest}"


def cut(part: str, most: int | None) -> str:
    """As much of a part as fits, and the command that shows the rest."""
    left = 0 if most is None else len(part) - most
    if left <= 0:
        return part
    more = counted(left, "more character")
    return f"{part[:most]}\n… {more}; all of it: {UNCUT}"


def _coloured(line: str) -> str:
    """A line of a difference, which is moved in; its sign comes first."""
    style = _COLOURS.get(line[4:5])
    return Styled(line, style) if style else line


def _difference(loaded: Digested, trust: Trust, home: Path) -> list[str]:
    """What has changed in each of its files; nothing if that is not known of one."""
    before, now = trust.recorded(loaded), trust.digests_of(loaded)
    found = []
    for name in trust.changes_in(loaded):
        part = _of_file(name, before, now, trust.project, home)
        if not part:
            return []
        found.append(part)
    return found


def _of_file(
    name: str, before: Digests, now: Digests, project: Path, home: Path
) -> str | None:
    if name.endswith(MODEL_FILE):
        return f"    {visible(name)}: {_short(before, name)} is now {_short(now, name)}"
    old = _text(name, before, project, home)
    new = _text(name, now, project, home)
    if old is None or new is None:
        return None
    lines_of = _visible_lines(old), _visible_lines(new)
    if max(map(len, lines_of)) > _MAX_LINES:
        return None
    was = "as you trusted it" if name in before else "not there"
    lines = unified_diff(
        *lines_of,
        f"{visible(name)} ({was})",
        f"{visible(name)} (now)",
        lineterm="",
    )
    return indented("\n".join(lines))


def _text(name: str, digests: Digests, project: Path, home: Path) -> str | None:
    return find_text(project / name, digests[name], home) if name in digests else ""


def _visible_lines(text: str) -> list[str]:
    """Only what ends a line in every program ends one here; the rest is escaped.

    So are tabs, and a blank at the end of a line: nobody sees that they have changed.
    """
    return re.sub(" $", r"\\u0020", visible(text, kept="\n"), flags=re.M).split("\n")


def _short(digests: Digests, name: str) -> str:
    return f"SHA-256 {digests[name][:_DIGEST_CHARS]}…" if name in digests else "nothing"
