"""The flows of a project, for `hostbridge trust`: shown as they are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.api.flow_files import FlowFile, Flows
from bridge.cli.output import visible
from bridge.cli.screen import Styled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.api.bridge import Bridge

_MAX_SHOWN = 20_000


@dataclass(frozen=True, slots=True)
class ProjectFlows:
    """The flows of a project; `new` are those that are not trusted as they are."""

    files: list[FlowFile]
    new: list[FlowFile]

    def lines(self, most: int | None = _MAX_SHOWN) -> Iterator[str]:
        """What they say, cut at `most` characters each."""
        for flow in self.files:
            mark = "  (new, or changed)" if flow in self.new else ""
            yield ""
            yield Styled(f"flow: {visible(str(flow.file))}{mark}", "bold")
            shown = visible(flow.data.decode("utf-8", "replace")[:most], kept="\n")
            yield from (f"    {line}" for line in shown.splitlines())
            if most is not None and len(flow.data) > most:
                yield "    … all of it: hostbridge trust --show"


def flows_of(bridge: Bridge) -> ProjectFlows:
    """The flows that a project brings. What is shown is what is trusted."""
    flows = Flows(bridge.settings, bridge.store.place.project)
    files = flows.of_project()
    new = [each for each in files if not flows.trust.admits(each.file, each.data)]
    return ProjectFlows(files, new)
