"""Flows in the open session: hooks alone take a run to its end."""

import json

from engine.pipeworld import approval, pipeline, program
from hookworld import GOOD
from polling import wait_until

from bridge.engine.view import view
from bridge.flow.compiler import compile_flow
from bridge.flow.parser import parse_flow

G = "general-purpose"


def answer(world, request, **fields):
    """The session takes a request, and its agent answers."""
    world.say("UserPromptSubmit", prompt="hello")
    agent = world.start(world.launch(request))
    said = json.dumps({"status": "success", "summary": "s", **fields})
    return world.stop(agent, said if fields else GOOD)


def status(world, run):
    return view(world.store, run).run["status"]


def test_an_answer_leads_on_at_once(world, begun):
    run = begun(f'{G}:"a":x -> [{G}:"b {{x}}" || {G}:"c"] -> {G}:"d"')

    answer(world, f"{run}-node-0-1-1", summary="seen")
    assert sorted(world.store.waiting()) == [f"{run}-node-1-1-1", f"{run}-node-2-1-1"]

    for node in (1, 2, 3):
        assert status(world, run) == "running"
        answer(world, f"{run}-node-{node}-1-1")
    assert status(world, run) == "completed"


def test_the_agent_call_is_whole_and_has_a_model_only_where_one_is_said(world, begun):
    """A temporary agent runs as its base, with its own words first."""
    run = begun(
        '$own := {base: "Explore", prompt: "You look.", model: "opus"} '
        f'[$own:"a" || {G}:"b"]'
    )
    world.say("UserPromptSubmit", prompt="hello")

    own, plain = (
        world.call_agent(f"bridge:{run}-node-{node}-1-1")["updatedInput"]
        for node in (0, 1)
    )

    assert own["prompt"].startswith("You look.\n\na\n\n")
    assert (own["subagent_type"], own["model"]) == ("Explore", "opus")
    assert (plain["subagent_type"], "model" in plain) == (G, False)
    assert all(each["description"] for each in (own, plain))


def test_a_temporary_agent_whose_file_has_changed_is_not_started(world, begun):
    run = begun('$own := {base: "Explore", prompt: "You look."} $own:"a"')
    file = world.store.place.state / "runs" / run / "agents" / "own.md"
    file.write_text(file.read_text().replace("look", "leap"))
    world.say("UserPromptSubmit", prompt="hello")

    denied = world.call_agent(f"bridge:{run}-node-0-1-1")

    assert denied["permissionDecision"] == "deny"
    world.say("Stop", background_tasks=[])
    assert status(world, run) == "failed"
    why = view(world.store, run).run["why"]
    assert f"{file}: it has changed since the run began" in why


def test_the_user_is_told_of_the_end_and_of_what_waits_for_them(world, begun):
    run = begun(f'{G}:"a" -> @ok:"Fine?"')

    answer(world, f"{run}-node-0-1-1")

    said = world.say("UserPromptSubmit", prompt="go on")
    line = f"hostbridge: flow {run} waits for you: hostbridge reply {run}"
    assert said["systemMessage"] == line
    assert "systemMessage" not in world.say("UserPromptSubmit", prompt="go on")


def test_the_user_is_told_what_a_called_flow_waits_for(world, begun):
    inner = parse_flow(f'{G}:"a" -> @ok:"Fine?"')
    run = begun(compile_flow(parse_flow("@call:inner"), lambda _: inner))
    (asked,) = world.store.waiting()

    answer(world, asked)

    said = world.say("UserPromptSubmit", prompt="go on")
    child = asked.partition("-")[0]
    line = f"hostbridge: flow {run} waits for you: hostbridge reply {child}"
    assert said["systemMessage"] == line


def test_an_answer_that_was_not_heard_is_heard_at_the_next_event(world, begun):
    """A hook may be killed between the answer and the run."""
    run = begun(f'{G}:"a" -> {G}:"b"')
    (world.store.place.state / "live" / f"{run}.run").rename(world.home / "mark")
    answer(world, f"{run}-node-0-1-1")
    assert world.store.waiting() == []
    (world.home / "mark").rename(world.store.place.state / "live" / f"{run}.run")

    world.say("Stop", background_tasks=[])

    assert f"{run}-node-1-1-1" in open_requests(world, run)


def test_the_next_session_goes_on(world, begun):
    run = begun(f'{G}:"a" -> {G}:"b"')
    (world.store.place.state / "live" / f"{run}.run").rename(world.home / "mark")
    answer(world, f"{run}-node-0-1-1")
    (world.home / "mark").rename(world.store.place.state / "live" / f"{run}.run")

    world.session = "session-2"
    world.say("SessionStart", source="startup")

    assert open_requests(world, run) == [f"{run}-node-1-1-1"]


def open_requests(world, run):
    return [asked for _, asked in view(world.store, run).open_requests()]


def test_a_bad_run_does_not_touch_the_session(world, begun):
    run = begun(f'{G}:"a" -> {G}:"b"')
    (world.store.place.state / "runs" / run / "run.json").write_text("{")

    assert answer(world, f"{run}-node-0-1-1") == {}


def test_news_that_cannot_be_told_do_not_touch_the_session(world, begun):
    """What a checkpoint asks is read only where it is asked."""
    run = begun(f'{G}:"a" -> @ok:"Fine?"')
    (world.store.place.state / "runs" / run / "details.json").write_text("{}")

    assert answer(world, f"{run}-node-0-1-1") == {}
    file = world.store.place.state / "runs" / run / "run.json"
    assert json.loads(file.read_text())["open"] == ["node-1"]


def test_its_user_is_told_of_a_run_that_ended_in_the_background(world, begun):
    """Its last step is a program: it ends where no hook sees it."""
    run = begun(pipeline("nightly", last=program("sh", "-c", "exit 3")))

    wait_until(lambda: status(world, run) == "failed")

    shown = wait_until(lambda: world.say("Stop").get("systemMessage"))
    assert "flow nightly failed (last: exit code 3" in shown
    assert f"hostbridge runs show {run}" in shown
    assert "systemMessage" not in world.say("Stop")


def test_its_user_is_told_of_a_question_reached_in_the_background(world, begun):
    run = begun(pipeline("nightly", first=program("true"), ask=approval("Go on?")))

    def waits():
        return view(world.store, run).run["nodes"].get("ask", {}).get("state") == "open"

    wait_until(waits)

    shown = wait_until(lambda: world.say("Stop").get("systemMessage"))
    assert f"flow nightly waits for you: hostbridge reply {run}" in shown
