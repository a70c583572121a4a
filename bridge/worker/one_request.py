"""Serve one request in a process of its own: `one_request.py PLACE ID SESSION`.

Started by a hook (`bridge.bound.headless`), and outlives it. PLACE is the project's
`Place` as a JSON list. Every end is a response: that the route is not available on this
machine, too. A session that was not told the answer is woken. The work ends with
SESSION, if that is not empty.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import partial

TYPE_CHECKING = False
# Nothing of ours is imported before its path is set, below.
if TYPE_CHECKING:
    from bridge.protocol.ids import RequestId
    from bridge.protocol.status import Stage
    from bridge.store.store import Store

# Whoever waits looks twenty times a second.
_TOLD_BY_S = 1.0


def main(place: str, request_id: str, session_id: str) -> None:
    """Serve the request to its end, unless somebody else does."""
    from bridge.bound.delegation import give_up
    from bridge.config import Settings
    from bridge.errors import BridgeError
    from bridge.protocol.failure_codes import code_of
    from bridge.protocol.ids import check_id
    from bridge.routes import check_own
    from bridge.store.config_file import in_files
    from bridge.store.hook_log import log_failure
    from bridge.store.location import Place
    from bridge.store.store import Store
    from bridge.worker.executors import open_worker

    where = Place.of_words(json.loads(place))
    settings, _problems = in_files(Settings.from_environment(), where.state)
    store = Store(where, lease_s=settings.lease_s)
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
    except Exception:  # noqa: BLE001 - the worker has ended the request
        log_failure("headless")
    time.sleep(_TOLD_BY_S)
    _wake(store, request_id)


def _end_with_session(
    store: Store, known: RequestId, session_id: str, _stage: Stage
) -> None:
    """End the request once the session is not open any more."""
    from bridge.bound.delegation import give_up
    from bridge.store.sessions import live_sessions
    from bridge.store.tool_calls import forget_answer

    if live_sessions(store, which=lambda s: session_id in s.ids):
        return
    if request := store.find_unfinished(known):
        give_up(store, request, "host_gone", "the session that asked has ended")
        # If it is resumed, the same call is a new question.
        forget_answer(store, session_id, known)


def _wake(store: Store, request_id: str) -> None:
    """Wake the session whose call it was, if nobody has told it the answer."""
    from bridge.store.sessions import live_sessions
    from bridge.store.tool_calls import untold
    from bridge.store.wakeups import wake

    late = [
        session
        for session in live_sessions(store)
        if request_id in untold(store, session.session_id).values()
    ]
    wake(store, late)


if __name__ == "__main__":
    # Whoever started us neither waits for us nor takes us along to its end.
    if os.fork():
        os._exit(0)
    # The same package as the hook's, whatever else is installed.
    sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
    main(*sys.argv[1:])
