"""Look at requests without changing anything; no lock is taken.

Those that wait come in the order in which they are taken: priority first, then the
oldest. Our own ids contain both, so ten thousand of them are ordered without opening a
file. For ids that somebody else chose, the file says it.
"""

import heapq
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

from bridge.errors import NewerSchema
from bridge.protocol.ids import OURS, PRIORITIES, Priority, RequestId, find_rank, is_id
from bridge.protocol.record import Unparsable, json_object
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.store import Found, journal, live_runs
from bridge.store.directory import NotAPlainFile
from bridge.store.records import all_put_aside, read_request
from bridge.store.state import State

Rank = tuple[Priority, int]

# How many files with foreign names are read to find out which comes first.
MAX_ASKED = 256


def in_order(
    names: Iterable[str], rank: Callable[[str], Rank | None]
) -> Iterator[RequestId]:
    """Yield ids in the order in which they should be claimed.

    `rank` tells priority and creation time (microseconds) of a foreign id, or None for
    one to leave out. It is asked in the order of the names, before the first is given.
    """
    names = list(names)
    # One pass, by `filter`: a loop in Python over ten thousand names takes longer.
    ours = [*filter(OURS.match, names)]
    if len(ours) == len(names):
        return _ours_in_order(ours)
    foreign = sorted(set(names).difference(ours))
    ranked = _ranked(_ours_in_order(ours), find_rank)
    merged = heapq.merge(ranked, sorted(_ranked(foreign, rank)))
    return (RequestId(name) for _, _, name in merged)


def _ours_in_order(names: list[str]) -> Iterator[RequestId]:
    oldest_first = sorted(names)
    for level in PRIORITIES:
        # The letter stands at the same place in each.
        yield from (RequestId(n) for n in oldest_first if n[12] == level[0])


def _ranked(
    names: Iterable[str], rank: Callable[[str], Rank | None]
) -> Iterator[tuple[int, int, str]]:
    for name in names:
        if found := rank(name):
            yield PRIORITIES.index(found[0]), found[1], name


class Ranks:
    """Priority and age of ids that somebody else chose, read from their files.

    Args:
        state: where they lie.
        most: how many files are read; any further id is left out.
        is_known: whether an id can be left out without being read.

    Attributes:
        is_cut: whether `most` was not enough.
        gone: how many were read and lay there no more, or were put aside.
    """

    def __init__(
        self,
        state: State,
        *,
        most: float = inf,
        is_known: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.is_cut = False
        self.gone = 0
        self._state = state
        self._left = most
        self._is_known = is_known

    def __call__(self, name: str) -> Rank | None:
        """As `in_order` asks it."""
        if self._is_known(name):
            return None
        if self._left <= 0:
            self.is_cut = True
            return None
        self._left -= 1
        request = self._state.find_waiting(name)
        if request is None:
            self.gone += name not in self._state.unread
            return None
        return request.priority, request.created_at * 1000


def waiting_in_order(state: State, ranks: Ranks | None = None) -> Iterator[RequestId]:
    """Ids of `requests/` in the order in which they should be claimed."""
    return in_order(state["requests"].names(), ranks or Ranks(state))


def find(state: State, request_id: RequestId) -> Found | None:
    """The request as it stands; None when there is none.

    Raises:
        NewerSchema: a newer hostbridge wrote its answer.
    """
    if not is_id(request_id):
        return None
    # It may move to a folder that was already looked at.
    for _ in range(3):
        found = look(state, request_id)
        if found is not None:
            return found
    return None


def find_unfinished(state: State, request_id: RequestId) -> Request | None:
    """The request, if there is one that has not ended."""
    found = find(state, request_id)
    return found.request if found and found.response is None else None


def look(state: State, request_id: RequestId) -> Found | None:
    """One look, in the order of a request's life."""
    request = state.find_waiting(request_id) or state.find_claimed(request_id)
    response = state.response(request_id)
    if response is not None:
        ended = state.ended(request_id) or request
        return Found(response.status, ended, response)
    return Found(request.status, request, None) if request else None


def why_unreadable(state: State, request_id: RequestId) -> str | None:
    """Why the file of an unfinished request cannot be read, and what to do.

    It may be in quarantine. None if there is no such file, or it can be read.
    """
    for folder in ("requests", "processing"):
        path = f"{state[folder].path}/{request_id}.json"
        try:
            read_request(state[folder], request_id, state.now_ms())
        except NewerSchema as exc:
            return f"{path}: {exc}, or remove the file"
        except NotAPlainFile as exc:
            return f"{path}: {exc.problem}; {exc.cure}"
        except Unparsable as exc:
            return f"{path}: {exc}; correct the file, or remove it"
    return _why_put_aside(state, request_id)


def _why_put_aside(state: State, request_id: RequestId) -> str | None:
    file = f"{request_id}.json"
    found = [
        aside
        for aside in all_put_aside(state["quarantine"], f"{file}.")
        if aside.origin.endswith((f"/requests/{file}", f"/processing/{file}"))
    ]
    if not found:
        return None
    newest = max(found, key=lambda aside: aside.at)
    back = f"{state['requests'].path}/{file}"
    return f"{newest.path}: {newest.why}; correct the file and move it to {back}"


def is_over(state: State, request_id: RequestId) -> bool:
    """Whether a request has ended, or does not exist."""
    file = f"{request_id}.json"
    if state["responses"].has(file):
        return True
    return not state["processing"].has(file) and find(state, request_id) is None


def waiting(state: State) -> list[RequestId]:
    """Ids of waiting requests, in the order in which they would be claimed."""
    return list(waiting_in_order(state))


def queue_changed_ns(state: State) -> int:
    """When a waiting request last came or went; nanoseconds.

    It is the file system's time: compare it only with itself.
    """
    return os.fstat(state["requests"].fd).st_mtime_ns


def has_waiting(state: State) -> bool:
    """Whether anything waits; the cost does not grow with the queue."""
    return any(
        entry.name.endswith(".json") and entry.name[0] != "."
        for entry in state["requests"].entries()
    )


def all_claimed(state: State) -> list[Request]:
    """The requests in `processing/`, oldest claim first."""
    loaded = (state.find_claimed(name) for name in state["processing"].names())
    held = [request for request in loaded if request is not None]
    # Several may be claimed within one millisecond.
    return sorted(held, key=lambda r: (r.claim.at if r.claim else 0, r.request_id))


def evidence_of(state: State, request_id: RequestId) -> list[dict[str, Any]]:
    """What was kept for a request, oldest first; what cannot be read is left out."""
    folder = state["evidence"]
    kept = []
    for name in sorted(n for n in folder.names() if n.rpartition(".")[0] == request_id):
        with suppress(NotAPlainFile):
            kept.append(json_object(folder.read(f"{name}.json")))
    return [found for found in kept if found]


def files_about(
    state: State, request_id: RequestId, agent_ids: Iterable[str] = ()
) -> list[Path]:
    """The files that tell of a request, and of the agents that served it."""
    names = [
        f"{folder}/{request_id}.json"
        for folder in ("requests", "processing", "done", "responses")
    ]
    for folder in ("evidence", "questions", "quarantine"):
        beside = sorted(entry.name for entry in state[folder].entries())
        names += [f"{folder}/{n}" for n in beside if n.startswith(f"{request_id}.")]
    names += [f"{live_runs.RUNS}/{request_id}{end}" for end in live_runs.LOG_SUFFIXES]
    names += [
        f"agents/{each}{end}" for each in agent_ids for end in (".json", ".calls")
    ]
    found = [name for name in names if state.directory.has(name)]
    if journal.lines_about(state.directory, request_id):
        found.append(journal.NAME)
    return [Path(state.directory.path) / name for name in found]


def history(state: State, request_id: RequestId) -> list[dict[str, Any]]:
    """The lines of the journal about a request, oldest first."""
    return journal.lines_about(state.directory, request_id)


def newest_responses(state: State, count: int) -> list[Response]:
    """The responses that came last, newest first; what cannot be read is left out.

    At most `count` files are looked at.
    """
    files = []
    for entry in state["responses"].entries():
        request_id = entry.name.removesuffix(".json")
        if entry.name.endswith(".json") and is_id(request_id):
            files.append((entry.stat(follow_symlinks=False).st_mtime, request_id))
    newest = []
    for _, request_id in sorted(files, reverse=True)[:count]:
        with suppress(NewerSchema, OSError):
            newest.append(state.response(request_id))
    return [response for response in newest if response is not None]
