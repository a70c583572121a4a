"""Step workflows in the real client, on the routes and in the places left to them."""

import json

import needs
import pytest
from claudeworld import answered, ask
from hostworld import host_world
from mcpstage import calling as calling_ours
from mcpstage import register
from test_step_workflows_in_the_client import (
    DONE,
    LOOK,
    NAGS,
    OUTPUT,
    REFUSED,
    SEEN,
    WORK,
    WORKER,
    define,
    made,
    shell,
    write,
)
from test_variables_in_the_client import LONG, SHORT

from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

ANSWER = {"status": "success", "summary": "s", "evidence": []}
NOT_DONE = "step look of the workflow two is not done. Set seen."


def test_a_process_of_ours_works_through_its_own(tmp_path):
    """`claude -p`, whose hooks are another program's: ours."""
    call = {"prompt": "Work now.", "agent": "worker", "mode": "headless"}
    main, calls, seen = calling_ours(("start_agent", call)), [], []

    def model(request):
        if "You work through the step workflow two." not in request.prompt:
            return main(request)
        seen.append(request)
        return reply(calls.pop(0) if calls else tool_use("StructuredOutput", ANSWER))

    env = {"BRIDGE_CLAUDE": str(needs.client())}
    with host_world(tmp_path, model, env=env) as world:
        define(world, NAGS)
        register(world)
        world.allow("mcp__hostbridge", "Bash", "Write")
        world.define("worker", WORKER)
        calls += [shell("ls"), write(world, "early")]
        calls += [tool_use("StructuredOutput", ANSWER), shell(SEEN), write(world)]
        calls += [shell(DONE)]
        world.tell("one-shot", "please")
        (response,) = world.responses()
        words = str(seen[-1].messages)

    assert (response.route, response.success) == ("claude", True)
    assert (made(world, "early"), made(world)) == (False, True)
    assert REFUSED in words
    assert NOT_DONE in words
    assert words.index(LOOK) < words.index(WORK)


@pytest.mark.parametrize("how", ["stream", "terminal"])
def test_a_compacted_agent_is_told_its_step_again(tmp_path, how):
    """And its transition still leads on."""
    left, turns = [], []

    def answers(_prompt, request):
        turns.append(json.dumps(request.messages))
        return reply(left.pop(0)) if left else reply(OUTPUT)

    model = obedient_model(answers)
    with host_world(tmp_path, model, env=SHORT, record=["SessionStart"]) as world:
        define(world)
        world.allow("Bash", "Write")
        world.define("worker", WORKER)
        left += [shell("ls"), shell(LONG), write(world, "early"), shell(SEEN)]
        left += [write(world), shell(DONE)]
        request = world.submit(agent="worker")
        with world.terminal() if how == "terminal" else world.stream():
            response = world.ended(request)
            world.wait_until_forgotten()
        compacted = [each for each in world.events if each["source"] == "compact"]

    after = [each for each in turns if "This session is being continued" in each]
    assert response.success
    assert compacted[0]["agent_id"]
    assert LOOK in after[0]
    assert REFUSED in after[-1]
    assert after[-1].index(LOOK) < after[-1].index(WORK)
    assert "The workflow two has ended" in after[-1]
    assert (made(world, "early"), made(world)) == (False, True)


# Whoever asks anew begins anew, as the next try would.
ONE_TRY = ("--max-attempts", "1")


def test_a_killed_process_leaves_no_workflow_and_the_next_begins_anew(tmp_path):
    calls = [shell(SEEN), shell("kill -9 $CLAUDE_PID")]
    seen = []

    def model(request):
        seen.append(json.dumps(request.messages))
        return reply(calls.pop(0) if calls else tool_use("StructuredOutput", ANSWER))

    env = {"BRIDGE_CLAUDE": str(needs.client())}
    with host_world(tmp_path, model) as world:
        define(world)
        world.allow("Bash", "Write")
        world.define("worker", WORKER)
        killed = answered(ask(world, "worker", "Go.", *ONE_TRY, env=env))
        left = [*(world.store.place.state / "agents").iterdir()]
        calls += [write(world, "early"), shell(SEEN), write(world), shell(DONE)]
        done = answered(ask(world, "worker", "Go on.", env=env))

    assert killed["error"]["code"] == "agent_error"
    assert WORK in seen[1]
    assert left == []
    assert done["success"] is True
    assert LOOK in seen[2]
    assert WORK not in seen[2]
    assert REFUSED in seen[-1]
    assert (made(world, "early"), made(world)) == (False, True)
