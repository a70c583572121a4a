"""Which files of a project tell agents what to do, since a page of memory imports them.

Claude Code puts them into its prompts, whatever their names are. A page that is a link
has the text of the file that it leads to.
"""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from bridge.policy.memory_imports import MAX_DEPTH, MAX_FILES, imports_in

# Those of other agents have the same imports.
_PAGE = re.compile(
    rb"(.*/)?((claude|claude\.local|agents|gemini|qwen)\.md|\.claude/rules/.*\.md)",
    re.IGNORECASE | re.DOTALL,
)
# There even if git does not know them.
_USUAL = (b"CLAUDE.md", b"CLAUDE.local.md", b".claude/CLAUDE.md")


def imported(
    project: Path,
    paths: Iterable[bytes],
    text_at: Callable[[bytes], tuple[bytes, bool] | None],
) -> frozenset[bytes] | None:
    """The paths that the pages among these name, and those that they name in turn.

    `text_at` has the text of a file, or where a link leads and True; None for neither.
    None if they are too many to tell.
    """
    level = {*filter(_PAGE.fullmatch, paths), *_USUAL}
    known: set[bytes] = set()
    for _ in range(MAX_DEPTH + 1):
        named: set[bytes] = set()
        for page in sorted(level):
            if (found := text_at(page)) is None:
                continue
            text, is_link = found
            words = text.decode("utf-8", "replace")
            names = {os.fsdecode(text)} if is_link else imports_in(words)
            named.update(_inside(project, page, names))
        level = named - known
        known |= named
        if len(known) > MAX_FILES:
            return None
    return frozenset(known)


def _inside(project: Path, page: bytes, names: Iterable[str]) -> Iterable[bytes]:
    """Those of these files that lie in the project, relative to it."""
    folder = os.path.join(project, os.path.dirname(os.fsdecode(page)))
    for name in names:
        path = os.path.normpath(os.path.join(folder, os.path.expanduser(name)))
        for place in (path, os.path.realpath(path)):
            if place.startswith(f"{project}/"):
                yield os.fsencode(os.path.relpath(place, project))
