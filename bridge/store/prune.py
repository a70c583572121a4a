"""Prune: remove what has ended, by age and by size; what is unfinished stays.

A finished request goes with its evidence and the log of its run: these first, then the
request, last the response. A kill in between leaves a response without its request,
which can still be read, and the next prune goes on from there. The age of a file is its
ctime, which nobody can set. What a flow has asked stays while its run lives. Of the
journal the full files go by age.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from bridge.store import journal, live_runs, questions
from bridge.store.book import OF_A_SESSION, OF_AN_AGENT
from bridge.store.directory import Folder
from bridge.store.idle_agents import forget_gone
from bridge.store.live_runs import kept_runs, remove, runs_on_record
from bridge.store.state import State
from bridge.store.submit import forget_ended, is_submitted, known_request
from bridge.store.sweep import sweep_all

if TYPE_CHECKING:
    import os


DAY_S = 86_400
TEMPORARY_KEPT_S = 3_600
# Of a session that may still be resumed.
RESUMABLE_S = 30 * DAY_S
OF_THE_ENDED = (".ended", *OF_A_SESSION)
# Folders of files that each name a request, in `requestId`: of dedup keys, and of what
# answers rest on (`freshness.kept_reads`).
NAMERS = ("dedup", "reads")
# The lock is released after so many entries: hooks wait for it.
BATCH = 100

_ENDED = ("evidence", questions.FOLDER, live_runs.RUNS, "done", "responses")
_LIVE = ("requests", "processing")

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Pruned:
    """How much was removed: requests with all their files, and the rest.

    `removed_worktrees` are those of runs that nobody goes on with, `kept_worktrees`
    those of them that hold work, or are in use (`bridge.worktrees.leftovers.Leftover`).
    """

    requests: int = 0
    quarantined: int = 0
    dedup_keys: int = 0
    temporaries: int = 0
    bells: int = 0
    runs: int = 0
    worktrees: int = 0
    freed_bytes: int = 0
    removed_worktrees: tuple[Any, ...] = ()
    kept_worktrees: tuple[Any, ...] = ()


@dataclass(slots=True)
class _Item:
    """Files removed together: all of one finished request, or one in quarantine."""

    name: str
    is_request: bool
    files: list[tuple[str, str]] = field(default_factory=list)
    changed_s: float = 0.0
    size: int = 0

    def add(self, folder: str, file: str, facts: os.stat_result) -> None:
        self.files.append((folder, file))
        self.changed_s = max(self.changed_s, facts.st_ctime)
        self.size += facts.st_size


class PruneOptions(TypedDict, total=False):
    """What `prune` takes."""

    older_than_days: float | None
    max_bytes: int | None
    dry_run: bool
    least_s: float
    is_spared: Callable[[str], bool]
    batch: int


def prune(
    state: State,
    *,
    older_than_days: float | None = None,
    max_bytes: int | None = None,
    dry_run: bool = False,
    least_s: float = 0.0,
    is_spared: Callable[[str], bool] = lambda _name: False,
    batch: int = 0,
) -> Pruned:
    """Remove what is older, then the oldest until the rest fits into `max_bytes`.

    None sets no limit. Overdue requests are ended first. Leftover temporaries and dedup
    keys without a request are always removed; unfinished requests stay. Takes the
    lock itself, one `batch` at a time. A dry run only counts what has ended.

    `max_bytes` takes nothing that is younger than `least_s` seconds. Neither limit
    takes or counts a request that `is_spared`, nor those of runs that stay on record.
    """
    if not dry_run:
        sweep_all(state)
    now_s = state.clock.now_us() / 1_000_000
    kept_s = inf if older_than_days is None else older_than_days * DAY_S
    runs = runs_on_record(state)
    kept = kept_runs(state)
    old = {run for run, at_s in runs.items() if now_s - at_s > kept_s} - kept
    # Of what stays in any case, however much, nothing else is to make room.
    ended = _finished(state, kept | runs.keys() - old)
    may_go = (i for i in ended if not (i.is_request and is_spared(i.name)))
    items = sorted(may_go, key=lambda item: item.changed_s)
    total = sum(item.size for item in items)
    doomed = []
    for item in items:
        age_s = now_s - item.changed_s
        is_too_much = max_bytes is not None and total > max_bytes and age_s >= least_s
        if age_s > kept_s or is_too_much:
            doomed.append(item)
            total -= item.size
    gone = doomed if dry_run else _remove_all(state, doomed, batch)
    if not dry_run:
        for run in old:
            remove(state, run)
        forget_ended(state)
        journal.remove_older(state.directory, kept_s, now_s)
        forget_gone(state)
    return Pruned(
        requests=sum(item.is_request for item in gone),
        quarantined=sum(not item.is_request for item in gone),
        temporaries=0 if dry_run else _remove_temporaries(state, now_s),
        dedup_keys=0 if dry_run else _remove_namers(state),
        runs=0 if dry_run else len(old),
        freed_bytes=sum(item.size for item in gone),
    )


def _finished(state: State, runs: Collection[str]) -> list[_Item]:
    """What has ended, but for the answers of these runs, which read them again."""
    requests: dict[str, _Item] = {}
    for folder in _ENDED:
        for name, facts in _files(state[folder]):
            request_id = _request_of(folder, name)
            if request_id:
                item = _Item(request_id, is_request=True)
                requests.setdefault(request_id, item).add(folder, name, facts)
    quarantined: dict[str, _Item] = {}
    for name, facts in _files(state["quarantine"]):
        stem = name.removesuffix(".reason")
        item = quarantined.setdefault(stem, _Item(stem, is_request=False))
        item.add("quarantine", name, facts)
    live = {name for folder in _LIVE for name in state[folder].names()}
    live |= {name for name in requests if name.partition("-")[0] in runs}
    ended = [item for item in requests.values() if item.name not in live]
    return [*ended, *quarantined.values()]


def _request_of(folder: str, name: str) -> str:
    """The request that a file belongs to; empty if it belongs to none."""
    if folder == live_runs.RUNS:
        return name.partition(".")[0] if name.endswith(live_runs.LOG_SUFFIXES) else ""
    if folder == questions.FOLDER:
        return name.partition(".")[0]
    stem = name.removesuffix(".json")
    return stem.rpartition(".")[0] if folder == "evidence" else stem


def _files(folder: Folder) -> Iterator[tuple[str, os.stat_result]]:
    for entry in folder.entries():
        if entry.name[0] == ".":
            continue
        with suppress(FileNotFoundError):
            yield entry.name, entry.stat(follow_symlinks=False)


def _in_turns(
    state: State,
    doomed: list[_T],
    remove: Callable[[_T], bool],
    batch: int = 0,
) -> list[_T]:
    """The ones that `remove` removed; the lock is released between batches."""
    gone = []
    batch = batch or BATCH
    for start in range(0, len(doomed), batch):
        with state.hold_in_turns():
            gone += [one for one in doomed[start : start + batch] if remove(one)]
    return gone


def _remove_all(state: State, doomed: list[_Item], batch: int) -> list[_Item]:
    def remove(item: _Item) -> bool:
        live = [state[folder].has(f"{item.name}.json") for folder in _LIVE]
        if item.is_request and any(live):
            return False
        for folder, file in item.files:
            state[folder].clear(file)
        # Of an agent that no session ran, and whose process was killed.
        for ending in OF_AN_AGENT:
            state["agents"].remove(f"{item.name}{ending}")
        state["sessions"].remove(f"{item.name}.handovers.json")
        return True

    return _in_turns(state, doomed, remove, batch)


def _remove_temporaries(state: State, now_s: float) -> int:
    entries = list(state.directory.entries())
    names = [e.name for e in entries if e.is_dir(follow_symlinks=False)]
    folders = [state.directory, *(state[n] for n in names if n != "quarantine")]
    old = [
        (folder, name)
        for folder in folders
        for name, facts in _temporaries(folder)
        if now_s - facts.st_ctime > TEMPORARY_KEPT_S
    ]
    sessions = state["sessions"]
    old += [
        (sessions, name)
        for name, facts in _files(sessions)
        if name.endswith(OF_THE_ENDED) and now_s - facts.st_ctime > RESUMABLE_S
    ]
    return len(_in_turns(state, old, lambda one: one[0].remove(one[1])))


def _temporaries(folder: Folder) -> Iterator[tuple[str, os.stat_result]]:
    for entry in list(folder.entries()):
        if entry.name[0] == "." and entry.name.endswith(".tmp"):
            with suppress(FileNotFoundError):
                facts = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(facts.st_mode):
                    yield entry.name, facts


def _remove_namers(state: State) -> int:
    """Forget keys whose request is gone, and what answers rested on; how many keys."""
    removed = {folder: _remove_of_nothing(state, folder) for folder in NAMERS}
    return removed["dedup"]


def _remove_of_nothing(state: State, folder: str) -> int:
    files = [f"{name}.json" for name in state[folder].names()]

    def remove(file: str) -> bool:
        # A submit may have given the key to a new request since.
        if not _is_of_nothing(state, folder, file):
            return False
        state[folder].clear(file)
        return True

    doomed = [file for file in files if _is_of_nothing(state, folder, file)]
    return len(_in_turns(state, doomed, remove))


def _is_of_nothing(state: State, folder: str, file: str) -> bool:
    request_id = known_request(state, file, folder=folder)
    return request_id is None or not is_submitted(state, request_id)
