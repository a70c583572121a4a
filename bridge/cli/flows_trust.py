"""The flows of a project, for `hostbridge trust`: shown as they are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.api.flow_files import FlowFile, Flows
from bridge.cli.output import complain, indented, visible
from bridge.cli.screen import Styled
from bridge.cli.trust_difference import cut, difference_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.agents.trust import Trust
    from bridge.api.bridge import Bridge

_MAX_SHOWN = 20_000


@dataclass(frozen=True, slots=True)
class ProjectFlows:
    """The flows of a project; `new` are those that are not trusted as they are."""

    files: list[FlowFile]
    new: list[FlowFile]
    _home: Path
    _trust: Trust

    def lines(self, most: int | None = _MAX_SHOWN) -> Iterator[str]:
        """What they say, or what has changed, cut at `most` characters each."""
        for flow in self.files:
            mark = "  (new, or changed)" if flow in self.new else ""
            name = visible(str(flow.file))
            yield from ("", Styled(f"flow: {name}{mark}", "bold"))
            changed = difference_lines(flow, self._trust, self._home, most, name)
            yield from [*changed] or self._text(flow, most)

    def _text(self, flow: FlowFile, most: int | None) -> list[str]:
        text = visible(flow.data.decode("utf-8", "replace"), kept="\n")
        return indented(cut(text, most)).split("\n")


def flows_of(bridge: Bridge) -> ProjectFlows:
    """The flows that a project brings. What is shown is what is trusted."""
    flows = Flows(bridge.settings, bridge.store.place.project)
    files, wrong = flows.of_project()
    for each in wrong:
        complain(f"{visible(str(each))}; it cannot be trusted")
    new = [each for each in files if not flows.trust.admits(each.file, each.data)]
    return ProjectFlows(files, new, bridge.settings.home, flows.trust)
