"""A worker in this process whose executor does what a function says."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from bridge.protocol.ids import RequestId
from bridge.protocol.outcome import Outcome
from bridge.worker.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.protocol.request import Request
    from bridge.protocol.response import Response
    from bridge.store.store import Store

A = RequestId("a")
GOOD = '{"status": "success", "summary": "fine"}'


class Scripted:
    """An executor that does what a function says."""

    def __init__(self, act: Callable[..., Outcome]) -> None:
        self._act = act

    def answer(self, asked: Request, _definition: None, **how: Any) -> Outcome:
        return self._act(asked, **how)


def saying(outcome: Outcome | str) -> Scripted:
    made = Outcome(outcome) if isinstance(outcome, str) else outcome
    return Scripted(lambda *_, **__: made)


def until_stopped(_asked: Request, *, should_stop: Callable[[], bool], **_: Any):
    pause = threading.Event()
    for _look in range(3000):
        if should_stop():
            return Outcome("late words", "agent_stopped")
        pause.wait(0.02)
    pytest.fail("nobody stopped it")


def new_worker(store: Store, executor: Scripted, **how: Any) -> Worker:
    defaults: dict[str, Any] = {
        "define": lambda asked: (asked, None),
        "max_depth": 2,
        "on_stage": lambda _: None,
        "on_progress": lambda _: None,
    }
    return Worker(store, "claude", executor, **{**defaults, **how})


def response(store: Store) -> Response:
    found = store.find(A)
    assert found is not None
    assert found.response is not None
    return found.response
