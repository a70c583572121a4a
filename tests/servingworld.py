"""A worker in this process whose executor does what a function says."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from storeworld import this_process

from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.protocol.ids import RequestId
from bridge.protocol.outcome import Control, Outcome
from bridge.protocol.request import Request
from bridge.protocol.response import Failure, Response
from bridge.store.clock import Clock
from bridge.store.sessions import Session
from bridge.store.store import Store
from bridge.worker.worker import Executor, Worker

A = RequestId("a")
GOOD = '{"status": "success", "summary": "fine"}'


class Scripted:
    """An executor that does what a function says."""

    def __init__(self, act: Callable[..., Outcome]) -> None:
        self._act = act

    def answer(self, asked: Request, _definition: None, control: Control) -> Outcome:
        return self._act(asked, control)


def saying(outcome: Outcome | str) -> Scripted:
    made = Outcome(outcome) if isinstance(outcome, str) else outcome
    return Scripted(lambda *_: made)


def until_stopped(_asked: Request, control: Control) -> Outcome:
    pause = threading.Event()
    for _look in range(3000):
        if control.should_stop():
            return Outcome("late words", "agent_stopped")
        pause.wait(0.02)
    pytest.fail("nobody stopped it")


def new_worker(store: Store, executor: Executor, **how: Any) -> Worker:
    how.setdefault("define", lambda asked: (asked, None))
    return Worker(store, "claude", executor, max_depth=2, **how)


def response(store: Store) -> Response:
    found = store.find(A)
    assert found is not None
    assert found.response is not None
    return found.response


def failure(store: Store) -> Failure:
    ended = response(store)
    assert ended.error is not None
    return ended.error


def open_session(store: Store, *, wakes: bool = True) -> Session:
    """Register this process as a session that, by default, can be woken."""
    session = Session(
        session_id="open",
        host=this_process(),
        registered_at=store.now_ms(),
        wakes=wakes,
    )
    with store.state() as state, state["sessions"] as folder:
        folder.create("open.json", session.to_json())
    return session


def bridge_in(folder: Path, clock: Clock | None = None, **settings: Any) -> Bridge:
    """The bridge of a project in `folder`, with a home beside it."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    home = folder / "home"
    chosen = Settings(home=home, claude_dir=folder / "claude", **settings)
    return Bridge(chosen, project, clock=clock)
