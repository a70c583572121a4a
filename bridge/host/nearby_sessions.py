"""Sessions that are open around a project but do not get its requests.

A submodule or a nested repository is its own project, and so is a folder that is
mounted at a second place. A program that asks there, with the session open in the outer
checkout, would wait in vain.

Source: proc_pid_mountinfo(5).
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bridge.errors import BridgeError
from bridge.store import sessions
from bridge.store.location import Place, find_owner, mirror
from bridge.store.sessions import Session
from bridge.store.store import Store

_MOUNTS = Path("/proc/self/mountinfo")


@dataclass(frozen=True, slots=True)
class Nearby:
    """Where sessions are open.

    Attributes:
        project: the project whose state they look at.
        sessions: the live ones, newest first.
    """

    project: Path
    sessions: tuple[Session, ...]


def find_nearby(store: Store) -> Nearby | None:
    """The nearest sessions in a folder around the project, or at its other names."""
    place = store.place
    if place.state == place.guard:
        # Set by BRIDGE_STATE_DIR: its users share everything.
        return None
    for project in _around(place):
        state = mirror(place.guard, project)
        if not state.is_dir():
            continue
        there = Store(Place(project, state, place.guard, ""), lease_s=store.lease_s)
        with suppress(BridgeError):
            found = sessions.live_sessions(there)
            if found:
                return Nearby(project, tuple(found))
    return None


def _around(place: Place) -> Iterator[Path]:
    seen = {place.owner}
    for name in (place.project, *other_names(place.project)):
        for folder in (name, *name.parents):
            owner = find_owner(folder)
            if owner not in seen:
                seen.add(owner)
                yield owner


def other_names(folder: Path) -> list[Path]:
    """Where else the same folder can be seen, by a bind mount."""
    try:
        table = _MOUNTS.read_text(errors="surrogateescape")
    except OSError:
        return []
    mounts = [_parse(line) for line in table.splitlines()]
    around = [m for m in mounts if folder.is_relative_to(m[2])]
    if not around:
        return []
    # The last mount at one place covers the others.
    device, root, point = max(reversed(around), key=lambda m: len(m[2].parts))
    inside = root / folder.relative_to(point)
    names = [
        at / inside.relative_to(shown)
        for other, shown, at in mounts
        if other == device and inside.is_relative_to(shown)
    ]
    return [n for n in names if n != folder and _is_same(n, folder)]


def _parse(line: str) -> tuple[str, Path, Path]:
    """A mount: its device, the folder of it that is shown, and where."""
    _, _, device, root, point, *_ = line.split(" ")
    return device, Path(_unescaped(root)), Path(_unescaped(point))


def _unescaped(name: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), name)


def _is_same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return os.path.samefile(one, other)
    return False
