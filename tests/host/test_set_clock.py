"""The wall clock is set, forward or back: nothing ends early, nothing waits for it."""

import json
import os
from typing import Any

import pytest
from storeworld import FakeClock, claim_all, drop, request, store_in

from bridge.host.offers import REPEAT_AFTER_MS
from bridge.store.clock import uptime
from bridge.store.spending import HOUR_MS

pytestmark = pytest.mark.slow

DAY_S = 86_400


@pytest.mark.parametrize("set_s", [0, DAY_S, -DAY_S], ids=["unset", "forward", "back"])
@pytest.mark.parametrize("is_claimed", [False, True], ids=["waits", "claimed"])
def test_a_request_ends_after_its_own_time(tmp_path, set_s, *, is_claimed):
    """By the monotonic clock: neither after 2 s of 100 nor a day too late."""
    clock = FakeClock()
    store = store_in(tmp_path, clock=clock)
    asked = request(timeout=100_000, uptime=uptime(clock))
    store.submit(asked)
    if is_claimed:
        claim_all(store)

    clock.go_on(2)
    clock.set_wall(set_s)
    store.sweep(everything=True)
    early = store.find(asked.request_id)
    clock.go_on(99)
    store.sweep(everything=True)
    late = store.find(asked.request_id)

    assert early.response is None
    assert late.response.error.message.startswith("no answer within 100 s")
    assert late.response.duration == 100_000


def test_after_a_reboot_the_wall_clock_decides(tmp_path):
    """The monotonic clock began anew."""
    clock = FakeClock()
    store = store_in(tmp_path, clock=clock)
    before = uptime(clock).with_(boot="another")
    asked = request(timeout=100_000, uptime=before)
    store.submit(asked)

    clock.set_wall(DAY_S)
    store.sweep(everything=True)

    found = store.find(asked.request_id)
    assert found.response is not None


def test_a_file_without_a_time_is_new(tmp_path):
    """A program copied an old record, and left out its time, but not the other one."""
    clock = FakeClock()
    store = store_in(tmp_path, clock=clock)
    copied: dict[str, Any] = {"requestId": "a", "agentType": "Explore", "prompt": "?"}
    copied["uptime"] = uptime(clock).to_data()
    clock.go_on(DAY_S)
    file = drop(store, "requests", "a.json", json.dumps(copied))
    written_s = clock.now_us() / 1_000_000
    os.utime(file, (written_s, written_s))

    (taken,) = claim_all(store)

    assert taken.deadline_ms > store.now_ms()


def offered(said: dict[str, Any]) -> bool:
    return "bridge:" in str(said.get("hookSpecificOutput", {}))


@pytest.mark.parametrize("set_s", [3 * HOUR_MS / 1000, -3 * HOUR_MS / 1000])
def test_a_set_clock_changes_no_budget(world, monkeypatch, set_s):
    """An hour is an hour, whatever the wall says."""
    monkeypatch.setenv("BRIDGE_AGENTS_PER_HOUR", "1")
    world.begin()
    world.submit(timeout_s=12 * HOUR_MS / 1000)

    world.set_clock(set_s)

    assert not offered(world.say("UserPromptSubmit", prompt="hello"))


def test_an_offer_from_the_future_is_repeated_and_given_back(world):
    request_id = world.submit(timeout_s=DAY_S)
    world.say("UserPromptSubmit", prompt="hello")
    fresh = offered(world.say("UserPromptSubmit", prompt="hello"))

    world.set_clock(-3600)
    repeated = []
    for _ in range(2):
        repeated.append(offered(world.say("UserPromptSubmit", prompt="hello")))
        world.set_clock(2 * REPEAT_AFTER_MS / 1000)
    world.say("UserPromptSubmit", prompt="hello")

    assert (fresh, repeated) == (False, [True, True])
    assert world.code(request_id) == "declined"


@pytest.mark.parametrize("set_s", [DAY_S, -DAY_S], ids=["forward", "back"])
def test_an_agent_keeps_its_time(world, set_s):
    """What was written down at its launch is of the old clock; its deadline is not."""
    _, agent = world.working(timeout_s=3600)

    world.set_clock(set_s)

    assert world.use(agent) == {}


@pytest.mark.parametrize("set_s", [0, DAY_S, -DAY_S], ids=["unset", "forward", "back"])
def test_an_agent_is_warned_in_time(world, set_s):
    """By the clock that nobody sets: before its deadline, not a day later."""
    _, agent = world.working(timeout_s=60)
    (run,) = world.runs()
    now_ms = world.store.clock.monotonic_s() * 1000
    assert 0 < run.answer_at - now_ms < 60_000
    world.change("agents", agent, answerAt=int(now_ms))

    world.set_clock(set_s)

    said = world.use(agent)
    reason = said["hookSpecificOutput"]["permissionDecisionReason"]
    assert reason.startswith("hostbridge: the time for this request is nearly up.")
    assert "continue" not in said
