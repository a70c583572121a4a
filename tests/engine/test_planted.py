"""Files of a run that are not as they were written: named, and nothing is run."""

import json
import os
import shutil
from contextlib import suppress
from typing import Any

import pytest
from engine.flowworld import World

from bridge.engine import by_hand
from bridge.engine.advance import advance_all
from bridge.engine.run import Run
from bridge.engine.run_files import KEYS, MORE_KEYS, BadRun, folder_of, read, write
from bridge.engine.view import all_runs
from bridge.errors import BridgeError, NewerSchema


@pytest.fixture
def world(tmp_path):
    """By the machine's own clock, which planted files go by, too."""
    return World(tmp_path)


@pytest.fixture
def run(world):
    run = world.begin('a:"1" -> b:"2"')
    world.answer("a")
    return run


def folder(world, run):
    return world.store.place.state / "runs" / run


def changed(file, **fields):
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def test_a_run_that_was_changed_by_hand_is_not_run(world, run):
    changed(folder(world, run) / "run.json", name="other")

    with pytest.raises(BadRun) as refused:
        world.advance(run)

    path = folder(world, run)
    assert str(refused.value) == (
        f"{path}/run.json: not written by hostbridge: the seal is missing or wrong; "
        "nothing of this run is done. What to do: remove "
        f"{path}, and run the flow again"
    )
    assert world.waiting() == {}


@pytest.mark.parametrize("file", ["plan.json", "details.json"])
def test_a_plan_that_has_changed_is_not_run(world, run, file):
    with (folder(world, run) / file).open("a") as plan:
        plan.write(" ")

    try:
        refused = world.advance(run)["why"]
    except BadRun as error:
        refused = str(error)
    assert refused is None or "it has changed since the run began" in refused
    assert world.waiting() == {}


def test_a_copied_run_is_not_run(world, run):
    other = folder(world, "r2")
    shutil.copytree(folder(world, run), other)

    with pytest.raises(BadRun, match=f"it is of another run, {run}"):
        world.advance("r2")


def test_a_run_of_another_version_is_named(world, run):
    with world.store.state() as state, folder_of(state, run) as here:
        other = read(here, run, state.key())
        del other["tokens"]
        write(here, other, state.key())

    with pytest.raises(BadRun, match="another version of hostbridge wrote it"):
        world.advance(run)
    (listed,) = all_runs(world.store)
    assert listed[0] == run


def test_the_keys_of_a_run():
    assert Run.__required_keys__ == KEYS
    assert Run.__optional_keys__ | {"seal", "form"} == MORE_KEYS


def test_a_newer_run_is_refused_and_kept(world, run):
    file = folder(world, run) / "run.json"
    changed(file, schemaVersion=3)
    kept = file.read_bytes()

    with pytest.raises(NewerSchema, match=r"schemaVersion 3 is newer than 2"):
        world.advance(run)

    assert file.read_bytes() == kept


def test_error_what_a_newer_one_added_is_refused_by_name(world, run):
    """Under the same version: where both are installed, either may look."""
    with world.store.state() as state, folder_of(state, run) as here:
        newer: Any = {**read(here, run, state.key()), "isSecret": True}
        write(here, newer, state.key())

    with pytest.raises(NewerSchema, match="isSecret: not known to this hostbridge"):
        world.advance(run)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"run":"r"}', '"x"', "\xff"])
def test_a_broken_run_is_not_run(world, run, text):
    (folder(world, run) / "run.json").write_text(text)

    with pytest.raises(BadRun):
        world.advance(run)


def planted(file, how):
    """Something else in place of a file; what was there is moved aside."""
    aside = file.with_name("aside")
    if file.exists():
        file.rename(aside)
    if how == "pipe":
        os.mkfifo(file)
    elif how == "folder":
        file.mkdir()
    else:
        file.symlink_to(aside)


@pytest.mark.parametrize("how", ["pipe", "folder", "link"])
@pytest.mark.parametrize("file", ["plan.json", "details.json", "run.json", "run.lock"])
def test_what_is_no_plain_file_is_named_and_not_opened(world, run, file, how):
    planted(folder(world, run) / file, how)

    with suppress(BridgeError):
        world.advance(run)
    with pytest.raises(BridgeError) as refused:
        world.advance(run, by_hand.pause)

    assert f"{folder(world, run)}/{file}: not a plain file" in str(refused.value)
    assert world.waiting() == {}


@pytest.mark.parametrize("how", ["pipe", "folder", "link"])
def test_a_planted_mark_keeps_no_run_from_its_end(world, run, how):
    live = world.store.place.state / "live"
    (live / f"{run}.run").unlink()
    planted(live / f"{run}.run", how)
    planted(live / "rother.run", how)

    advance_all(world.store, world.settings)
    assert world.answered(run, "b")["status"] == "completed"
    left = {f"{run}.run", "rother.run"} if how == "folder" else set()
    assert {file.name for file in live.iterdir()} - {"aside"} == left


def test_one_bad_run_does_not_keep_others_from_going_on(world, run):
    good = world.begin('c:"1" -> d:"2"')
    world.answer("c")
    os.truncate(folder(world, run) / "run.json", 0)

    advance_all(world.store, world.settings)

    assert [*world.waiting()] == ["d"]
    assert world.advance(good)["status"] == "running"


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir])
def test_a_lock_that_is_no_file_stops_no_other_run(world, put):
    first, second = world.begin('a:"1"'), world.begin('b:"2" -> c:"3"')
    lock = folder(world, first) / "run.lock"
    lock.unlink()
    put(lock)
    world.answer("b")

    advance_all(world.store, world.settings)

    assert [*world.waiting()] == ["a", "c"]
    assert first < second


def test_a_plan_is_read_only_when_something_has_ended(world):
    """Many runs may wait for long: each hook looks at all of them."""
    run = world.begin('a:"1" -> b:"2"')
    (folder(world, run) / "plan.json").unlink()

    assert world.advance(run)["status"] == "running"

    world.answer("a")
    with pytest.raises(BadRun, match="it is not there"):
        world.advance(run)
