"""Look at requests without changing anything; no lock is taken."""

from __future__ import annotations

from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any

import orjson

from bridge.errors import NewerSchema
from bridge.protocol.ids import is_id
from bridge.protocol.record import Unparsable
from bridge.store import Found
from bridge.store.directory import NotAPlainFile
from bridge.store.order import in_order
from bridge.store.quarantine import all_put_aside
from bridge.store.records import read_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.protocol.ids import RequestId
    from bridge.protocol.request import Request
    from bridge.store.order import Rank
    from bridge.store.state import State

# So many files of foreign names are read to find out which of them comes first.
MAX_ASKED = 256


def find(state: State, request_id: RequestId) -> Found | None:
    """The request as it stands; None when there is none.

    Raises:
        NewerSchema: a newer hostbridge wrote its answer.
    """
    if not is_id(request_id):
        return None
    # It may move from a folder not yet looked at to one already seen.
    for _ in range(3):
        found = look(state, request_id)
        if found is not None:
            return found
    return None


def look(state: State, request_id: RequestId) -> Found | None:
    """One look, in the order in which a request moves on."""
    request = state.waiting(request_id) or state.claimed(request_id)
    response = state.response(request_id)
    if response is not None:
        ended = state.ended(request_id) or request
        return Found(response.status, ended, response)
    return Found(request.status, request, None) if request else None


def why_unreadable(state: State, request_id: RequestId) -> str | None:
    """Why the file of an unfinished request cannot be read, where it is, the way out.

    It may have been put aside. None where there is no such file, or it can be read.
    """
    for room in ("requests", "processing"):
        path = f"{state[room].path}/{request_id}.json"
        try:
            read_request(state[room], request_id, state.now_ms())
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


class Ranks:
    """Priority and age of ids that somebody else chose: their files tell.

    Args:
        state: where they lie.
        most: how many files are read; any further id is left out.
        is_known: whether an id can be left out without being read.

    Attributes:
        is_cut: whether `most` was not enough.
        left_out: how many were not read, for whichever reason.
        gone: how many were read and lay there no more, or were put aside.
    """

    def __init__(
        self,
        state: State,
        *,
        most: float = inf,
        is_known: Callable[[str], object] = lambda _: False,
    ) -> None:
        self.is_cut = False
        self.left_out = self.gone = 0
        self._state = state
        self._left = most
        self._is_known = is_known

    def __call__(self, name: str) -> Rank | None:
        """As `in_order` asks it."""
        is_known = bool(self._is_known(name))
        if is_known or self._left <= 0:
            self.left_out += 1
            self.is_cut |= not is_known
            return None
        self._left -= 1
        request = self._state.waiting(name)
        if request is None:
            self.gone += name not in self._state.unread
            return None
        return request.priority, request.created_at * 1000


def waiting_in_order(state: State, ranks: Ranks | None = None) -> Iterator[RequestId]:
    """Ids of `requests/` in the order in which they should be claimed."""
    return in_order(state["requests"].names(), ranks or Ranks(state))


def has_waiting(state: State) -> bool:
    """Whether anything waits; the cost does not grow with the queue."""
    return any(
        entry.name.endswith(".json") and entry.name[0] != "."
        for entry in state["requests"].entries()
    )


def all_claimed(state: State) -> list[Request]:
    """What lies in `processing/`, oldest claim first."""
    loaded = (state.claimed(name) for name in state["processing"].names())
    held = [request for request in loaded if request is not None]
    return sorted(held, key=lambda r: r.claim.at if r.claim else 0)


def evidence_of(state: State, request_id: RequestId) -> list[dict[str, Any]]:
    """What was kept for a request, oldest first; what cannot be read is left out."""
    folder = state["evidence"]
    kept = []
    for name in sorted(n for n in folder.names() if n.rpartition(".")[0] == request_id):
        with suppress(orjson.JSONDecodeError, NotAPlainFile):
            told = orjson.loads(folder.read(f"{name}.json") or b"null")
            if isinstance(told, dict):
                kept.append(told)
    return kept
