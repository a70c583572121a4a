"""Serving one request after another: what becomes of the rest when one goes wrong."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from storeworld import claimant, request, store_in

from bridge.errors import BridgeError
from bridge.protocol.answering import Outcome
from bridge.protocol.ids import RequestId
from bridge.spawner import serve as serving
from bridge.spawner.serve import serve
from bridge.spawner.serving import Server

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.protocol.request import Request
    from bridge.store.files import FileStore

GOOD = '{"status": "success", "summary": "fine"}'


class Sometimes:
    """Answers, but for what its request is called."""

    def __init__(self, raised: Exception) -> None:
        self.asked: list[str] = []
        self._raised = raised

    def answer(self, asked: Request, _definition: None, **_: Any) -> Outcome:
        self.asked.append(asked.request_id)
        if asked.request_id == "bad":
            raise self._raised
        return Outcome(GOOD)


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    made = store_in(tmp_path)
    for name in ("bad", "good", "more"):
        made.submit(request(name, route="claude"))
    return made


def served(
    store: FileStore,
    answerer: Sometimes,
    told: list[tuple[str, Exception]],
    *,
    once: bool = True,
) -> list[tuple[str, str | None]]:
    """Each request that was served with its error code, by what a bridge gives."""
    server = Server(
        store,
        "claude",
        answerer,
        define=lambda asked: (asked, None),
        max_depth=2,
        on_stage=lambda _: None,
        on_progress=lambda _: None,
    )

    def on_bug(request_id: RequestId, exc: Exception) -> None:
        told.append((request_id, exc))

    bridge: Any = SimpleNamespace(
        store=store, server=lambda _: server, settings=SimpleNamespace(off=False)
    )
    found = serve(bridge, routes=["claude"], once=once, on_bug=on_bug)
    return [(each.request_id, each.error and each.error.code) for each in found]


def test_error_a_bug_ends_one_request_and_no_other(store: FileStore) -> None:
    bug = ZeroDivisionError("one of ours")
    told: list[tuple[str, Exception]] = []

    ended = served(store, Sometimes(bug), told)

    assert sorted(ended, key=str) == [
        ("bad", "agent_error"),
        ("good", None),
        ("more", None),
    ]
    assert told == [("bad", bug)]


def test_error_what_cannot_even_be_ended_is_not_tried_for_ever(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its claim is given up with the process, or ended by the deadline."""
    told: list[tuple[str, Exception]] = []
    bug = ZeroDivisionError("when it was claimed")
    claim_one = store.claim_one

    def claim(request_id: RequestId, *how: Any) -> Request | None:
        if request_id == "bad":
            raise bug
        return claim_one(request_id, *how)

    monkeypatch.setattr(store, "claim_one", claim)

    ended = served(store, Sometimes(bug), told)

    assert sorted(ended, key=str) == [("good", None), ("more", None)]
    assert told == [("bad", bug)]


def test_error_a_definition_that_cannot_be_used_is_no_bug(store: FileStore) -> None:
    told: list[tuple[str, Exception]] = []

    ended = served(store, Sometimes(BridgeError("nobody knows it")), told)

    assert ("bad", "AGENT_001") in ended
    assert (len(ended), told) == (3, [])


def test_a_queue_that_does_not_change_is_not_read_again(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands may wait there for a session, or for a route that is not served."""
    for name in ("bad", "good", "more"):
        store.claim_one(RequestId(name), claimant())
    store.submit(request("theirs", route="host"))
    looks, naps = 0, 0
    waiting = store.waiting

    def counted() -> list[RequestId]:
        nonlocal looks
        looks += 1
        return waiting()

    def nap(_seconds: float) -> None:
        nonlocal naps
        naps += 1
        if naps == 5:
            store.submit(request("late", route="claude"))
        if naps == 10:
            raise KeyboardInterrupt

    monkeypatch.setattr(store, "waiting", counted)
    monkeypatch.setattr(serving.time, "sleep", nap)
    answerer = Sometimes(ZeroDivisionError())

    with pytest.raises(KeyboardInterrupt):
        served(store, answerer, [], once=False)

    assert answerer.asked == ["late"]
    # The sweep's and the first; when something came; when that had gone.
    assert looks == 4
