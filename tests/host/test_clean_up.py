"""What is removed by itself, when, and what stays whatever the limits are."""

import json
import os
import time

import pytest
from polling import wait_until
from store.test_prune import DAY, after, finished
from storeworld import request, store_in

from bridge.api.clean_up import clean
from bridge.config import Settings
from bridge.errors import NewerSchema
from bridge.freshness import pinned
from bridge.freshness.kept_reads import file_of_question
from bridge.store import cleaning
from bridge.store.lock import lock_in

QUESTION = "0" * 64


@pytest.fixture
def store(tmp_path):
    return store_in(tmp_path)


@pytest.fixture
def settings(store):
    return Settings(store.place.guard, keep_days=90, keep_mib=0)


def ended(store):
    with store.state(make=False) as state:
        return {*state["responses"].names()}


@pytest.mark.parametrize(
    ("days", "limits", "large", "gone"),
    [
        (89, {}, "plain", 0),
        # A run that is as old goes with its answers.
        (91, {}, "plain", 2),
        (9000, {"keep_days": 0}, "plain", 0),
        (0.9, {"keep_mib": 1}, "plain", 0),
        (1.1, {"keep_mib": 1}, "plain", 1),
        # It makes no room for what stays.
        (1.1, {"keep_mib": 1}, "r1run-a", 0),
    ],
)
def test_only_what_is_over_the_limits_and_needed_by_nobody_goes(
    store, settings, tmp_path, days, limits, large, gone
):
    finished(store, "plain", "r1run-a", "locked")
    store.submit(request("waits"))
    file = store.place.state / "responses" / f"{large}.json"
    file.write_bytes(file.read_bytes().rstrip() + b" " * (1 << 20))
    (store.place.state / "runs" / "r1run").mkdir(parents=True)
    lock = tmp_path / "answers.lock"
    lock.write_text(f"hostbridge answers 1\n\nanswer {QUESTION}\n")
    with store.state() as state:
        pinned.note(state, lock, store.place.project)
        name = file_of_question(QUESTION, str(store.place.project))
        state["reads"].create(name, json.dumps({"requestId": "locked"}).encode())
    later, settings = after(store, days * DAY), settings.with_(**limits)

    expected = clean(later, settings, dry_run=True)
    removed = clean(later, settings)

    assert (expected.requests, removed.requests) == (gone, gone)
    assert "locked" in ended(store)
    assert ("r1run-a" in ended(store)) == (gone < 2)
    assert ("plain" not in ended(store)) == bool(gone)
    assert cleaning.last(later).requests == gone
    lock.unlink()
    # Nobody waits for its other end.
    os.mkfifo(lock)
    if gone and not limits:
        assert clean(later, settings).requests == 1


def test_two_do_not_clean_up_at_once(store, settings):
    finished(store, "a")
    later = after(store, 91 * DAY)
    with store.state() as state, lock_in(state["locks"], cleaning.LOCK, wait_s=1):
        assert clean(later, settings) is None
    assert clean(later, settings).requests == 1


@pytest.mark.parametrize("what", ["submit", "SessionEnd"])
def test_what_runs_anyway_begins_it(world, what):
    world.submit()
    yesterday = time.time() - 2 * DAY
    state = world.store.place.state
    os.utime(state / "locks/store.lock", (yesterday, yesterday))
    assert not (state / cleaning.FILE).exists()

    if what == "submit":
        world.submit()
    else:
        world.say(what, reason="other")

    wait_until((state / cleaning.FILE).read_bytes)


def test_it_is_begun_once_a_day_by_whatever_runs(store, settings):
    """And nobody waits for it: a process of its own does it."""
    finished(store, "a")
    file = store.place.state / cleaning.FILE
    assert not cleaning.start_if_due(store, settings)
    yesterday = time.time() - DAY
    os.utime(store.place.state / "locks/store.lock", (yesterday, yesterday))
    assert not cleaning.start_if_due(store, settings.with_(keep_days=0))

    assert cleaning.start_if_due(store, settings)

    wait_until(file.read_bytes)
    assert not cleaning.start_if_due(store, settings)
    assert cleaning.last(store).requests == 0
    assert ended(store) == {"a"}
    os.utime(file, (yesterday, yesterday))
    assert cleaning.start_if_due(store, settings)
    # After a long time it waits a day more: it may be the clock that is wrong.
    os.utime(file, (time.time() - 31 * DAY,) * 2)
    assert not cleaning.start_if_due(store, settings)
    assert not cleaning.is_due(store, settings)
    # A clock that was set back does not put it off for ever.
    os.utime(file, (time.time() + DAY,) * 2)
    assert cleaning.start_if_due(store, settings)


def test_error_noted_locks_of_a_newer_hostbridge_stay(store, settings, tmp_path):
    """What it would have to keep, an older one cannot tell: it removes nothing."""
    finished(store, "plain")
    file = store.place.state / pinned.FILE
    file.write_text('{"schemaVersion": 2, "locks": {}}')

    with (
        store.state() as state,
        pytest.raises(NewerSchema, match=f"{file}: schemaVersion 2 is newer than 1"),
    ):
        pinned.note(state, tmp_path / "answers.lock", store.place.project)
    with pytest.raises(NewerSchema):
        clean(after(store, 999 * DAY), settings)

    assert "plain" in ended(store)
    assert file.read_text() == '{"schemaVersion": 2, "locks": {}}'
