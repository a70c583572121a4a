"""What an agent asks whose request this process serves: written down, and waited for.

The process waits for as long as its asker does; one that serves whatever waits holds
the agent for a moment only, and gives the request back: it waits for the reply, and is
served anew then, with question and reply. An agent of a run asks its person as any that
is blocked does (`bridge.engine.facts`): its request ends with the question.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.protocol.ids import RequestId
from bridge.protocol.question import Asked, Exchange
from bridge.protocol.status import Stage
from bridge.store import questions
from bridge.store.live_runs import run_of

if TYPE_CHECKING:
    from bridge.protocol.claim import HostProcess
    from bridge.protocol.request import Request
    from bridge.store.store import Store
    from bridge.worker.heartbeat import Watch

# How long an agent is held where others wait to be served, in seconds.
HOLD_S = 15.0
_LOOK_S = 0.1


@dataclass(slots=True)
class QuestionRelay:
    """What the agent of one request asks; called with each question.

    `for_run` is the question with which a request of a run ends; `is_untold` says that
    the agent has ended without the reply to its question.
    """

    store: Store
    request_id: RequestId
    host: HostProcess
    watch: Watch
    hold_s: float = math.inf
    for_run: Asked | None = None
    is_untold: bool = False

    def __call__(self, asked: Asked) -> Exchange | None:
        """The question with its reply; None if none comes while the agent is held."""
        if run_of(self.store.place, self.request_id):
            self.for_run = asked
            return None
        with self.store.state() as state:
            known = questions.ask(
                state, self.request_id, lambda claim: claim.host == self.host, asked
            )
        number = known.asks.number if known and known.asks else 0
        self.watch.stage = Stage.ASKING
        try:
            exchange = self._reply(number) if number else None
        finally:
            self.watch.stage = Stage.RUNNING
        self.is_untold = bool(number) and exchange is None
        return exchange

    def _reply(self, number: int) -> Exchange | None:
        store, clock = self.store, self.store.clock
        file = questions.reply_file(self.request_id, number)
        path = store.place.state / questions.FOLDER / file
        until_s = min(self.watch.end_s, clock.monotonic_s() + self.hold_s)
        while not self.watch() and clock.monotonic_s() < until_s:
            if path.exists():
                request = store.take_reply(self.request_id)
                if request is not None and request.asks is None:
                    return request.exchanges[-1]
            time.sleep(_LOOK_S)
        return None

    def open_request(self) -> Request | None:
        """The request, if its agent has asked, and has had no reply.

        One may have come as the agent ended: whoever serves next has it.
        """
        return self.store.find_unfinished(self.request_id) if self.is_untold else None
