"""Take what other machines ask from the queue, and answer it here.

Threads take entries and have them answered; one listens, and renews the leases of what
they hold. Which entries, and what becomes of them here, is in `bridge.remote.here`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.errors import BridgeError, NoQueue
from bridge.protocol import plain_json
from bridge.protocol.failure_codes import code_of
from bridge.protocol.ids import RequestId
from bridge.protocol.record import json_object
from bridge.protocol.request import Request
from bridge.protocol.response import Response, failed
from bridge.protocol.status import Stage, Status
from bridge.protocol.wording import one_line
from bridge.remote.forward import (
    keep_late,
)
from bridge.remote.here import Here, Refused, refusal
from bridge.remote.keys import (
    LEASE_S,
    RENEW_S,
    Needs,
    Taken,
)
from bridge.store.switch import is_off

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.protocol.question import Asking
    from bridge.remote.queue import Queue
    from bridge.store.store import Store

    # Answers a request of this state directory by one route, to its end.
    Serve = Callable[[RequestId, Callable[[Stage], None]], object]

# How often a machine says what it offers, looks for work that a dead one held, and for
# changed definitions.
_TELL_S = 20.0
_LONGEST_PAUSE_S = 5.0
_CHECKOUT_S = 10.0


@dataclass
class _Job:
    """An entry that is held, and the request that it has become here."""

    taken: Taken
    needs: Needs | None = None
    local: RequestId | None = None
    is_over: bool = False
    asked: int = 0


@dataclass
class Taker:
    """Serves a queue by what `serves` says for each route, a copy for each slot.

    `on_end` gets each request that was answered, and who asked; `say` what happens.
    """

    queue: Queue
    store: Store
    settings: Settings
    here: Here
    serves: Sequence[Mapping[str, Serve]]
    on_end: Callable[[Response, str], None]
    say: Callable[[str], None]
    once: bool = False
    drain: bool = False
    _jobs: dict[str, _Job] = field(default_factory=dict)
    _routes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _news: int = 0
    _is_leaving: bool = False
    _trouble: str = ""

    def __post_init__(self) -> None:
        from bridge.remote.queue import new_address

        self._address = new_address(self.here.machine)
        self._woken = threading.Condition()

    def run(self) -> None:
        """Serve until an interrupt, or with `once` until nothing waits that is served.

        An interrupt hands back what is held, or with `drain` waits for its end; then
        another one hands it back.

        Raises:
            NoQueue: at the beginning, the queue cannot be used.
        """
        # First the place: what comes while we look around is news.
        place = self.queue.take(self._address, self.here.name, (), lease_s=LEASE_S)
        self._look_around()
        places = {
            self.queue.address.key("news"): place if isinstance(place, str) else "$",
            self.queue.address.key("to", self._address): "0-0",
        }
        threads = [
            threading.Thread(target=self._slot, args=(each,), daemon=True)
            for each in self.serves
        ]
        threads.append(threading.Thread(target=self._keep_looking, daemon=True))
        for thread in threads:
            thread.start()
        try:
            self._listen(threads[:-1], places)
        except KeyboardInterrupt:
            self.leave()
        if self.drain and self._jobs:
            self.say(f"finishing {len(self._jobs)}; interrupt again to hand them back")
            with suppress(KeyboardInterrupt):
                self._listen(threads[:-1], places)
        self._hand_back()
        for thread in threads[:-1]:
            thread.join(timeout=_LONGEST_PAUSE_S)
        with suppress(NoQueue):
            self.queue.leave(self.here.name)

    def leave(self) -> None:
        """Take nothing more; what is held goes on."""
        self._is_leaving = True
        self._wake()

    def _wake(self) -> None:
        with self._woken:
            self._news += 1
            self._woken.notify_all()

    # --- the thread that listens

    def _listen(self, slots: list[threading.Thread], places: dict[str, str]) -> None:
        """Hear what is new, until all slots have ended."""
        renew_s, told_s = time.monotonic(), time.monotonic()
        while not self._is_done(slots):
            now_s = time.monotonic()
            try:
                if now_s >= renew_s:
                    renew_s = now_s + RENEW_S
                    self._renew()
                if now_s >= told_s + _TELL_S:
                    told_s = now_s
                    self._look_around()
                    self._wake()
                wait_s = min(told_s + _TELL_S, renew_s) - time.monotonic()
                heard = self.queue.hear(
                    places, max(0.01, wait_s), lambda: self._is_done(slots)
                )
            except NoQueue as exc:
                self._in_trouble(exc)
                continue
            self._trouble = ""
            for news in heard:
                places[news.stream] = news.place
                if news.stream.endswith(":news"):
                    if news.what not in self._routes:
                        self._look_at_kinds(self._routes)
                else:
                    self._told(news.what, news.entry)
            if heard:
                self._wake()

    def _is_done(self, slots: list[threading.Thread]) -> bool:
        is_left = self._is_leaving and not self.drain
        return is_left or not any(each.is_alive() for each in slots)

    def _in_trouble(self, exc: NoQueue) -> None:
        """Say it once, and wait; what is held goes on."""
        if exc.what != self._trouble:
            self._trouble = exc.what
            self.say(f"{exc.what}; trying again")
        time.sleep(1.0 if exc.passes else _LONGEST_PAUSE_S)

    def _renew(self) -> None:
        for job in [*self._jobs.values()]:
            stands = self.queue.renew(job.taken, self._address)
            # What Redis has forgotten is asked again: by then there may be an answer.
            if stands not in ("held", "unknown"):
                self._stop(job, "another machine has it, or nobody wants it any more")

    def _told(self, what: str, entry: str) -> None:
        job = self._jobs.get(entry)
        if job is None:
            return
        if what == "over":
            self._stop(job, "cancelled by its asker, or answered elsewhere")
        elif what == "reply" and job.local is not None:
            self._reply(job, job.local)

    def _stop(self, job: _Job, why: str) -> None:
        """End the request here: its agent is stopped."""
        job.is_over = True
        request = job.local and self.store.find_unfinished(job.local)
        if request:
            end = failed(request, "cancelled", why, now_ms=self.store.now_ms())
            with suppress(BridgeError):
                self.store.publish(end, source="queue")

    def _hand_back(self) -> None:
        for job in [*self._jobs.values()]:
            with suppress(NoQueue):
                if job.needs and not job.is_over:
                    self.queue.hand_back(job.taken, job.needs)
                    self.say(f"handed back {job.taken.entry.split('.')[1]}")
            self._stop(job, "handed back to the queue")

    def _look_around(self) -> None:
        """Say what is offered, and look which kinds of work there are."""
        self.here.look()
        self._look_at_kinds({})
        self.queue.announce(self.here.offer(len(self._jobs)))
        keep_late(self.queue, self.store, self.here.machine)

    def _look_at_kinds(self, known: dict[str, tuple[str, ...]]) -> None:
        """See which kinds of work there are, and how those not known are served."""
        kinds = self.queue.kinds()
        self._routes = {
            kind: known[kind] if kind in known else self.here.routes_for(needs)
            for kind, needs in kinds.items()
        }

    def _keep_looking(self) -> None:
        """Keep in mind whether files differ from the last commit."""
        while not self._is_leaving:
            if self._jobs or self.here.checkout[0] is None:
                self.here.look_at_files()
            time.sleep(_CHECKOUT_S)

    # --- the threads that answer

    def _slot(self, serves: Mapping[str, Serve]) -> None:
        pause_s = 0.1
        while not self._is_leaving:
            news = self._news
            kinds = [kind for kind, routes in self._routes.items() if routes]
            try:
                if self.settings.off or is_off(self.store):
                    found: Taken | str = ""
                else:
                    found = self.queue.take(
                        self._address, self.here.name, kinds, lease_s=LEASE_S
                    )
                pause_s = 0.1
            except BridgeError:
                # Whoever listens says so.
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                continue
            if isinstance(found, Taken):
                self._answer(found, serves)
                continue
            if self.once:
                return
            with self._woken:
                while self._news == news and not self._is_leaving:
                    self._woken.wait()

    def _answer(self, taken: Taken, serves: Mapping[str, Serve]) -> None:
        """Have an entry answered, and publish what comes of it."""
        job = self._jobs[taken.entry] = _Job(taken)
        until_s = time.monotonic() + taken.left_ms / 1000
        try:
            try:
                request, job.needs = self.here.asked(taken)
                response = self._served(job, request, serves)
            except Refused as exc:
                response = None
                data = refusal(taken, exc.code, str(exc))
            if response is not None:
                data = self.here.as_answer(response)
            if not job.is_over or (response and response.status is Status.COMPLETED):
                stands = self._publish(job, response, data, until_s)
                if stands == "late" and response and job.local:
                    self.store.keep_evidence(
                        job.local,
                        reason="another machine had answered, or nobody waits",
                        source="queue",
                        words=response.raw_output,
                    )
            if response is not None and not job.is_over:
                self.on_end(response, taken.machine)
        except Exception as exc:  # noqa: BLE001 - one entry's bug is no other's end
            self.say(f"{taken.entry}: {type(exc).__name__}: {one_line(str(exc), 300)}")
            with suppress(BridgeError):
                code = code_of(exc) if isinstance(exc, BridgeError) else "agent_error"
                data = refusal(taken, code, f"{self.here.name} could not serve it")
                self._publish(job, None, data, until_s)
        finally:
            self._jobs.pop(taken.entry, None)

    def _publish(
        self, job: _Job, response: Response | None, data: bytes, until_s: float
    ) -> str:
        """Publish an answer, however long Redis is away; its own files have it."""
        is_valid = response is not None and response.parsed_output is not None
        while True:
            try:
                return self.queue.publish(
                    job.taken, data, is_valid=is_valid, machine=self.here.name
                )
            except NoQueue as exc:
                is_late = time.monotonic() >= until_s or self._is_leaving
                if is_late or not exc.passes:
                    raise
                time.sleep(0.5)

    def _served(
        self, job: _Job, request: Request, serves: Mapping[str, Serve]
    ) -> Response | None:
        """The response of a request of this state directory, once it has ended."""
        job.local = local = self.here.submit(request)
        if not job.is_over:
            serves[request.route](local, lambda stage: self._on_stage(job, stage))
        found = self.store.find(local)
        return found.response if found else None

    def _on_stage(self, job: _Job, stage: Stage) -> None:
        """Pass on what its agent asks."""
        if stage is not Stage.ASKING or job.local is None:
            return
        request = self.store.find_unfinished(job.local)
        asks = request.asks if request else None
        if asks is not None and asks.number != job.asked:
            with suppress(NoQueue):
                self._ask(job, asks)
                job.asked = asks.number

    def _ask(self, job: _Job, asks: Asking) -> None:
        said = {"number": asks.number, "words": asks.words, "form": asks.form}
        self.queue.say(job.taken.entry, "asks", plain_json.dumps(said), to="to")

    def _reply(self, job: _Job, local: RequestId) -> None:
        (data,) = self.queue.read(job.taken.entry, "reply")
        said = json_object(data)
        number = said.get("number")
        if type(number) is int and "value" in said:
            with suppress(BridgeError):
                self.store.reply(local, said["value"], by="queue", number=number)
