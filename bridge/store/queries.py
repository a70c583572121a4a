"""Look at requests without changing anything; no lock is taken."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from bridge.errors import NewerSchema
from bridge.protocol.ids import RequestId, is_id
from bridge.protocol.record import Unparsable, json_object
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.store import Found, journal, run_logs
from bridge.store.directory import NotAPlainFile
from bridge.store.quarantine import all_put_aside
from bridge.store.records import read_request
from bridge.store.state import State
from bridge.store.waiting_order import waiting_in_order


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
    names += [f"{run_logs.FOLDER}/{request_id}{end}" for end in run_logs.SUFFIXES]
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
