"""Files in sub-folders of the folders that are read: nothing finds them there."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from bridge.agents import agent_names
from bridge.agents.files import Unreadable, open_plain
from bridge.cli.common.output import complain, counted, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from bridge.agents.registry import Registry

# A sub-folder may be a whole checkout.
_MOST = 1000


def complain_of_nested(
    folders: Iterable[Path],
    suffixes: Collection[str],
    counts: Callable[[Path], bool] = lambda _file: True,
) -> None:
    """Say which sub-folders hold files that would count above."""
    for folder in folders:
        for below in sorted(folder.iterdir()) if folder.is_dir() else ():
            if not below.is_dir() or below.name.startswith("."):
                continue
            found = [
                each
                for each in islice(below.rglob("*"), _MOST)
                if each.suffix in suffixes and counts(each)
            ]
            if found:
                files = counted(len(found), "file")
                complain(
                    f"{visible(str(below))}: sub-folders are not read: {files} in it "
                    f"would have to be in {visible(str(folder))}"
                )


def complain_of_nested_agents(registry: Registry) -> None:
    """The same of agents that have a name: what definitions use may lie below them."""
    folders = (registry.folders[each] for each in agent_names.LAYERS)
    complain_of_nested(folders, agent_names.SUFFIXES, _is_agent)


def _is_agent(file: Path) -> bool:
    try:
        with open_plain(file) as opened:
            head = opened.read(agent_names.MAX_HEAD)
    except Unreadable:
        return False
    is_markdown = file.suffix == ".md" and not head.startswith(b"---")
    return not is_markdown and agent_names.declared(head) is not None
