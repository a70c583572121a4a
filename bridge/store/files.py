"""The store in files: one folder a stage, one short lock, renames and links.

    requests/    waiting; created whole
    processing/  claimed; the record carries who holds it
    responses/   how it ended; created once, never rewritten
    done/        the request after its end

A response decides: once it is linked, the request is over, whatever else a kill left
lying; whoever looks next tidies up. Durable on return: what submit, claim and publish
wrote. Every public method may be killed at any point and loses nothing.
"""

from __future__ import annotations

import hashlib
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import orjson

from bridge.errors import InvalidRequest, NewerSchema, StateUnavailable
from bridge.protocol.failure import ANSWERED
from bridge.protocol.ids import RequestId, find_rank
from bridge.protocol.request import Claim
from bridge.protocol.response import Response
from bridge.protocol.status import Status, move
from bridge.store import Found, Submitted
from bridge.store.clock import Clock, SystemClock
from bridge.store.decide import expired, fate_of_claimed
from bridge.store.folder import Folder
from bridge.store.journal import note
from bridge.store.lock import locked
from bridge.store.order import in_order
from bridge.store.place import Place, prepare
from bridge.store.process import Liveness, liveness
from bridge.store.reading import load_claimed, load_response, load_waiting
from bridge.store.seal import load_key, sealed
from bridge.store.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bridge.protocol.request import HostProcess, Request
    from bridge.store import Claimant, Verdict
    from bridge.store.order import Rank

# How many overdue requests one claim ends on its way: a hook's time is bounded.
_MAX_ENDED = 16
# With all slots taken, how far to look for requests of agents, which come first.
_MAX_PASSED = 16


class _Rooms:
    """The folders of one state directory, each opened when first used."""

    def __init__(self, state: Folder, stack: ExitStack) -> None:
        self.state = state
        self._stack = stack
        self._open: dict[str, Folder] = {}

    def __getitem__(self, name: str) -> Folder:
        if name not in self._open:
            folder = self._stack.enter_context(self.state.folder(name))
            self._open[name] = folder
        return self._open[name]


class FileStore:
    """A `Store` in the files of one state directory.

    Args:
        place: where it lies.
        clock: wall clock and monotonic clock.
        lock_wait_s: how long a transition may wait for the lock, in seconds.
        lease_s: how long an unseen host counts as alive after its last sign.
    """

    def __init__(
        self,
        place: Place,
        *,
        clock: Clock | None = None,
        lock_wait_s: float = 30.0,
        lease_s: float = 900.0,
    ) -> None:
        self.place = place
        self.clock = clock or SystemClock()
        self._lock_wait_s = lock_wait_s
        self._lease_s = lease_s

    def now_ms(self) -> int:
        """The wall clock, milliseconds since 1970."""
        return self.clock.now_us() // 1000

    @contextmanager
    def open_state(self) -> Iterator[Folder]:
        """The state directory, made and checked, held open for the block."""
        prepare(self.place)
        with Folder.open(str(self.place.state)) as state:
            yield state

    @contextmanager
    def exclusive(self) -> Iterator[Folder]:
        """The state directory with the store's lock held: for records of other rooms."""
        with self._rooms(lock=True) as rooms:
            yield rooms.state

    @contextmanager
    def _rooms(self, *, lock: bool = False) -> Iterator[_Rooms]:
        with ExitStack() as stack:
            rooms = _Rooms(stack.enter_context(self.open_state()), stack)
            if lock:
                stack.enter_context(locked(rooms.state, wait_s=self._lock_wait_s))
            yield rooms

    # Asking

    def submit(self, request: Request) -> Submitted:
        """Make a request durable and visible, whole.

        Raises:
            InvalidRequest: the id was used before.
        """
        name = f"{request.request_id}.json"
        with self._rooms() as rooms:
            temporary = rooms["requests"].prepare(name, request.to_json())
            try:
                with locked(rooms.state, wait_s=self._lock_wait_s):
                    earlier = self._find_same(rooms, request)
                    if earlier is not None:
                        return Submitted(earlier, is_new=False)
                    if any(rooms[r].has(name) for r in ("processing", "responses", "done")):
                        raise FileExistsError
                    self._remember_key(rooms, request)
                    rooms["requests"].publish(temporary, name)
                    note(
                        rooms.state,
                        self.now_ms(),
                        "submitted",
                        request.request_id,
                        agent=request.agent_type,
                        by=request.requester,
                    )
            except FileExistsError:
                raise InvalidRequest(
                    f"request id {request.request_id!r} was used before",
                    request_id=request.request_id,
                ) from None
            finally:
                rooms["requests"].remove(temporary)
            rooms["requests"].sync()
        return Submitted(RequestId(request.request_id), is_new=True)

    def _find_same(self, rooms: _Rooms, request: Request) -> RequestId | None:
        """The running or answered request with the same dedup key.

        One that ended without an answer does not count: asking again must be possible.
        """
        if request.dedup_key is None:
            return None
        data = rooms["dedup"].read(_key_name(request.dedup_key))
        try:
            known = orjson.loads(data or b"null")
        except orjson.JSONDecodeError:
            return None
        if not isinstance(known, dict) or known.get("dedupKey") != request.dedup_key:
            return None
        found = self._look(rooms, RequestId(str(known.get("requestId"))))
        if found is None:
            return None
        error = found.response.error if found.response else None
        if error is not None and error.code not in ANSWERED:
            return None
        return RequestId(known["requestId"])

    def _remember_key(self, rooms: _Rooms, request: Request) -> None:
        if request.dedup_key is None:
            return
        known = {"dedupKey": request.dedup_key, "requestId": request.request_id}
        rooms["dedup"].replace(_key_name(request.dedup_key), orjson.dumps(known) + b"\n")

    # Looking

    def find(self, request_id: RequestId) -> Found | None:
        """Return the request as it stands; None when there is none.

        Raises:
            NewerSchema: a newer hostbridge wrote its answer.
        """
        with self._rooms() as rooms:
            # It may move from a folder not yet looked at to one already seen.
            for _ in range(3):
                found = self._look(rooms, request_id)
                if found is not None:
                    return found
        return None

    def _look(self, rooms: _Rooms, request_id: RequestId) -> Found | None:
        now_ms = self.now_ms()
        name = f"{request_id}.json"
        request = load_waiting(rooms.state, rooms["requests"], request_id, now_ms)
        if request is None:
            request = load_claimed(rooms.state, rooms["processing"], request_id, now_ms)
        response = None
        if rooms["responses"].has(name):
            response = self._load_response(rooms, request_id)
        if response is not None:
            ended = request or load_claimed(
                rooms.state, rooms["done"], request_id, now_ms
            )
            return Found(response.status, ended, response)
        if request is None:
            return None
        status = Status.PROCESSING if request.claim else Status.PENDING
        return Found(status, request, None)

    def _load_response(self, rooms: _Rooms, request_id: str) -> Response | None:
        return load_response(
            rooms.state,
            rooms["responses"],
            request_id,
            load_key(rooms.state),
            self.now_ms(),
        )

    def waiting(self) -> list[RequestId]:
        """Ids nobody has taken, in the order in which they would be."""
        with self._rooms() as rooms:
            return list(self._in_order(rooms))

    def has_waiting(self) -> bool:
        """Whether anything waits; the cost does not grow with the queue."""
        with self._rooms() as rooms:
            return any(e.name.endswith(".json") for e in rooms["requests"].entries())

    def claimed(self) -> list[Request]:
        """Requests that somebody holds, oldest claim first."""
        with self._rooms() as rooms:
            held = self._claimed(rooms)
        return sorted(held, key=lambda r: r.claim.at if r.claim else 0)

    def _claimed(self, rooms: _Rooms) -> list[Request]:
        now_ms = self.now_ms()
        names = rooms["processing"].names()
        loaded = (
            load_claimed(rooms.state, rooms["processing"], n, now_ms) for n in names
        )
        return [request for request in loaded if request is not None]

    def _in_order(self, rooms: _Rooms) -> Iterator[RequestId]:
        def rank(name: str) -> Rank | None:
            request = load_waiting(rooms.state, rooms["requests"], name, self.now_ms())
            return request and (request.priority, request.created_at * 1000)

        return in_order(rooms["requests"].names(), rank)

    # Working

    def claim(
        self, claimant: Claimant, slots: int, judge: Callable[[Request], Verdict]
    ) -> list[Request]:
        """Take waiting requests that `judge` says to take, into the claimant's slots.

        Highest priority first, then the oldest. What is overdue is ended on the way.
        A request of an agent may use slots beyond `slots`, as many again for each agent
        above it: one that waits for its child would otherwise hold the child's place.
        """
        taken: list[Request] = []
        ended = passed = 0
        with self._rooms(lock=True) as rooms:
            held = sum(
                r.claim is not None and r.claim.host == claimant.host
                for r in self._claimed(rooms)
            )
            for request_id in self._in_order(rooms):
                if ended >= _MAX_ENDED:
                    break
                now_ms = self.now_ms()
                if self._is_over(rooms, request_id):
                    continue
                request = load_waiting(
                    rooms.state, rooms["requests"], request_id, now_ms
                )
                if request is None:
                    continue
                if now_ms >= request.deadline_ms:
                    self._end(rooms, request, expired(request, now_ms), source="sweep")
                    ended += 1
                    continue
                if held + len(taken) >= slots * (1 + request.depth):
                    passed += 1
                    if passed > _MAX_PASSED:
                        break
                    continue
                verdict = judge(request)
                if isinstance(verdict, Response):
                    self._end(rooms, request, verdict, source="claim")
                    ended += 1
                elif verdict == "take":
                    taken.append(self._take(rooms, request, claimant, now_ms))
            if taken:
                rooms["processing"].sync()
        return taken

    def _is_over(self, rooms: _Rooms, request_id: str) -> bool:
        """Tidy up after a kill: the id is already claimed, or already answered."""
        name = f"{request_id}.json"
        if rooms["responses"].has(name):
            response = self._load_response_or_none(rooms, request_id)
            if response is not None:
                self._finish(rooms, request_id, response)
                return True
        if rooms["processing"].has(name) or rooms["done"].has(name):
            from bridge.store.reading import put_aside

            why = "the request id was used before"
            put_aside(rooms.state, rooms["requests"], name, why, self.now_ms())
            return True
        return False

    def _load_response_or_none(self, rooms: _Rooms, request_id: str) -> Response | None:
        with suppress(NewerSchema):
            return self._load_response(rooms, request_id)
        return None

    def _take(
        self, rooms: _Rooms, request: Request, claimant: Claimant, now_ms: int
    ) -> Request:
        name = f"{request.request_id}.json"
        claim = Claim(
            session=claimant.session, host=claimant.host, at=now_ms, offers=(now_ms,)
        )
        mine = request.with_(status=move(request.status, Status.PROCESSING), claim=claim)
        # The rename takes it, whole and exclusively; the record then says who.
        rooms["requests"].move(name, rooms["processing"])
        rooms["processing"].replace(name, mine.to_json(), durable=False)
        note(
            rooms.state,
            now_ms,
            "claimed",
            request.request_id,
            session=claimant.session,
            pid=claimant.host.pid,
            attempt=request.attempt or None,
        )
        return mine

    def change_claim(
        self,
        request_id: RequestId,
        host: HostProcess,
        change: Callable[[Claim], Claim],
        *,
        event: str | None = None,
    ) -> Request | None:
        """Change the claim that `host` has; None when it has none (any more).

        `event` names the change in the journal.
        """
        with self._rooms(lock=True) as rooms:
            request = self._held(rooms, request_id, host)
            if request is None or request.claim is None:
                return None
            changed = request.with_(claim=change(request.claim))
            rooms["processing"].replace(
                f"{request_id}.json", changed.to_json(), durable=False
            )
            if event:
                note(rooms.state, self.now_ms(), event, request_id)
            return changed

    def give_back(
        self,
        request_id: RequestId,
        host: HostProcess,
        change: Callable[[Request], Request],
    ) -> bool:
        """Let a request that `host` holds wait again; False when it holds it no more."""
        with self._rooms(lock=True) as rooms:
            request = self._held(rooms, request_id, host)
            if request is None:
                return False
            self._again(rooms, change(request))
            return True

    def _held(
        self, rooms: _Rooms, request_id: RequestId, host: HostProcess
    ) -> Request | None:
        """The unfinished request that `host` holds."""
        if rooms["responses"].has(f"{request_id}.json"):
            return None
        request = load_claimed(
            rooms.state, rooms["processing"], request_id, self.now_ms()
        )
        claim = request.claim if request else None
        return request if claim and claim.host == host else None

    def _again(self, rooms: _Rooms, request: Request) -> None:
        """Back to waiting: the record first, so that a kill between leaves no claim."""
        name = f"{request.request_id}.json"
        free = request.with_(claim=None, status=Status.PENDING)
        rooms["processing"].replace(name, free.to_json(), durable=False)
        rooms["processing"].move(name, rooms["requests"])
        rooms["requests"].sync()
        note(
            rooms.state,
            self.now_ms(),
            "waiting again",
            request.request_id,
            attempt=request.attempt or None,
        )

    # Ending

    def publish(self, response: Response, *, source: str) -> bool:
        """End a request; durable on return. True when this response is the one.

        The first response wins, for ever; any other is kept as evidence, with the
        reason. `source` says in a word or two where it came from.
        """
        with self._rooms() as rooms:
            try:
                with locked(rooms.state, wait_s=self._lock_wait_s):
                    request = self._live(rooms, response.request_id)
                    if request is not None and self._end(
                        rooms, request, response, source=source
                    ):
                        return True
            except StateUnavailable:
                # The link alone decides; whoever gets the lock next tidies up.
                if self._link(rooms, response):
                    return True
            known = rooms["responses"].has(f"{response.request_id}.json")
        self.keep_evidence(
            response.request_id,
            reason="the request had ended" if known else "no such request is live",
            source=source,
            words=response.raw_output,
        )
        return False

    def _live(self, rooms: _Rooms, request_id: str) -> Request | None:
        now_ms = self.now_ms()
        return load_claimed(
            rooms.state, rooms["processing"], request_id, now_ms
        ) or load_waiting(rooms.state, rooms["requests"], request_id, now_ms)

    def _end(
        self, rooms: _Rooms, request: Request, response: Response, *, source: str
    ) -> bool:
        """Write the response and move the request away; False when another was first."""
        move(request.status, response.status)
        if not self._link(rooms, response):
            winner = self._load_response_or_none(rooms, request.request_id)
            if winner is not None:
                self._finish(rooms, request.request_id, winner)
            return False
        self._finish(rooms, request.request_id, response, source=source)
        return True

    def _link(self, rooms: _Rooms, response: Response) -> bool:
        """Create the response file; False when there is one already."""
        written = sealed(response, load_key(rooms.state))
        # What somebody else put in this place is not an answer.
        self._load_response_or_none(rooms, response.request_id)
        try:
            rooms["responses"].create(f"{response.request_id}.json", written.to_json())
        except FileExistsError:
            return False
        return True

    def _finish(
        self, rooms: _Rooms, request_id: str, response: Response, *, source: str = ""
    ) -> None:
        """Move the request of an existing response to `done/`."""
        name = f"{request_id}.json"
        request = self._live(rooms, request_id)
        if request is not None:
            ended = request.with_(status=response.status)
            rooms["done"].replace(name, ended.to_json(), durable=False)
            note(
                rooms.state,
                self.now_ms(),
                str(response.status),
                request_id,
                source=source or None,
                code=response.error.code if response.error else None,
            )
        rooms["processing"].remove(name)
        rooms["requests"].remove(name)

    def keep_evidence(
        self, request_id: str, *, reason: str, source: str, words: str
    ) -> None:
        """Keep words that did not become the answer, with the reason."""
        now_ms = self.now_ms()
        told = {
            "requestId": request_id,
            "at": now_ms,
            "reason": reason,
            "source": source,
            "rawOutput": words,
        }
        data = orjson.dumps(told, option=orjson.OPT_INDENT_2) + b"\n"
        with self._rooms() as rooms:
            for number in range(1000):
                with suppress(FileExistsError):
                    rooms["evidence"].create(f"{request_id}.{now_ms}-{number}.json", data)
                    break
            note(
                rooms.state, now_ms, "evidence", request_id, source=source, reason=reason
            )

    def evidence(self, request_id: RequestId) -> list[dict[str, object]]:
        """What was kept for a request, oldest first."""
        with self._rooms() as rooms:
            folder = rooms["evidence"]
            names = sorted(
                n for n in folder.names() if n.rpartition(".")[0] == request_id
            )
            kept = (folder.read(f"{name}.json") for name in names)
            return [orjson.loads(data) for data in kept if data]

    # Tidying

    def sweep(self, *, everything: bool = False) -> int:
        """Take back what dead hosts held and end what is overdue.

        `everything` also looks into each waiting request; without it the cost does not
        grow with the queue. Returns how many requests changed.
        """
        changed = 0
        with self._rooms(lock=True) as rooms:
            for request in self._claimed(rooms):
                changed += self._sweep_claimed(rooms, request)
            if not everything:
                return changed
            for name in rooms["requests"].names():
                if self._is_over(rooms, name):
                    changed += 1
                    continue
                now_ms = self.now_ms()
                waiting = load_waiting(rooms.state, rooms["requests"], name, now_ms)
                if waiting is not None and now_ms >= waiting.deadline_ms:
                    response = expired(waiting, now_ms)
                    changed += self._end(rooms, waiting, response, source="sweep")
        return changed

    def _sweep_claimed(self, rooms: _Rooms, request: Request) -> bool:
        if rooms["responses"].has(f"{request.request_id}.json"):
            response = self._load_response_or_none(rooms, request.request_id)
            if response is not None:
                self._finish(rooms, request.request_id, response)
                return True
        fate = fate_of_claimed(
            request,
            host_is_gone=request.claim is not None
            and self._is_gone(rooms.state, request.claim),
            now_ms=self.now_ms(),
        )
        if fate.response is not None:
            return self._end(rooms, request, fate.response, source="sweep")
        if fate.request is not None:
            self._again(rooms, fate.request)
        return fate.kind != "keep"

    def _is_gone(self, state: Folder, claim: Claim) -> bool:
        return host_is_gone(
            state,
            claim.session,
            claim.host,
            lease_s=self._lease_s,
            now_s=self.clock.now_us() / 1_000_000,
        )

    # Waiting

    def wait(
        self,
        ids: Iterable[RequestId],
        *,
        timeout_s: float,
        tend: Callable[[], None] = lambda: None,
    ) -> Iterator[Response]:
        """Yield responses as they come; ends at the deadline or when all are there.

        `tend` is called now and then while waiting, to look after the requests.
        """
        return wait_for(self, set(ids), timeout_s=timeout_s, tend=tend)

    def responses_among(self, ids: Iterable[RequestId]) -> list[Response]:
        """The responses that are there already."""
        with self._rooms() as rooms:
            names = [i for i in ids if rooms["responses"].has(f"{i}.json")]
            loaded = [self._load_response(rooms, i) for i in names]
        return [response for response in loaded if response is not None]


def host_is_gone(
    state: Folder, session: str, host: HostProcess, *, lease_s: float, now_s: float
) -> bool:
    """Whether the process is gone; an unseen one by the age of its session's last sign."""
    seen = liveness(host)
    if seen is not Liveness.UNSEEN:
        return seen is Liveness.GONE
    with state.folder("sessions") as sessions:
        beat = sessions.facts(f"{session}.beat")
    return beat is None or now_s - beat.st_mtime > lease_s


def _key_name(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest() + ".json"


def created_ms(request_id: str) -> int | None:
    """When one of our own ids was made, milliseconds since 1970."""
    rank = find_rank(request_id)
    return rank[1] // 1000 if rank else None
