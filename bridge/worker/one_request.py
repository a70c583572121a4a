"""Serve one request in a process of its own, which outlives the hook that starts it.

Every end is a response: that the route is not available on this machine, too. A session
that was not told the answer is woken (`bridge.bound.headless` starts this).
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from bridge.bound.delegation import give_up
from bridge.errors import BridgeError
from bridge.protocol.failure_codes import code_of
from bridge.protocol.ids import check_id
from bridge.routes import check_own
from bridge.store.sessions import live_sessions
from bridge.store.tool_calls import forget_answer, untold
from bridge.store.wakeups import wake
from bridge.worker.executors import open_worker

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.protocol.ids import RequestId
    from bridge.protocol.status import Stage
    from bridge.store.store import Store

# Whoever waits looks twenty times a second.
_TOLD_BY_S = 1.0


def detached(
    store: Store, settings: Settings, request_id: str, session_id: str
) -> None:
    """Serve the request to its end, unless somebody else does.

    The work ends with the session, if one is named.
    """
    known = check_id(request_id)
    request = store.find_unfinished(known)
    if request is None:
        return
    try:
        worker = open_worker(store, settings, check_own(request.route))
        if session_id:
            worker.on_stage = partial(_end_with_session, store, known, session_id)
        worker.see_through(known)
    except BridgeError as exc:
        give_up(store, request, code_of(exc), exc.what)
    finally:
        # After a bug, too: the worker has ended the request.
        time.sleep(_TOLD_BY_S)
        _wake(store, request_id)


def _end_with_session(
    store: Store, known: RequestId, session_id: str, _stage: Stage
) -> None:
    """End the request once the session is not open any more."""
    if live_sessions(store, which=lambda s: session_id in s.ids):
        return
    if request := store.find_unfinished(known):
        give_up(store, request, "host_gone", "the session that asked has ended")
        # If it is resumed, the same call is a new question.
        forget_answer(store, session_id, known)


def _wake(store: Store, request_id: str) -> None:
    """Wake the session whose call it was, if nobody has told it the answer."""
    late = [
        session
        for session in live_sessions(store)
        if request_id in untold(store, session.session_id).values()
    ]
    wake(store, late)
