"""A process that asks, and whose agent asks back, is killed at every step of both."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from faultlab import scratch, tell
from loopworld import Loop
from runworld import call, submit
from servingworld import bridge_in
from systemcalls import changes, run_broken

from bridge.protocol.ids import RequestId
from bridge.worker.executors import open_workers

pytestmark = [pytest.mark.faults, pytest.mark.slow]

# What moves a request or a question on, and the journal between them.
DECISIVE = ("linkat", "renameat", "write")
ASKS = call("ask_question", words="Which colour?", choices=["red", "blue"])


def world_in(folder: Path, patch: pytest.MonkeyPatch) -> Loop:
    folder.mkdir()
    loop = Loop(bridge_in(folder, openai_model="scripted"), patch)
    loop.serve(ASKS, submit())
    return loop


def asking(loop: Loop) -> Callable[[], object]:
    """What asks: it replies to its agent at once."""

    def act():
        ask = loop.bridge.ask
        return ask(
            "Look.", "checker", route="endpoint", on_question=lambda _: "red"
        ).success

    return act


def finish(loop: Loop) -> tuple[bool, list[object]]:
    """What others make of what is left: reply, and serve. Whether, and what counts."""
    bridge, store = loop.bridge, loop.bridge.store
    store.sweep(everything=True)
    for question in bridge.questions():
        bridge.reply(question.request_id, "red")
    assert store.claimed() == []
    (worker,) = open_workers(store, bridge.settings, ["endpoint"]).values()
    for request_id in store.waiting():
        loop.model.replies[:] = [submit()]
        assert worker.serve(request_id)
    (done,) = [bridge.status(each) for each in ended(loop)]
    return done.response.success, [each.reply for each in done.request.exchanges]


def ended(loop: Loop) -> list[RequestId]:
    folder = loop.bridge.store.place.state / "responses"
    return [RequestId(file.stem) for file in folder.glob("[!.]*.json")]


def test_a_kill_anywhere_leaves_one_question_and_one_answer(
    monkeypatch,
):
    """Its agent is gone with it; whoever serves next goes on with the reply."""
    home = scratch()
    try:
        loop = world_in(home / "whole", monkeypatch)
        made = [each for each in changes(asking(loop)) if each[0] in DECISIVE]
        seen = set()
        for call_name, number in made:
            loop = world_in(home / f"{call_name} {number}", monkeypatch)
            fault = f"inject={call_name}:signal=KILL:when={number}"
            run_broken(asking(loop), "-e", fault)
            if not loop.bridge.store.exists() or not any(room(loop)):
                # Killed before anything was asked.
                continue

            success, counts = finish(loop)

            assert success, fault
            assert counts in ([], ["red"]), fault
            seen.add(len(counts))
        assert seen == {0, 1}
        tell(f"{len(made)} kill points")
    finally:
        shutil.rmtree(home)


def room(loop: Loop) -> list[str]:
    """The requests that were asked, however far they came."""
    state = loop.bridge.store.place.state
    rooms = ("requests", "processing", "done")
    return [f.stem for name in rooms for f in (state / name).glob("[!.]*.json")]
