"""The definitions of the project under test: they count within the block.

Outside of it each takes the agreement of a person at a terminal (`hostbridge trust`),
which a machine that only tests has not. Here no agent is started by them, and what is
noted goes with the block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.agents import trust
from bridge.agents.agent_names import OF_PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.config import Settings


def admit(settings: Settings, project: Path) -> None:
    """Have the project's agents, flows and pipelines count, in this home alone."""
    if not (project / ".bridge").is_dir():
        return
    digests = trust.Trust(project, {}).digests_of
    trusted = {
        str(each.file.relative_to(project)): digests(each)
        for each in _sound(settings, project)
        if each.file.is_relative_to(project)
    }
    # `record` asks who agrees: nobody does, as nothing can come of it.
    trust._change(settings.home, project, trusted)  # noqa: SLF001


def _sound(settings: Settings, project: Path) -> Iterator[trust.Digested]:
    from bridge.agents.library import FLOWS, WORKFLOWS, Library
    from bridge.agents.registry import Registry

    for entry in Registry.open(settings, project).entries():
        loaded = entry.loaded
        if loaded.layer in OF_PROJECT and loaded.definition is not None:
            yield loaded
    for kind in (FLOWS, WORKFLOWS):
        yield from Library(kind, settings, project).of_project()[0]
