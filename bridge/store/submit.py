"""Submit: make a request durable and visible, whole, once."""

from collections.abc import Collection
from contextlib import suppress

from bridge.errors import InvalidRequest
from bridge.protocol.ids import RequestId, is_id
from bridge.protocol.request import Request
from bridge.protocol.trace_context import handed_on
from bridge.store import Submitted
from bridge.store.dedup_keys import find_same, remember_key
from bridge.store.fan_out import is_surplus, mark
from bridge.store.state import State, file_of

FOLDERS_OF_IDS = ("requests", "processing", "responses", "done")


def is_submitted(state: State, request_id: str) -> bool:
    """Whether a request of this id was ever made, and is not forgotten."""
    file = file_of(request_id)
    return any(state[folder].has(file) for folder in FOLDERS_OF_IDS)


def submit(
    state: State,
    request: Request,
    *,
    routes: Collection[str] = (),
    fan_out: int | None = None,
) -> Submitted:
    """Make a request durable and visible, whole.

    If its dedup key stands for another request that asks the same, that one is
    returned. `routes` are those whose answer is acceptable, by default the request's
    own. With `fan_out`, one more at once than so many of its asker is held.

    Raises:
        InvalidRequest: the id was used before, its key stands for another question, or
            a field has no JSON form.
    """
    file = file_of(request.request_id)
    request = _traced(state, request)
    requests = state["requests"]
    # Done before the lock is taken, because it takes time.
    temporary = requests.prepare(file, _json(request))
    try:
        with state.hold():
            earlier = find_same(state, request, routes)
            if earlier is not None and earlier.request is not None:
                known = RequestId(earlier.request.request_id)
                return Submitted(known, is_new=False)
            if is_submitted(state, request.request_id):
                raise _used(request)
            remember_key(state, request)
            if fan_out is not None and is_surplus(state, request, fan_out):
                requests.remove(temporary)
                request = request.with_(held=fan_out)
                temporary = requests.prepare(file, _json(request))
                mark(state)
            try:
                requests.publish(temporary, file)
            except FileExistsError:
                raise _used(request) from None
            temporary = ""
            state.note(
                "submitted",
                request.request_id,
                agent=request.agent_type,
                by=request.requester,
                parent=request.parent_request_id,
                traceparent=request.traceparent,
            )
    finally:
        if temporary:
            with suppress(OSError):
                requests.remove(temporary)
    requests.sync()
    return Submitted(RequestId(request.request_id), is_new=True)


def _traced(state: State, request: Request) -> Request:
    """The request, in the trace of the one whose agent made it."""
    parent = request.parent_request_id
    if parent is None or request.traceparent is not None or not is_id(parent):
        return request
    made_it = state.live(parent) or state.ended(parent)
    given = made_it and handed_on(made_it.traceparent, parent)
    return request.with_(traceparent=given) if given else request


def _json(request: Request) -> bytes:
    try:
        return request.with_defaults().to_json()
    except ValueError as exc:
        raise InvalidRequest(
            f"the request {exc}", request_id=request.request_id
        ) from None


def _used(request: Request) -> InvalidRequest:
    return InvalidRequest(
        f"request id {request.request_id!r} was used before; choose another, or none",
        request_id=request.request_id,
    )
