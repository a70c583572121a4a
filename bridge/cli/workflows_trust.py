"""The workflows of a project, for `hostbridge trust`.

What a pipeline would start comes first: the grants of its programs. Then each is shown
as it is written, or what has changed in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.agents.yaml_source import read_tree
from bridge.cli.output import complain, indented, visible
from bridge.cli.screen import Styled
from bridge.cli.trust_difference import cut, difference_lines
from bridge.pipelines.workflow_files import WorkflowFiles
from bridge.policy.grant_description import what_it_lets
from bridge.policy.permissions import Rule, parse_rule

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.agents.trust import Trust
    from bridge.api.bridge import Bridge
    from bridge.pipelines.workflow_files import WorkflowFile

_MAX_SHOWN = 20_000


@dataclass(frozen=True, slots=True)
class ProjectWorkflows:
    """The workflows of a project; `new` are those that are not trusted as they are."""

    files: list[WorkflowFile]
    new: list[WorkflowFile]
    _home: Path
    _trust: Trust

    def lines(self, most: int | None = _MAX_SHOWN) -> Iterator[str]:
        """What they may run and say, or what has changed, at most so much of each."""
        for each in self.files:
            mark = "  (new, or changed)" if each in self.new else ""
            name = visible(str(each.file))
            yield from ("", Styled(f"workflow: {name}{mark}", "bold"))
            yield from _grants(each)
            changed = difference_lines(each, self._trust, self._home, most, name)
            text = visible(each.data.decode("utf-8", "replace"), kept="\n")
            yield from [*changed] or indented(cut(text, most)).split("\n")


def _grants(each: WorkflowFile) -> Iterator[str]:
    """What its `exec` steps may start, and what that lets them do."""
    text = each.data.decode("utf-8", "replace")
    value = read_tree(text, each.file).value
    rules = value.get("allow") if isinstance(value, dict) else None
    for rule in rules if isinstance(rules, list) else ():
        parsed = parse_rule(str(rule))
        lets = what_it_lets(parsed) if isinstance(parsed, Rule) else parsed
        yield visible(f"    runs {rule}{f': {lets}' if lets else ''}")


def workflows_of(bridge: Bridge) -> ProjectWorkflows:
    """The workflows that a project brings. What is shown is what is trusted."""
    workflows = WorkflowFiles(bridge.settings, bridge.store.place.project)
    files, wrong = workflows.of_project()
    for each in wrong:
        complain(f"{visible(str(each))}; it cannot be trusted")
    new = [each for each in files if not workflows.trust.admits(each.file, each.data)]
    return ProjectWorkflows(files, new, bridge.settings.home, workflows.trust)
