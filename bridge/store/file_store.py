"""The store in files: one folder a stage, one short lock, renames and links.

    requests/    waiting; created whole
    processing/  claimed; the record carries who holds it
    responses/   how it ended; created once, never rewritten
    done/        the request after its end

At any time a request lies in exactly one of requests/, processing/ and done/: it moves
by renames. A response decides: once it is linked, the request is over, whatever else a
kill left lying; whoever looks next tidies up. Durable on return: what submit and
publish wrote. A claim need not outlive a power cut (the boot id makes it void), but no
power cut loses the request. Every public method may be killed at any point and loses
nothing.
"""

from __future__ import annotations

import errno
import math
import os
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.errors import (
    StateRefused,
    StateUnavailable,
    StateVanished,
    UnknownRequest,
)
from bridge.store import claim, dedup_keys, publish, queries, submit, walking
from bridge.store.clock import Clock, SystemClock
from bridge.store.directory import NotAPlainFile
from bridge.store.location import open_state
from bridge.store.state import Rooms

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from bridge.protocol.ids import RequestId
    from bridge.protocol.request import Claim, HostProcess, Request
    from bridge.protocol.response import Response
    from bridge.store import Claimant, Found, Store, Submitted, Verdict
    from bridge.store.directory import Folder
    from bridge.store.location import Place
    from bridge.store.prune import Pruned


# What a deadline leaves for the lock: most are held for less.
_MOMENT_S = 0.2


class FileStore:
    """A `Store` in the files of one state directory.

    Args:
        place: where it lies.
        clock: wall clock and monotonic clock.
        lock_wait_s: how long a transition may wait for the lock, in seconds.
        lease_s: how long an unseen host counts as alive after its last sign.
        deadline_s: on the monotonic clock; what has to wait for the lock then waits no
            longer, but for a moment.
    """

    def __init__(
        self,
        place: Place,
        *,
        clock: Clock | None = None,
        lock_wait_s: float = 10.0,
        lease_s: float = 900.0,
        deadline_s: float = inf,
    ) -> None:
        self.place = place
        self.clock = clock or SystemClock()
        self._lock_wait_s = lock_wait_s
        self._lease_s = lease_s
        self._deadline_s = deadline_s

    def until(self, deadline_s: float) -> FileStore:
        """The same store for one who has a deadline, on the monotonic clock."""
        return FileStore(
            self.place,
            clock=self.clock,
            lock_wait_s=self._lock_wait_s,
            lease_s=self._lease_s,
            deadline_s=deadline_s,
        )

    @property
    def _wait_s(self) -> float:
        """How long to wait for the lock from now on."""
        left_s = self._deadline_s - self.clock.monotonic_s()
        return min(self._lock_wait_s, max(left_s, _MOMENT_S))

    def now_ms(self) -> int:
        """The wall clock, milliseconds since 1970."""
        return self.clock.now_us() // 1000

    def exists(self) -> bool:
        """Whether there is a state directory, or something in its place.

        Without one nothing was ever asked here; who only looks need not make it.
        """
        return os.path.lexists(self.place.state)

    def why_unreadable(self, request_id: RequestId) -> str | None:
        """Why a request that is there cannot be read, its file, and the way out.

        None where there is none, or it can be read.
        """
        if not self.exists():
            return None
        with self.looking() as rooms:
            return queries.why_unreadable(rooms, request_id)

    def unknown(self, request_id: RequestId) -> UnknownRequest:
        """The error for an id that nothing here knows of, or none that can be read."""
        problem = self.why_unreadable(request_id)
        if problem is not None:
            return UnknownRequest(
                f"request {request_id} cannot be read: {problem}",
                request_id=request_id,
            )
        state = self.place.state
        why = f"in {state}" if self.exists() else f"here: there is no {state}"
        return UnknownRequest(f"no request {request_id} {why}", request_id=request_id)

    @contextmanager
    def open_state(self) -> Iterator[Folder]:
        """The state directory, made and checked, held open for the block.

        Raises:
            StateRefused: it, or what is used in it, is not safe to use.
            StateUnavailable: the system refuses: disk full, too many files, read-only.
        """
        with _in_our_words(self.place), open_state(self.place) as state:
            yield state

    @contextmanager
    def exclusive(self) -> Iterator[Folder]:
        """The state directory with the lock held: for records of other parts."""
        with self.rooms() as rooms, rooms.hold():
            yield rooms.state

    @contextmanager
    def rooms(self) -> Iterator[Rooms]:
        """The folders of the state directory; raises as `open_state`."""
        with (
            self.open_state() as state,
            Rooms(state, self.clock, lock_wait_s=self._wait_s) as rooms,
        ):
            yield rooms

    @contextmanager
    def looking(self) -> Iterator[Rooms]:
        """The folders, to be read: nothing is made; otherwise as `rooms`.

        Raises:
            StateVanished: there is no state directory.
        """
        with (
            _in_our_words(self.place),
            open_state(self.place, make=False) as state,
            Rooms(state, self.clock, lock_wait_s=self._wait_s, make=False) as rooms,
        ):
            yield rooms

    # Asking

    def submit(self, request: Request, *, routes: Collection[str] = ()) -> Submitted:
        """Make a request durable and visible, whole; `routes` as in `Store`.

        Raises:
            InvalidRequest: the id was used before, its key stands for another
                question, or a field has no JSON form.
        """
        with self.rooms() as rooms:
            return submit.submit(rooms, request, routes)

    # Looking

    def answer_of_key(
        self, request: Request, *, routes: Collection[str] = ()
    ) -> Response | None:
        """The answer that the key of `request` stands for; None where there is none.

        `routes` as in `submit`.

        Raises:
            InvalidRequest: the key stands for another question.
        """
        if request.dedup_key is None or not self.exists():
            return None
        with self.looking() as rooms:
            found = dedup_keys.find_same(rooms, request, routes)
            return found.response if found else None

    def find(self, request_id: RequestId) -> Found | None:
        """Return the request as it stands; None when there is none.

        Raises:
            NewerSchema: a newer hostbridge wrote its answer.
        """
        if not self.exists():
            return None
        with self.looking() as rooms:
            return queries.find(rooms, request_id)

    def waiting(self) -> list[RequestId]:
        """Ids nobody has taken, in the order in which they would be."""
        with self.rooms() as rooms:
            return list(queries.waiting_in_order(rooms))

    def has_waiting(self) -> bool:
        """Whether anything waits; the cost does not grow with the queue."""
        with self.rooms() as rooms:
            return queries.has_waiting(rooms)

    def queue_changed_ns(self) -> int:
        """When a waiting request came or went for the last time; nanoseconds.

        The file system's time, to be compared with itself alone.
        """
        with self.rooms() as rooms:
            return os.fstat(rooms["requests"].fd).st_mtime_ns

    def claimed(self) -> list[Request]:
        """Requests that somebody holds, oldest claim first."""
        with self.looking() as rooms:
            return queries.all_claimed(rooms)

    def evidence(self, request_id: RequestId) -> list[dict[str, Any]]:
        """What was kept for a request, oldest first."""
        with self.looking() as rooms:
            return queries.evidence_of(rooms, request_id)

    # Working

    def claim(
        self,
        claimant: Claimant,
        slots: int,
        judge: Callable[[Request], Verdict],
        *,
        only: RequestId | None = None,
        on_cut: Callable[[], None] = lambda: None,
    ) -> list[Request]:
        """Take waiting requests that `judge` says to take, into the claimant's slots.

        Highest priority first, then the oldest; or `only` this one. What is overdue is
        ended on the way. A request of an agent may use slots beyond `slots`, as many
        again for each agent above it: one that waits for its child would otherwise hold
        the child's place.

        In a long queue that is not for this claimant the time may be up before its end:
        then `on_cut` is called, and the next claim goes on from there.
        """
        with self.rooms() as rooms:
            if only is None:
                return walking.claim(rooms, claimant, slots, judge, on_cut=on_cut)
            with rooms.hold():
                return walking.claim_only(rooms, only, claimant, slots, judge)

    def claim_one(self, request_id: RequestId, claimant: Claimant) -> Request | None:
        """Take this very request; None when it does not wait (any more).

        One that is overdue is ended instead.
        """
        with self.rooms() as rooms, rooms.hold():
            return claim.claim_one(rooms, request_id, claimant)

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

        def changed(held: Request) -> Request:
            return held.with_(claim=change(held.claim)) if held.claim else held

        return self.change_held(request_id, host, changed, event=event)

    def change_held(
        self,
        request_id: RequestId,
        host: HostProcess,
        change: Callable[[Request], Request],
        *,
        event: str | None = None,
    ) -> Request | None:
        """Change the request that `host` holds; otherwise as `change_claim`."""
        with self.rooms() as rooms, rooms.hold():
            return claim.change_held(rooms, request_id, host, change, event=event)

    def give_back(
        self,
        request_id: RequestId,
        host: HostProcess,
        change: Callable[[Request], Request],
    ) -> bool:
        """Let a request that `host` holds wait again; False when it holds it not."""
        with self.rooms() as rooms, rooms.hold():
            return claim.give_back(rooms, request_id, host, change)

    # Ending

    def publish(self, response: Response, *, source: str) -> bool:
        """End a request; durable on return. True when this response is the one.

        The first response wins, for ever; any other is kept as evidence, with the
        reason. `source` says in a word or two where it came from.
        """
        with self.rooms() as rooms:
            return publish.publish(rooms, response, source=source)

    def keep_evidence(
        self, request_id: str, *, reason: str, source: str, words: str
    ) -> None:
        """Keep words that did not become the answer, with the reason."""
        with self.rooms() as rooms:
            publish.keep_evidence(
                rooms, request_id, reason=reason, source=source, words=words
            )

    # Tidying

    def sweep(
        self,
        *,
        everything: bool = False,
        waiting: Iterable[RequestId] = (),
        limit_s: float = math.inf,
    ) -> int:
        """Take back what dead hosts held and end what is overdue.

        `everything` also looks into each waiting request, a batch at a time, so that
        others get the lock between, for at most `limit_s` seconds; `waiting` looks into
        these. Without them the cost does not grow with the queue. Returns how many
        requests changed.
        """
        from bridge.store.sweep import sweep, sweep_all

        with self.rooms() as rooms:
            if everything:
                return sweep_all(rooms, lease_s=self._lease_s, limit_s=limit_s)
            with rooms.hold():
                return sweep(rooms, lease_s=self._lease_s, waiting=waiting)

    def prune(
        self, *, older_than_days: float | None = None, max_bytes: int | None = None
    ) -> Pruned:
        """Remove finished requests that are older, then the oldest until the rest fits.

        What is overdue is ended first. Left-over temporaries and keys of nothing go in
        any case; what is unfinished stays.
        """
        from bridge.store.prune import Pruned, prune
        from bridge.store.sweep import sweep_all

        if not self.exists():
            return Pruned()
        with self.rooms() as rooms:
            sweep_all(rooms, lease_s=self._lease_s)
            return prune(rooms, older_than_days=older_than_days, max_bytes=max_bytes)

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

        Raises:
            StateVanished: the state directory was removed or replaced meanwhile.
        """
        from bridge.store.wait import wait_for

        return wait_for(self, set(ids), timeout_s=timeout_s, tend=tend)


@contextmanager
def _in_our_words(place: Place) -> Iterator[None]:
    """Tell what the system refuses as an error that names the place and the way out."""
    try:
        yield
    except NotAPlainFile as exc:
        raise StateRefused(Path(exc.path), exc.problem, exc.cure) from None
    except OSError as exc:
        if exc.errno is None:
            raise
        if isinstance(exc, FileNotFoundError):
            raise StateVanished(
                f"{place.state} was removed or replaced while it was in use"
            ) from exc
        where = f"{place.state}"
        # Where it is one file that fails, and not the machine, its reader names it.
        if exc.errno == errno.EIO and f"{exc.filename}".startswith(f"{where}/"):
            where = exc.filename
        raise StateUnavailable(
            f"{where}: {os.strerror(exc.errno)}; see `hostbridge doctor`"
        ) from exc


if TYPE_CHECKING:
    _PROVED: Callable[[Place], Store] = FileStore
