"""The store: where a project's requests and other records lie, and how to use them.

    requests/    waiting; created whole
    processing/  claimed; the record carries who holds it
    responses/   how it ended; created once, never rewritten
    done/        the request after its end

At any time a request lies in exactly one of requests/, processing/ and done/: it moves
by renames. A response decides: once it is linked, the request is over, whatever a kill
left behind; the next reader cleans up. What submit and publish wrote is durable when
they return. A claim need not outlive a power cut (the boot id makes it void), but no
power cut loses the request. Every method may be killed at any point and loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from math import inf
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, Unpack

from bridge.errors import UnknownRequest
from bridge.protocol.claim import HostProcess
from bridge.protocol.ids import RequestId
from bridge.protocol.response import Response
from bridge.store import claim as claiming
from bridge.store import (
    claim_next,
    live_runs,
    queries,
    questions,
)
from bridge.store import responses as ending
from bridge.store import submit as asking
from bridge.store.state import State

if TYPE_CHECKING:
    from bridge.store.prune import Pruned, PruneOptions

P = ParamSpec("P")
T = TypeVar("T")


def _in_state(
    act: Callable[Concatenate[State, P], T], *, make: bool = True, hold: bool = False
) -> Callable[Concatenate[Store, P], T]:
    """A method that opens the state for `act`, with its lock if `hold`."""

    @wraps(act)
    def method(store: Store, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with store.state(make=make) as state, ExitStack() as held:
            if hold:
                held.enter_context(state.hold())
            return act(state, *args, **kwargs)

    return method


def _if_there(
    act: Callable[Concatenate[State, P], T],
) -> Callable[Concatenate[Store, P], T | None]:
    """A method that does `act` if there is a state directory; otherwise None."""
    looked = _in_state(act, make=False)

    @wraps(act)
    def method(store: Store, /, *args: P.args, **kwargs: P.kwargs) -> T | None:
        return looked(store, *args, **kwargs) if store.exists() else None

    return method


class Store(State):
    """The records of one state directory.

    Threads may share it: each method opens the state directory for itself. An operation
    with several steps opens it once, with `open`; the result belongs to one thread.

    Any method raises `StateUnavailable` if the state cannot be used now (its subclass
    `StateVanished` if it is gone) and `StateRefused` if it is not safe.
    """

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the lock for the block."""
        with self.state() as state, state.hold():
            yield

    @contextmanager
    def exclusive_if_free(self) -> Iterator[None]:
        """As `exclusive`, but go on without the lock if it is not free in time."""
        with self.state() as state, state.hold_if_free():
            yield

    submit = _in_state(asking.submit)
    approve = _in_state(asking.approve, hold=True)
    held_requests = _in_state(asking.held_requests, make=False)

    find_same = _if_there(asking.find_same)
    answer_of_key = _if_there(asking.answer_of_key)
    find = _if_there(queries.find)
    find_unfinished = _if_there(queries.find_unfinished)
    why_unreadable = _if_there(queries.why_unreadable)
    is_over = _in_state(queries.is_over)
    waiting = _in_state(queries.waiting)
    has_waiting = _in_state(queries.has_waiting)
    queue_changed_ns = _in_state(queries.queue_changed_ns)
    claimed = _in_state(queries.all_claimed, make=False)
    evidence = _in_state(queries.evidence_of, make=False)
    files_about = _in_state(queries.files_about, make=False)
    history = _in_state(queries.history, make=False)
    newest_responses = _in_state(queries.newest_responses)
    run_log = _in_state(live_runs.read_log)

    def unknown(self, request_id: RequestId) -> UnknownRequest:
        """The error for an unknown id, or one whose file cannot be read."""
        problem = self.why_unreadable(request_id)
        if problem is not None:
            return UnknownRequest(
                f"request {request_id} cannot be read: {problem}", request_id=request_id
            )
        place = self.place.state
        why = f"in {place}" if self.exists() else f"here: there is no {place}"
        return UnknownRequest(
            f"no request {request_id} {why}",
            ways=(
                "see which there are: hostbridge status",
                "look into another project: hostbridge -C DIR status",
            ),
            request_id=request_id,
        )

    open_questions = _in_state(questions.open_questions, make=False)
    reply = _in_state(questions.reply)
    take_reply = _in_state(questions.look, hold=True)

    claim = _in_state(claim_next.claim)
    claim_one = _in_state(claim_next.claim_one, hold=True)
    change_held = _in_state(claiming.change_held, hold=True)
    give_back = _in_state(claiming.give_back, hold=True)
    change_claim = _in_state(claiming.change_claim, hold=True)

    publish = _in_state(ending.publish)
    end_try = _in_state(claiming.end_try)
    keep_evidence = _in_state(ending.keep_evidence)
    log_run = _in_state(live_runs.append_log)
    sync_responses = _in_state(ending.sync_responses)

    def sweep(
        self,
        *,
        everything: bool = False,
        waiting: Iterable[RequestId] = (),
        leaving: HostProcess | None = None,
        limit_s: float = inf,
    ) -> int:
        """Take back what dead hosts held and end what is overdue.

        `everything` also checks each waiting request, in batches, so that others get
        the lock in between, for at most `limit_s` seconds; `waiting` names some to
        check. Without either, the cost does not grow with the queue. `leaving` is a
        host that lets go of everything. Returns how many requests changed.
        """
        from bridge.store.sweep import sweep, sweep_all

        with self.state() as state:
            if everything:
                return sweep_all(state, limit_s=limit_s)
            return sweep(state, waiting=waiting, leaving=leaving)

    def prune(self, **options: Unpack[PruneOptions]) -> Pruned:
        """Remove finished requests that are too old, then the oldest until all fits.

        Overdue requests are ended first. Leftover temporaries and keys without a
        request are always removed; unfinished requests stay. A dry run changes nothing,
        and counts the requests and what is in quarantine.
        """
        from bridge.store.prune import Pruned, prune

        if not self.exists():
            return Pruned()
        with self.state() as state:
            return prune(state, **options)

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

        # A wait may be long, and each look opens the state again.
        opening = self._with(_is_open=False).state
        return wait_for(opening, self.clock, set(ids), timeout_s=timeout_s, tend=tend)
