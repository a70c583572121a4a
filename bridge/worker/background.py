"""Do the long steps of a run in a process of its own: `background.py PLACE RUN`.

Started by whoever advances a run in an open session, and outlives it. PLACE is the
project's `Place` as a JSON list. Each step is done under its claim, and what it came to
leads on. If this process is killed, whoever looks next starts another.
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False
# Nothing of ours is imported before its path is set, below.
if TYPE_CHECKING:
    from bridge.engine.long_steps import LongStep

_WAIT_S = 2.0
# How often to try while the state cannot be used.
_TRIES = 30


def main(place: str, run_id: str) -> None:
    """Do what is to be done, until nothing is."""
    from bridge.config import Settings
    from bridge.engine.advance import advance, news_of
    from bridge.errors import BridgeError, StateUnavailable
    from bridge.store.config_file import in_files
    from bridge.store.hook_log import log_failure
    from bridge.store.location import Place
    from bridge.store.sessions import tell_sessions
    from bridge.store.store import Store
    from bridge.worker.long_work import LongWork

    where = Place.of_words(json.loads(place))
    settings, _problems = in_files(Settings.from_environment(), where.state)
    store = Store(where, lease_s=settings.lease_s)
    tries_left = _TRIES
    with LongWork(store, settings) as work:
        while tries_left:
            try:
                found: list[LongStep] = []
                before, reached = store.now_ms(), set[str]()
                run = advance(store, settings, run_id, reached=reached, long=found)
                if lines := [*news_of(run, reached, since_ms=before)]:
                    # No hook has seen it.
                    tell_sessions(store, lines)
                work.take(each for each in found if each.node)
                if work.is_busy:
                    work.wait(_WAIT_S)
                elif not found:
                    return
                tries_left = _TRIES
            except StateUnavailable:
                tries_left -= 1
                time.sleep(1.0)
            except BridgeError:
                return
            except Exception:  # noqa: BLE001 - whoever looks next begins anew
                log_failure("background")
                return


if __name__ == "__main__":
    # Whoever started us neither waits for us nor takes us along to its end.
    if os.fork():
        os._exit(0)
    # The same package as the hook's, whatever else is installed.
    sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
    main(*sys.argv[1:])
