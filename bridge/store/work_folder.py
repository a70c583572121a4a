"""Another folder than the project that an agent works in: `folder` of its request.

It is a folder in the project, or in one of its linked worktrees, as hostbridge makes
them for a run. There the agent has what it would have in the project: the same state,
the same rules, and grants that hold below that folder.
"""

from __future__ import annotations

import os
from pathlib import Path

from bridge.errors import InvalidRequest
from bridge.store.linked_worktree import find_linked
from bridge.store.location import Place, find_project


def check_folder(place: Place, folder: str) -> Path:
    """The real path of a folder that an agent may work in.

    Raises:
        InvalidRequest: there is no such folder, or it is in neither.
    """
    path = Path(folder)
    real = Path(os.path.realpath(path))
    if not path.is_absolute() or not real.is_dir():
        raise InvalidRequest(
            f"an agent's folder must be an existing folder, with an absolute path; got "
            f"{folder!r}"
        )
    tree = find_project(real)
    linked = find_linked(tree)
    is_ours = linked is not None and linked.is_known and linked.main == place.owner
    if not is_ours and tree not in (place.project, place.owner):
        raise InvalidRequest(
            f"{folder!r} is neither in the project {place.project} nor in a worktree "
            "of it (`git worktree list` there shows them)"
        )
    return real


def working_in(place: Place, folder: str | None) -> Place:
    """The place of an agent that works in `folder`: the same state, other files.

    Raises:
        InvalidRequest: as `check_folder`.
    """
    if folder is None:
        return place
    return place._replace(project=check_folder(place, folder), main=place.owner)
