"""Ask: who joins another caller's request by its dedup key never ends it."""

from collections.abc import Callable
from typing import Any

import pytest
from servingworld import GOOD, A, Scripted, bridge_in, new_worker, open_session
from storeworld import FakeClock, folders_of, request, store_in

from bridge.api.wait import Waiter
from bridge.errors import InvalidRequest, StateUnavailable, WaitTimeout
from bridge.protocol.outcome import Outcome, Progress
from bridge.protocol.status import Status
from bridge.store import sessions, wakeups
from bridge.store.store import Store
from bridge.worker import executors

pytestmark = pytest.mark.slow


@pytest.fixture
def bridge(tmp_path):
    """It has an open session that takes nothing."""
    made = bridge_in(tmp_path)
    open_session(made.store)
    return made


def test_a_joiner_that_times_out_ends_nothing(bridge):
    request_id = bridge.submit("Which?", dedup_key="k", timeout_s=600)

    # Not within what was left of it when the wait began.
    with pytest.raises(
        WaitTimeout, match=r"no answer within 0\.2 s: nobody had taken it"
    ):
        bridge.ask("Which?", dedup_key="k", timeout_s=0.2)

    assert bridge.status(request_id).status is Status.PENDING
    assert bridge.respond(request_id, '{"status": "success", "summary": "a"}').success


def test_a_joiner_that_is_interrupted_cancels_nothing(bridge):
    request_id = bridge.submit("Which?", dedup_key="k", timeout_s=600)

    def interrupt(_stage):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bridge.ask("Which?", dedup_key="k", timeout_s=60, on_stage=interrupt)

    assert bridge.status(request_id).status is Status.PENDING


DIFFERENCES: dict[str, dict[str, Any]] = {
    "prompt": {"prompt": "Where?"},
    "agent ('general-purpose' there, 'Plan' here)": {"agent": "Plan"},
    "schema": {"schema": {"type": "integer"}},
    "model (None there, 'haiku' here)": {"model": "haiku"},
    "variables": {"variables": {"a": 1}},
    "task id (None there, 't' here)": {"task_id": "t"},
    "route ('host' there, 'claude' here)": {"route": "claude"},
}


@pytest.mark.parametrize(
    ("difference", "is_answered"),
    # After an answer by hand, the route does not matter.
    [(each, False) for each in DIFFERENCES] + [(e, True) for e in [*DIFFERENCES][:-1]],
)
@pytest.mark.parametrize("way", ["ask", "submit"])
def test_error_a_key_that_stands_for_another_question(
    bridge, way, difference, *, is_answered
):
    request_id = bridge.submit("Which?", dedup_key="k")
    if is_answered:
        bridge.respond(request_id, '{"status": "success", "summary": "a"}')
    asked = {"prompt": "Which?", "dedup_key": "k", **DIFFERENCES[difference]}

    with pytest.raises(InvalidRequest) as caught:
        getattr(bridge, way)(**asked)

    belongs = f"belongs to request {request_id}, which asked something else"
    assert belongs in str(caught.value)
    assert f"it differs in: {difference}. " in str(caught.value)


def test_a_joiner_that_serves_stops_at_its_own_deadline(tmp_path):
    """Its caller gets a timeout; the request waits for the next worker."""
    store = store_in(tmp_path)
    store.submit(request("a", route="claude"))

    def work(_asked, control):
        assert control.deadline_s < store.clock.monotonic_s() + 60
        while store.clock.monotonic_s() < control.deadline_s:
            pass
        return Outcome(code="timeout")

    waiter = Waiter(store, on_stage=lambda _: None)
    with pytest.raises(WaitTimeout):
        waiter.one_or_serve(
            A, new_worker(store, Scripted(work)), after_s=0, timeout_s=0.3
        )

    assert folders_of(store, "a") == ["requests"]


def test_nothing_is_served_after_the_deadline(tmp_path):
    """It is not even tried: an executor may take seconds to start."""
    store = store_in(tmp_path, clock=FakeClock())
    store.submit(request("a", route="claude"))
    asked: list[object] = []
    worker = new_worker(store, Scripted(lambda *each: asked.append(each)))
    waiter = Waiter(store, on_stage=lambda _: None)

    with pytest.raises(WaitTimeout):
        waiter.one_or_serve(A, worker, after_s=0, timeout_s=0)

    assert asked == []


def test_submitting_waits_for_the_lock_until_the_deadline(bridge, monkeypatch):
    """After that the request would be useless."""
    waits: list[float] = []
    submit = Store.submit

    def noted(store, *args, **how):
        with store.state() as state:
            waits.append(state.lock_wait_s)
        return submit(store, *args, **how)

    monkeypatch.setattr(Store, "submit", noted)

    bridge.submit("Which?", timeout_s=600)
    bridge.submit("Which?", timeout_s=5)

    assert 10 < waits[0] <= 600
    assert waits[1] <= 5


@pytest.fixture
def served(monkeypatch):
    """The route claude answers at once, and says so before."""

    def act(_asked, control):
        control.on_progress(Progress())
        return Outcome(GOOD)

    executor = Scripted(act)
    monkeypatch.setitem(executors._EXECUTORS, "claude", lambda *_: executor)


@pytest.mark.usefixtures("served")
def test_a_joiner_serves_a_request_of_its_route(bridge):
    """Its first caller may have submitted it and left."""
    request_id = bridge.submit("Which?", dedup_key="k", route="claude")

    result = bridge.ask("Which?", dedup_key="k", route="claude", timeout_s=5)

    assert (result.request_id, result.route) == (request_id, "claude")


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("route", ["host", "auto"])
def test_a_joiner_does_not_serve_a_request_for_a_session(bridge, monkeypatch, route):
    """Its first caller chose the session, whether or not one is open now."""
    request_id = bridge.submit("Which?", dedup_key="k")
    if route == "auto":
        monkeypatch.setattr(sessions, "live_sessions", lambda *_, **__: [])
    how = {"fallback": "claude", "fallback_after_s": 0, "timeout_s": 0.2}

    with pytest.raises(WaitTimeout):
        bridge.ask("Which?", dedup_key="k", route=route, **how)

    assert bridge.status(request_id).status is Status.PENDING


def raising(kind: type[BaseException]) -> Callable[..., None]:
    def interrupt(*_, **__):
        raise kind("by the caller")

    return interrupt


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_while_submitting_cancels(bridge, monkeypatch, kind):
    monkeypatch.setattr(wakeups, "wake", raising(kind))

    with pytest.raises(kind):
        bridge.ask("Which?")

    assert [ended.code for ended in bridge.overview().last] == ["cancelled"]


# Also what the worker or a tool of its would take for its own.
STOPS = [KeyboardInterrupt, SystemExit, ZeroDivisionError, OSError, StateUnavailable]


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("kind", STOPS)
@pytest.mark.parametrize("name", ["on_stage", "on_progress"])
def test_a_callback_that_raises_cancels(bridge, kind, name):
    """A server that catches SystemExit lives on, and would hold the claim."""
    with pytest.raises(kind) as caught:
        bridge.ask("Which?", route="claude", **{name: raising(kind)})

    (ended,) = bridge.overview().last
    assert ended.code == "cancelled"
    assert caught.value.__notes__ == [f"cancelled {ended.request_id}"]


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("kind", STOPS)
@pytest.mark.parametrize("name", ["on_stage", "on_progress"])
def test_a_joiner_that_stops_serving_gives_the_request_back(bridge, kind, name):
    request_id = bridge.submit("Which?", dedup_key="k", route="claude")
    options: Any = {"dedup_key": "k", "route": "claude", name: raising(kind)}

    with pytest.raises(kind):
        bridge.ask("Which?", **options)

    assert bridge.status(request_id).status is Status.PENDING


def test_a_callback_with_a_bug_cancels(bridge):
    """Its caller has left: nobody wants the answer."""
    with pytest.raises(ZeroDivisionError):
        bridge.ask("Which?", on_stage=raising(ZeroDivisionError))

    assert [ended.code for ended in bridge.overview().last] == ["cancelled"]
