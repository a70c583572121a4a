"""The flows and workflows of a project, for `hostbridge trust`.

What a pipeline would start comes first: the grants of its programs. Then each file is
shown as it is written, or what has changed in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.agents.yaml_source import read_tree
from bridge.cli.output import complain, indented, visible
from bridge.cli.screen import Styled
from bridge.cli.trust_difference import cut, difference_lines
from bridge.policy.grant_description import what_it_lets
from bridge.policy.permissions import Rule, parse_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.agents.library import Library, ProjectFile

_MAX_SHOWN = 20_000


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The files of one kind; `new` are those that are not trusted as they are."""

    files: list[ProjectFile]
    new: list[ProjectFile]
    _library: Library

    def lines(self, most: int | None = _MAX_SHOWN) -> Iterator[str]:
        """What they may run and say, or what has changed, at most so much of each."""
        home, trust = self._library.settings.home, self._library.trust
        what = self._library.kind.what
        for each in self.files:
            mark = "  (new, or changed)" if each in self.new else ""
            name = visible(str(each.file))
            yield from ("", Styled(f"{what}: {name}{mark}", "bold"))
            yield from _grants(each) if what == "workflow" else ()
            changed = difference_lines(each, trust, home, most, name)
            text = visible(each.data.decode("utf-8", "replace"), kept="\n")
            yield from [*changed] or indented(cut(text, most)).split("\n")


def _grants(each: ProjectFile) -> Iterator[str]:
    """What its `exec` steps may start, and what that lets them do."""
    text = each.data.decode("utf-8", "replace")
    value = read_tree(text, each.file).value
    rules = value.get("allow") if isinstance(value, dict) else None
    for rule in rules if isinstance(rules, list) else ():
        parsed = parse_rule(str(rule))
        lets = what_it_lets(parsed) if isinstance(parsed, Rule) else parsed
        yield visible(f"    runs {rule}{f': {lets}' if lets else ''}")


def files_of(library: Library) -> ProjectFiles:
    """The files that a project brings. What is shown is what is trusted."""
    files, wrong = library.of_project()
    for each in wrong:
        complain(f"{visible(str(each))}; it cannot be trusted")
    new = [each for each in files if not library.trust.admits(each.file, each.data)]
    return ProjectFiles(files, new, library)
