"""End: a response is created once; then its request moves to `done/`.

The link that gives the response its name decides. Whatever a kill leaves behind after
it, the request is over, and the next reader cleans up.
"""

from contextlib import suppress
from typing import TypeGuard

from bridge.errors import NewerSchema
from bridge.protocol import plain_json
from bridge.protocol.end_facts import facts_of_end
from bridge.protocol.record import printable
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.status import move
from bridge.store.lock import LockBusy
from bridge.store.records import sealed_json
from bridge.store.state import USED, State, file_of


def publish(state: State, response: Response, *, source: str) -> bool:
    """End a request; durable on return. False when this response is not the one.

    The first response wins, for good; any other is kept as evidence, with the reason.
    `source` says in a word or two where it came from.
    """
    request_id = response.request_id
    try:
        with state.hold():
            request = state.live(request_id)
            won = is_of(request, response) and end(
                state, request, response, source=source
            )
    except LockBusy:
        # An agent's answer must not be lost to a lock: the link alone decides, and the
        # next holder of the lock cleans up.
        won = _is_live(state, response) and _link(state, response)
    if won:
        return True
    if state["responses"].has(file_of(request_id)):
        why = "the request had ended"
    elif state.live(request_id) is None:
        why = "no such request is live"
    else:
        why = "it answers another request, which had this id before"
    keep_evidence(
        state, request_id, reason=why, source=source, words=response.raw_output
    )
    return False


def is_of(request: Request | None, response: Response) -> TypeGuard[Request]:
    """Whether a response belongs to this request, not to an earlier one of its id."""
    return request is not None and response.request_digest == request.digest


def _is_live(state: State, response: Response) -> bool:
    """Whether its request is unfinished, as far as can be seen without the lock.

    The holder of the lock may claim it or give it back between our looks into the two
    folders.
    """
    request_id = response.request_id
    return any(is_of(state.live(request_id), response) for _ in range(3))


def end(state: State, request: Request, response: Response, *, source: str) -> bool:
    """Write the response and move the request away; False when another was first."""
    move(request.status, response.status)
    won = _link(state, response)
    # The request is over even if cleaning up fails, on a full disk for example.
    with suppress(OSError, NewerSchema):
        winner = response if won else state.response(request.request_id)
        if winner is not None:
            finish(state, request.request_id, winner, source=source if won else "")
    return won


def _link(state: State, response: Response) -> bool:
    """Create the response file, durable; False when there is one already."""
    file = file_of(response.request_id)
    data = sealed_json(response, state.key())
    # This also moves anything that somebody else put in its place to quarantine.
    if state.is_answered(response.request_id):
        return False
    try:
        state["responses"].create(file, data)
    except FileExistsError:
        return False
    return True


def finish(
    state: State, request_id: str, response: Response, *, source: str = ""
) -> None:
    """Move the request of an existing response to `done/`. The lock is held."""
    file = file_of(request_id)
    folder = "processing"
    request = state.find_claimed(request_id)
    if request is None and not state["done"].has(file):
        folder = "requests"
        request = state.find_waiting(request_id)
    if request is not None:
        ended = request.with_(status=response.status)
        state.make_way("done", file)
        state[folder].replace(file, ended.to_json(), durable=False)
        state[folder].move(file, state["done"])
        state.note(
            str(response.status),
            request_id,
            source=source or None,
            **facts_of_end(request, response),
        )
    # A new request with a used id. One of a newer version stays.
    if folder == "processing" and state.find_waiting(request_id) is not None:
        state.put_aside("requests", file, USED)


def sync_responses(state: State) -> None:
    """Make durable which responses there are."""
    state["responses"].sync()


def keep_evidence(
    state: State, request_id: str, *, reason: str, source: str, words: str
) -> None:
    """Keep a rejected answer, with the reason."""
    now_ms = state.now_ms()
    record = {
        "requestId": request_id,
        "at": now_ms,
        "reason": printable(reason),
        "source": printable(source),
        "rawOutput": printable(words),
    }
    data = plain_json.dumps(record, indented=True, line=True)
    stem = file_of(request_id).removesuffix(".json")
    for number in range(1000):
        with suppress(FileExistsError):
            state["evidence"].create(f"{stem}.{now_ms}-{number}.json", data)
            break
    state.note("evidence", request_id, source=record["source"], reason=record["reason"])
