"""A worktree of ours: what it is, and its record on disk.

A worktree for `FOLDER` has the record `FOLDER.json` beside it, written before anything
is made and removed after everything is gone: after a kill in between it says who was at
work, and the next call continues from there. What has no record is not ours.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from bridge.protocol.record import refuse_newer, refuse_unknown
from bridge.store.directory import Folder, NotAPlainFile
from bridge.worktrees.refused import WorktreeRefused

SCHEMA_VERSION = 1
_MAX_RECORD = 1 << 16
_KEYS = ("schemaVersion", "project", "branch", "base", "start", "stage", "untilMs")

CommitId = str
Stage = Literal["making", "made", "removing"]


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree, and where it began.

    Attributes:
        project: the main tree it was made from: its absolute path.
        folder: where its files are.
        branch: its branch, such as `hostbridge/<run>/<name>`; empty for none.
        base: the branch that it began from; empty if it began from a bare commit.
        start: the commit that it began from.
        stage: how far it is made; only `made` is ever returned.
        until_ms: of a checkout, when nobody is at work in it any more, in milliseconds
            since 1970; 0 for a worktree that stays until it is removed.
    """

    project: Path
    folder: Path
    branch: str
    base: str
    start: CommitId
    stage: Stage = "made"
    until_ms: int = 0

    def at(self, stage: Stage) -> Worktree:
        """The same worktree at another stage."""
        return replace(self, stage=stage)


def folder_of(state: Path, run: str, name: str) -> Path:
    """Where the worktree `name` of a run lies, in the state of its project.

    Git's entries name real paths: a home may be behind a link.
    """
    return _above(state) / run / name


def records(state: Path) -> list[Path]:
    """The records of all worktrees in a state directory; through a link there are none.

    `find` refuses a run's folder that is a link.
    """
    above = _above(state)
    return [] if above.is_symlink() else sorted(above.glob("*/*.json"))


def _above(state: Path) -> Path:
    return Path(os.path.realpath(state)) / "worktrees"


def find(folder: Path) -> Worktree | None:
    """The worktree in `folder` as its record has it; None if there is no record.

    Raises:
        WorktreeRefused: the record cannot be read.
        NewerSchema: a newer hostbridge wrote it.
    """
    try:
        with Folder.open(str(folder.parent)) as above:
            data = above.read(_record_name(folder), _MAX_RECORD)
    except FileNotFoundError:
        return None
    except NotAPlainFile as exc:
        raise WorktreeRefused(f"{exc.path}: {exc.problem}", ways=(exc.cure,)) from None
    return None if data is None else _read(folder, data)


def write(worktree: Worktree) -> None:
    """Write the record of a worktree; durable on return."""
    said = {key: str(value) for key, value in asdict(worktree).items()}
    del said["folder"]
    until_ms = said.pop("until_ms")
    if worktree.until_ms:
        said["untilMs"] = until_ms
    data = json.dumps({"schemaVersion": SCHEMA_VERSION, **said}).encode() + b"\n"
    worktree.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Folder.open(str(worktree.folder.parent)) as above:
        _clear(above, worktree.folder)
        above.replace(_record_name(worktree.folder), data)


def forget(folder: Path) -> None:
    """Remove the record of a worktree that is gone."""
    with Folder.open(str(folder.parent)) as above:
        _clear(above, folder)
        above.remove(_record_name(folder))
        above.sync()


def _clear(above: Folder, folder: Path) -> None:
    """Remove what a killed process has left of writing a record."""
    for entry in list(above.entries()):
        if entry.name.startswith(f".{_record_name(folder)}."):
            above.remove(entry.name)


def _record_name(folder: Path) -> str:
    return f"{folder.name}.json"


def _read(folder: Path, data: bytes) -> Worktree:
    place = f"{folder}.json"
    try:
        said: dict[str, Any] = json.loads(data)
        refuse_newer(said["schemaVersion"], SCHEMA_VERSION, file=place)
        refuse_unknown(said, _KEYS, file=place)
        fields: dict[str, Any] = {
            key: said[key] for key in ("branch", "base", "start", "stage")
        }
        fields["until_ms"] = int(said.get("untilMs", 0))
        return Worktree(Path(os.fspath(said["project"])), folder, **fields)
    except (ValueError, KeyError, TypeError):
        raise WorktreeRefused(
            f"{place} is no record of a worktree", ways=("move it away",)
        ) from None
