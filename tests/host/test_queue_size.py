"""Long queues: what is for others delays nothing, and no event costs more for them."""

import os
from typing import Any

import pytest
from counted import lines_of
from hookworld import HookWorld

from bridge.protocol.ids import new_request_id
from bridge.protocol.request import Request
from bridge.store import wakeups

MANY = 600
# For another session, for another route, and not yet to be tried again.
NOT_FOR_US: tuple[dict[str, Any], ...] = (
    {"session": "gone"},
    {"route": "local"},
    {"notBefore": 4_000_000_000_000, "timeout": 4_000_000_000_000},
)


@pytest.fixture
def crowd(world, monkeypatch):
    """Requests that no hook of this session may take, before all others."""
    # A busy machine takes longer; what is cut goes on at the next event.
    monkeypatch.setattr("bridge.store.claim_next._MAX_S", 3600)
    world.say("UserPromptSubmit", prompt="hello")
    for number in range(MANY):
        name = new_request_id(1_700_000_000_000_000 + number, "high")
        not_for_us = NOT_FOR_US[number % len(NOT_FOR_US)]
        world.drop(name, prompt="x", priority="high", **not_for_us)


@pytest.mark.usefixtures("crowd")
def test_what_is_behind_a_crowd_for_others_is_offered(world):
    mine = world.submit()

    said = world.say("UserPromptSubmit", prompt="hello")

    assert f"bridge:{mine}" in said["hookSpecificOutput"]["additionalContext"]
    assert [held.request_id for held in world.store.claimed()] == [mine]


@pytest.mark.usefixtures("crowd")
def test_what_is_behind_a_crowd_may_be_called_for_by_name(world):
    """An offer was withdrawn, say, and the model makes the call all the same."""
    mine = world.submit()

    world.launch(mine)

    assert [held.request_id for held in world.store.claimed()] == [mine]


@pytest.mark.usefixtures("crowd")
def test_a_look_that_was_cut_short_goes_on_by_itself(world, monkeypatch):
    """Neither the mark for the shell nor an idle session may end it."""
    monkeypatch.setattr("bridge.store.claim_next._MAX_S", 0)
    world.drop("zz", prompt="x")
    state = world.store.place.state
    os.utime(state / "requests", (0, 0))
    wakeups.wake(world.store, world.live())

    first = world.fire("FileChanged")

    assert (first.exit_code, first.stderr) == (0, "")
    assert list(state.glob("bell/*/wake"))
    assert not (state / "sessions" / f"{world.session}.looked").exists()
    rounds = 1
    while list(state.glob("bell/*/wake")):
        last = world.fire("FileChanged")
        rounds += 1
    assert "bridge:zz" in last.stderr
    assert rounds < MANY / 100


@pytest.mark.parametrize("folder", ["requests", "processing", "done"])
def test_a_start_and_a_submit_do_not_grow_with_what_is_there(world, folder):
    """A session start that is cut gives no watch, and a submit may be a hook's."""
    costs = []
    for more in (10, 300):
        fill(world, folder, more)
        acts = (lambda: world.answer("SessionStart", source="resume"), world.submit)
        costs.append([min(lines_of(act) for _ in range(3)) for act in acts])

    (few_start, few_submit), (many_start, many_submit) = costs
    assert many_start < few_start + 100
    assert many_submit < few_submit + 100


def fill(world: HookWorld, folder: str, count: int) -> None:
    """Put so many more requests into a folder."""
    path = world.store.place.state / folder
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    for _ in range(count):
        asked = Request(
            request_id=new_request_id(world.store.clock.now_us()), prompt="x"
        )
        (path / f"{asked.request_id}.json").write_bytes(asked.to_json())
