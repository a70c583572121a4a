"""Every turn is logged; a log that cannot be written does not end the run."""

import json

import pytest
from runworld import call, submit
from storeworld import store_in

from bridge.agent_loop.run_log import MAX_TEXT_CHARS, TurnLog


@pytest.fixture
def store(tmp_path):
    return store_in(tmp_path)


def lines_of(store):
    return store.run_log("r1")


def test_a_run_is_logged_turn_by_turn(store, world):
    world.write("a.txt", "one")
    log = TurnLog(store, "r1")

    world.run(call("read_file", path="a.txt"), submit())
    for event in world.log:
        log(event)

    lines = lines_of(store)
    assert [e["event"] for e in lines] == world.events()
    assert [e["turn"] for e in lines] == [0, 0, 1, 1, 1, 1, 2, 2, 2]
    assert {e["requestId"] for e in lines} == {"r1"}
    assert all(isinstance(e["at"], int) for e in lines)
    assert lines[4]["arguments"] == {"path": "a.txt"}
    assert lines[5]["text"] == "one"
    file = store.place.state / "runs/r1.jsonl"
    assert [json.loads(line) for line in file.read_text().splitlines()] == lines


def test_long_payloads_are_cut(store):
    log = TurnLog(store, "r1")

    log({"event": "a", "text": "é" * 9_000, "value": {"k": "x" * 9_000}})

    (line,) = lines_of(store)
    assert line["text"] == "é" * MAX_TEXT_CHARS + "… 5,000 more"
    assert line["value"].startswith('{"k":"xxx')
    assert len(line["value"]) < MAX_TEXT_CHARS + 20


def test_values_without_json_are_written_as_text(store):
    log = TurnLog(store, "r1")

    log({"event": "a", "text": "\ud800", "value": {"k": "\ud800"}})

    (line,) = lines_of(store)
    assert (line["text"], line["value"]) == ("?", "{'k': '\\ud800'}")


def test_a_broken_line_is_skipped(store):
    log = TurnLog(store, "r1")
    log({"event": "a"})
    with (store.place.state / "runs/r1.jsonl").open("a") as file:
        file.write("{half\n7\n")
    log({"event": "b"})

    assert [line["event"] for line in lines_of(store)] == ["a", "b"]


def test_a_log_that_cannot_be_written_stops_nothing(store):
    """A file lies where its folder should be."""
    with store.state() as state:
        state["runs"]
    (store.place.state / "runs").rmdir()
    (store.place.state / "runs").write_text("in the way")

    TurnLog(store, "r1")({"event": "a"})

    assert (store.place.state / "runs").read_text() == "in the way"
