"""Hostile data, in the steps of pipelines and of step workflows.

A result that somebody else put there counts as none; a value that is too long for a
variable neither stops a workflow nor frees a model from it.
"""

import errno
import os
from pathlib import Path

import pytest
from engine.pipeworld import PipeWorld, pipeline, program, tool
from hookworld import hook_world
from stepworld import activate, after, call, record, step, variables
from storeworld import put_odd

from bridge.errors import InvalidRequest, StateRefused
from bridge.tasks.task import Holder, NewTask
from bridge.tasks.tasks import Tasks

pytestmark = pytest.mark.faults


@pytest.fixture
def world(tmp_path, monkeypatch):
    with hook_world(tmp_path, monkeypatch) as made:
        made.say("SessionStart", source="startup")
        yield made


def plant(file: Path, how: str) -> None:
    match how:
        case "nothing":
            file.write_text("")
        case "another's":
            file.write_text('{"how":"ok","why":"","output":{"exit_code":7}}')
        case "folder":
            (file / "in it").mkdir(parents=True)
        case _:
            put_odd(file, how, Path("/etc/passwd"))


@pytest.mark.parametrize("how", ["nothing", "another's", "link", "pipe", "folder"])
def test_a_planted_result_is_none_and_the_program_runs(tmp_path, how):
    """It ran for ever: a result by its name, and none by its seal."""
    world = PipeWorld(tmp_path)
    plan = pipeline(
        only=program("sh", "-c", "echo x >> ran"),
        after=tool("create_task", {"title": "code ${{ steps.only.output.exit_code }}"}),
    )
    run = world.begin(plan)
    folder = world.store.place.state / "runs" / run / "results"
    folder.mkdir(mode=0o700, exist_ok=True)
    plant(folder / f"{run}-only-1-1.json", how)

    assert world.do_all(run)["status"] == "completed"

    assert (world.store.place.project / "ran").read_text() == "x\n"
    assert [task.title for task in Tasks(world.store).list()] == ["code 0"]


@pytest.mark.parametrize("how", ["nothing", "link", "pipe"])
def test_what_lies_in_place_of_the_results_is_named(tmp_path, how):
    """The whole state was said to be no directory."""
    world = PipeWorld(tmp_path)
    run = world.begin(pipeline(only=program("true")))
    folder = world.store.place.state / "runs" / run / "results"
    plant(folder, how)

    with pytest.raises(StateRefused, match=f"{run}/results: not a folder of its own"):
        world.do_all(run)

    folder.unlink()
    assert world.do_all(run)["status"] == "completed"


@pytest.mark.parametrize("how", ["link", "another name", "pipe", "folder"])
def test_what_lies_in_place_of_a_log_is_put_away(tmp_path, how):
    """A pipe held the program up for ever; a file of another name was emptied."""
    world = PipeWorld(tmp_path)
    run = world.begin(pipeline(only=program("echo", "hello")))
    folder = world.store.place.state / "runs" / run / "results"
    folder.mkdir(mode=0o700, exist_ok=True)
    mine = tmp_path / "mine"
    mine.write_text("mine")
    log = folder / f"{run}-only-1-1.log"
    match how:
        case "link":
            log.symlink_to(mine)
        case "another name":
            log.hardlink_to(mine)
        case _:
            plant(log, how)

    assert world.do_all(run)["status"] == "completed"

    assert log.read_text() == "hello\n"
    assert mine.read_text() == "mine"


def test_a_program_that_is_done_waits_for_room_to_say_so(tmp_path, monkeypatch):
    """A full disk: the result could not be written, and it was run again and again."""
    world = PipeWorld(tmp_path)
    run = world.begin(pipeline(only=program("sh", "-c", "echo x >> ran")))
    refusals = [OSError(errno.ENOSPC, "No space left on device")] * 3
    fsync = os.fsync

    def full(fd):
        if refusals and "results/" in os.readlink(f"/proc/self/fd/{fd}"):
            raise refusals.pop()
        fsync(fd)

    monkeypatch.setattr(os, "fsync", full)

    assert world.do_all(run)["status"] == "completed"

    assert refusals == []
    assert (world.store.place.project / "ran").read_text() == "x\n"


LOOK = """
name: two
variables: {seen: null, also: null, more: null, n: 0}
steps:
  - name: look
    allowed_tools: [Bash]
    on_tool:
      Bash: {set_variable: {seen: tool_output.stdout}, do: [{increment_variable: n}]}
      Grep: {set_variable: {also: tool_output.stdout}}
      Glob: {set_variable: {more: tool_output.stdout}}
    transitions: [{to: work, when: n >= 1}]
  - name: work
    allowed_tools: [Read]
"""


@pytest.mark.parametrize("size", [2_000_000, 10_000_000])
def test_an_output_too_long_for_a_variable_is_left_out(world, size):
    activate(world, LOOK)

    output = {"stdout": "x" * size}
    said = world.say(
        "PostToolUse", tool_name="Bash", tool_use_id="toolu_1", tool_input={},
        tool_response=output,
    )  # fmt: skip

    assert "the value has" in said["systemMessage"]
    assert step(world) == "work"
    assert variables(world) == {"seen": None, "also": None, "more": None, "n": 1}
    assert call(world, "Bash", tool_input={"command": "ls"})[0] is False


def test_what_no_room_is_left_for_is_left_out(world):
    """It stayed pending for ever: the workflow moved no more."""
    activate(world, LOOK, seen="x" * 500_000)

    after(world, "Grep", {"stdout": "y" * 500_000}, tool_use_id="toolu_1")
    said = world.say(
        "PostToolUse", tool_name="Glob", tool_use_id="toolu_2", tool_input={},
        tool_response={"stdout": "z" * 500_000},
    )  # fmt: skip
    assert "more is not set" in said["systemMessage"]
    assert variables(world)["more"] is None
    assert "pending" not in record(world)
    after(world, "Bash", {"stdout": "short"}, tool_use_id="toolu_3")

    assert step(world) == "work"
    assert variables(world)["seen"] == "short"


def test_a_parameter_too_long_begins_nothing(world):
    with pytest.raises(InvalidRequest, match="seen: the value has 3,000,002 bytes"):
        activate(world, LOOK, seen="x" * 3_000_000)

    assert record(world) is None
    assert call(world, "Read")[0] is True


def test_who_comes_second_to_a_task_goes_on_without_it(tmp_path):
    """Its whole run failed."""
    world = PipeWorld(tmp_path)
    tasks = Tasks(world.store)
    tasks.create_all([NewTask("epic"), NewTask("part", parent=1)])
    first = {"task_id": "${{ steps.found.output.tasks[0].id }}"}
    if_taken = {"if": "steps.take.status == 'completed'"}
    plan = pipeline(
        found=tool("list_ready_tasks", {"parent": "#1"}),
        pause=program("true"),
        take=tool("claim_task", first, on_failure="skip"),
        work=tool("create_task", {"title": "taken"}, **if_taken),
    )
    run = world.begin(plan)
    tasks.claim(2, Holder("quicker"))

    assert world.do_all(run)["status"] == "completed"
    assert len(tasks.list()) == 2
