"""Answers what waits in a state directory, as a script says, in a thread.

One request at a time: claimed in the name of the stand-in for a session, its outcome
asked of the script, its end published. Of several that wait at once the order does not
depend on which thread of the program was quicker, as far as that can be seen.

A question to which nobody replies within `reply_s` seconds, really passed, ends its
request as at its deadline: nothing else tells that a program leaves it to others. Time
in which this process did not run is not counted: the program could not reply then.

What the script raises ends whatever waits or comes later, as `cancelled`: the program
must not wait for an answer that nobody gives.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.errors import StateVanished
from bridge.freshness.kept_reads import keep
from bridge.protocol.ids import RequestId, check_id
from bridge.protocol.response import failed
from bridge.protocol.status import Stage
from bridge.store.claim import expired
from bridge.store.questions import ask
from bridge.testing.host import MODEL
from bridge.testing.outcome import Outcome, question_in, response_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.protocol.request import Request
    from bridge.store.store import Store
    from bridge.testing.host import StandIn

_PAUSE_S = 0.002
# With several threads in the program: how long nothing new must have come.
_SETTLED_S = 0.02
# The most that counts between two looks, as long as nobody has scheduled us.
_MOST_S = 0.05
_LATE = "a second agent"


class Answerer:
    """The thread, from its making until `stop`.

    Args:
        store: where the requests come.
        host: in whose name they are claimed; None if no session is open.
        outcome_of: the script.
        reply_s: how long a question waits for its reply, in seconds.
    """

    def __init__(
        self,
        store: Store,
        host: StandIn | None,
        outcome_of: Callable[[Request], Outcome],
        *,
        reply_s: float,
    ) -> None:
        """Begin to answer."""
        self._store = store
        self._host = host
        self._outcome_of = outcome_of
        self._reply_s = reply_s
        # The requests that wait for a reply: to which question, and until when.
        self._asked: dict[RequestId, tuple[int, float]] = {}
        self._ran_s = 0.0
        self._over = threading.Event()
        self.raised: BaseException | None = None
        self._thread = threading.Thread(
            target=self._run, name="hostbridge answers", daemon=True
        )
        # Whoever is more than these, and itself, is a thread of the program.
        self._threads = _count_threads() + 1
        self._thread.start()

    def stop(self) -> None:
        """End, once all that waits now is answered: what is must not be chance."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        is_over, before_s = False, time.monotonic()
        while not is_over:
            is_over = self._over.wait(_PAUSE_S)
            now_s = time.monotonic()
            self._ran_s += min(now_s - before_s, _MOST_S)
            before_s = now_s
            try:
                for request in self._waiting():
                    self._answer(request)
                self._end_what_nobody_replies_to()
            except StateVanished:
                # The program has removed it; so it will see.
                continue
            except Exception as exc:  # noqa: BLE001 - as in `_answer`
                self.raised = self.raised or exc

    def _waiting(self) -> list[Request]:
        """What waits, in an order that the program's own threads do not change."""
        ids: list[RequestId] = self._ids()
        while ids and _count_threads() > self._threads:
            self._over.wait(_SETTLED_S)
            if (now := self._ids()) == ids:
                break
            ids = now
        found = [self._store.find_unfinished(each) for each in ids]
        # Whoever asks on a route of its own serves it itself, and fails by name.
        ours = [each for each in found if each is not None and each.route == "host"]
        if _count_threads() > self._threads:
            return sorted(ours, key=_order)
        # Whoever asks one by one may be answered in between.
        return sorted(ours, key=lambda each: (each.created_at, each.request_id))

    def _ids(self) -> list[RequestId]:
        if not (self._store.exists() and self._store.has_waiting()):
            return []
        return self._store.waiting()

    def _answer(self, request: Request) -> None:
        if self._host is None:
            late = expired(request, request.deadline_ms, Stage.NO_HOST)
            self._store.publish(late, source="test")
            return
        # As it is by now: a reply may have come since it was looked at.
        claimed = self._claimed(request, self._host)
        if claimed is None:
            return
        try:
            if self.raised is None:
                self._play(claimed, self._outcome_of(claimed), self._host)
                return
        except BaseException as exc:  # noqa: BLE001 - it must reach the test, not a thread
            self.raised = exc
        self._end(request, f"the test's script raised {self.raised!r}")

    def _claimed(self, request: Request, host: StandIn) -> Request | None:
        """The request, claimed and given to an agent; None if somebody else has it."""
        request_id = _id(request)
        claimant = host.claimant()
        if self._store.claim_one(request_id, claimant) is None:
            return None
        now_ms = self._store.now_ms()
        return self._store.change_claim(
            request_id,
            claimant.host,
            lambda claim: claim.with_(launched_at=now_ms, background=True),
            event="launched",
        )

    def _play(self, request: Request, outcome: Outcome, host: StandIn) -> None:
        live: Request | None = self._store.find_unfinished(_id(request))
        for _ in range(outcome.crashes):
            host.crash()
            host.begin()
            self._store.sweep()
            live = self._claimed(request, host)
            if live is None:
                return
        if live is None or self._asks(live, outcome, host):
            return
        response = response_to(live, outcome)
        # An earlier answer to whoever asks again: its agent has looked at nothing.
        project = self._store.place.project
        with self._store.state() as state:
            keep(state, live, response, (), project=project, model=MODEL)
        self._store.publish(response, source="test")
        if outcome.then is not None:
            second = replace(outcome, words=outcome.then, code=None, after_s=0.0)
            self._store.publish(response_to(live, second), source=_LATE)

    def _asks(self, live: Request, outcome: Outcome, host: StandIn) -> bool:
        """Whether its agent asks back; with the reply it waits here once more."""
        is_words = live.may_ask and outcome.code is None
        asked = question_in(live, outcome.words) if is_words else None
        if asked is None:
            return False
        with self._store.state() as state:
            ask(state, _id(live), lambda claim: claim.host == host.host, asked)
        until_s = self._ran_s + self._reply_s
        self._asked[_id(live)] = len(live.exchanges) + 1, until_s
        self._store.give_back(_id(live), host.host)
        return True

    def _end_what_nobody_replies_to(self) -> None:
        for request_id, (number, until_s) in [*self._asked.items()]:
            if self._ran_s < until_s:
                continue
            del self._asked[request_id]
            live = self._store.find_unfinished(request_id)
            asks = live.asks if live else None
            if live is not None and asks is not None and asks.number == number:
                late = expired(live, live.deadline_ms, Stage.ASKING)
                self._store.publish(late, source="test")

    def _end(self, request: Request, why: str) -> None:
        live = self._store.find_unfinished(_id(request))
        if live is not None:
            end = failed(live, "cancelled", why, now_ms=self._store.now_ms())
            self._store.publish(end, source="test")


def _id(request: Request) -> RequestId:
    return check_id(request.request_id)


def _count_threads() -> int:
    """How many threads there are, but for those that wake a waiter (`watchdog`)."""
    threads = threading.enumerate()
    return sum(not type(each).__module__.startswith("watchdog.") for each in threads)


def _order(request: Request) -> tuple[str, str, str, str]:
    schema = json.dumps(request.answer_schema, sort_keys=True)
    return request.agent_type, request.prompt, schema, request.request_id
