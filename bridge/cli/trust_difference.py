"""What has changed in a definition since it was trusted, as a unified diff."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.agents.trusted_texts import find_text
from bridge.cli.output import counted, indented, visible
from bridge.cli.screen import Style, Styled
from bridge.protocol.names import MODEL_FILE

if TYPE_CHECKING:
    from bridge.agents.trust import Digested, Digests, Trust

UNCUT = "hostbridge trust --show"
_COLOURS: dict[str, Style] = {"+": "green", "-": "red", "@": "cyan"}
_DIGEST_CHARS = 12
# Comparing takes a time that may grow with the square of it.
_MAX_LINES = 3_000


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
