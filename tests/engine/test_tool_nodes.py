"""Tools of a pipeline: what was done once is not done again."""

import fcntl

import pytest
from engine.pipeworld import agent, pipeline, program, tool
from storeworld import store_in

from bridge.engine import by_hand
from bridge.engine.view import view
from bridge.errors import StateUnavailable
from bridge.tasks.tasks import Tasks
from bridge.worker.long_work import do_step

MADE = {
    "make": tool("create_task", {"title": "${{ inputs.title }}"}),
    "look": tool("get_task", {"task_id": "${{ steps.make.output.id }}"}),
    "after": tool("set", "${{ steps.look.output.title }}"),
}


def titles(world):
    return [each.title for each in Tasks(world.store).list()]


def test_a_tool_changes_and_another_sees_it(world):
    plan = pipeline(**MADE, _inputs={"title": {}})

    run = world.begin(plan, params={"title": "Limit ${{ uploads }}"})

    assert world.run(run)["status"] == "completed", world.run(run)["why"]
    assert world.output(run, "after") == "Limit ${{ uploads }}"
    assert titles(world) == ["Limit ${{ uploads }}"]


def test_a_result_that_is_lost_is_had_back_by_its_key(world):
    """A power cut takes files that were not on the disk yet."""
    plan = pipeline(
        make=MADE["make"],
        wait=program("true"),
        after=tool("set", "${{ steps.make.output.id }}"),
        _inputs={"title": {"default": "One"}},
    )
    run = world.begin(plan)
    (result,) = world.store.place.state.glob(f"runs/{run}/results/*make*.json")
    for lose in (lambda: result.write_bytes(b""), result.unlink):
        lose()
        world.advance(run)

    assert world.do_all(run)["status"] == "completed"
    assert world.output(run, "after").startswith("#")
    assert titles(world) == ["One"]


def test_a_result_of_a_program_that_is_lost_stops_the_run(world):
    plan = pipeline(
        only=program("true"),
        wait=program("true"),
        after=tool("set", "${{ steps.only.output.exit_code }}"),
    )
    run = world.begin(plan)
    assert do_step(world.store, world.settings, world.long[0])
    world.advance(run)
    for file in world.store.place.state.glob(f"runs/{run}/results/*only*.json"):
        file.unlink()

    why = world.do_all(run)["why"]
    assert why == (f"after: test.yaml:3:1: the result of only is lost ({run}-only-1-1)")


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("get_task", {"task_id": "#99"}, "#99"),
        ("get_taks", {}, "get_task"),
        ("create_task", {"titel": "x"}, "titel"),
        ("create_task", "a text", "create_task: arguments must be a mapping"),
    ],
)
def test_a_call_that_is_refused_fails_its_step(world, name, given, why):
    run = world.begin(pipeline(only=tool(name, given)))

    ended = world.run(run)
    assert ended["status"] == "failed"
    assert why in ended["why"]


def test_a_tool_may_have_an_agent_started(world):
    task = tool("create_task", {"title": "One", "validation_criteria": "It works."})
    check = tool("validate_task", {"task_id": "${{ steps.make.output.id }}"})
    definition = "---\nname: task-validator\ndescription: Validates.\n---\nValidate.\n"
    (world.settings.claude_dir / "agents" / "task-validator.md").write_text(definition)
    run = world.begin(pipeline(make=task, check=check, wait=program("true")))

    assert world.states(run)["check"] == "ok", world.run(run)["why"]
    (waiting,) = world.waiting().values()
    assert waiting.agent_type == "task-validator"
    assert waiting.request_id.startswith(f"{run}-tool_")
    asked = view(world.store, run).open_requests()
    assert waiting.request_id in [each for _, each in asked]


def test_an_agent_that_is_told_nothing_is_told_its_task(world):
    task = tool("create_task", {"title": "One", "description": "All of it."})
    asked = agent("a", "", task_id="${{ steps.make.output.id }}")
    world.begin(pipeline(make=task, dev=asked))

    request = world.waiting()["a"]
    assert (request.prompt, request.task_id) == ("Task #1: One\n\nAll of it.", "#1")


ONE_TASK = pipeline(make=tool("create_task", {"title": "One"}))


@pytest.mark.parametrize("ends", ["its time", "its user"])
def test_a_run_whose_tool_cannot_be_called_ends_all_the_same(world, tmp_path, ends):
    """Somebody holds the tasks for as long as they like."""
    world.store = store_in(tmp_path, clock=world.clock, lock_wait_s=0.05)
    Tasks(world.store).create("There is a file.")
    lock = world.store.place.state / "locks" / "tasks.db.lock"
    with lock.open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StateUnavailable):
            world.begin(ONE_TASK, until=world.store.now_ms() + 1_000)
        (mark,) = world.store.place.state.glob("live/*.run")
        run = mark.stem
        assert world.run(run)["status"] == "running"
        if ends == "its time":
            world.clock.go_on(2)
            world.advance(run)
        else:
            world.advance(run, by_hand.cancel)

    wanted = {"its time": "failed", "its user": "cancelled"}
    assert world.run(run)["status"] == wanted[ends]


def test_a_tool_fails_whose_file_is_damaged(world):
    """Waiting would not mend it: the run says what would."""
    Tasks(world.store).create("There is a file.")
    (world.store.place.state / "tasks.db").write_bytes(b"x" * 4096)

    run = world.run(world.begin(ONE_TASK))

    assert run["status"] == "failed"
    assert "tasks.db" in run["nodes"]["make"]["why"]
