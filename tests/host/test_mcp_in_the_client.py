"""Agents that the model of the real client starts by our MCP server."""

import json

import needs
import pytest
from hostworld import host_world
from mcpstage import calling, register, request_id, results, results_of, said
from polling import wait_until

from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import Reply, reply, tool_use

pytestmark = pytest.mark.host

START = "start_agent"
COUNT = {"prompt": "Count the modules."}
ANSWER = {"modules": ["billing"]}
SCHEMA = {"type": "object", "required": ["modules"]}


def waiting(request):
    """What wait_for_agent takes, once start_agent has given an id."""
    return {"request_id": request_id(request)}


@pytest.mark.canary
@pytest.mark.parametrize("how", ["one-shot", "stream", "terminal"])
def test_the_only_session_is_told_to_start_the_agent_itself(tmp_path, how):
    """It would wait for itself: the offer is the result, and no hook need be obeyed."""
    main = calling((START, COUNT), ("wait_for_agent", waiting))
    with host_world(tmp_path, obedient_model(main=main)) as world:
        register(world)
        world.allow("mcp__hostbridge")
        mode = "auto" if how == "terminal" else "default"
        with world.told(how, "please", mode=mode):
            wait_until(lambda: len(results(world)) == 3, what="three results")
            world.wait_until_forgotten()
        (response,) = world.responses()
        offer, _, waited = results(world)
        turns = world.api.turns("main")

    assert response.success
    assert f"bridge:{response.request_id}" in json.loads(offer)["next"]
    assert json.loads(waited)["answer"] == response.parsed_output
    # The call of Agent gave the answer already, and no notice repeats it.
    launched = next(
        i for i, each in enumerate(turns) if '"prompt": "bridge:' in said(each)
    )
    assert "done on the stage" in said(turns[launched])
    assert "<task-id>" not in said(turns[-1])


def claude(**more):
    """Where the server finds the client; the environment of the session is its own."""
    return {"BRIDGE_CLAUDE": str(needs.client()), **more}


def with_headless(main, *, delay_s=0.0):
    """The session's model, and that of the agents which the server starts."""

    def script(request):
        if "Count the modules" not in request.prompt:
            return main(request)
        if "StructuredOutput" not in request.tools:
            return reply("done")
        return Reply((tool_use("StructuredOutput", ANSWER),), delay_s=delay_s)

    return script


HAIKU = {"mode": "headless", "model": "haiku", "schema": SCHEMA}
IN_A_PROCESS = (START, COUNT | HAIKU)


def test_a_headless_agent_answers_the_call(tmp_path):
    """`claude -p` of ours, typed, as the result of the call.

    It may call the server as well. No hook serves the queue there; its own server knows
    whose agent it is.
    """
    calls = ("get_variables", {}), ("start_agent", {"prompt": "Look."})
    agent, turns = calling(*calls, word="Count the"), []
    model = with_headless(calling(IN_A_PROCESS))

    def agents(request):
        if "Count the modules" in request.prompt:
            turns.append(request)
            answer = agent(request)
            if answer.reason == "tool_use":
                return answer
        return model(request)

    with host_world(tmp_path, agents, env=claude(BRIDGE_MAX_DEPTH="0")) as world:
        register(world)
        world.allow("mcp__hostbridge")
        world.tell("one-shot", "please")
        (response,) = world.responses()
        *_, result = results(world)  # the agent, too, has a main thread

    told = json.loads(result)
    assert (response.route, response.parsed_output) == ("claude", ANSWER)
    assert (told["success"], told["answer"], told["route"]) == (True, ANSWER, "claude")
    known, refused, *_ = results_of(turns)
    assert json.loads(known)["of"] == f"agent {response.request_id}"
    assert refused.startswith("depth: 1 agents stand above this request")


def test_a_long_call_goes_on_in_the_background(tmp_path):
    """The client brings its result as a notice, which is not taken for an agent's."""
    main = with_headless(calling(IN_A_PROCESS), delay_s=6)
    # Two minutes, without the variable.
    env = claude(CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS="2000")
    with host_world(tmp_path, main, env=env, record=["Stop"]) as world:
        register(world)
        world.allow("mcp__hostbridge")
        with world.terminal() as terminal:
            terminal.submit("please")
            turn = world.api.wait_for(
                lambda r: r.role == "main" and "<task-notification>" in said(r),
                timeout_s=300,
            )
            screen = terminal.screen()
        (response,) = world.responses()
        tasks = [task for stop in world.events for task in stop["background_tasks"]]

    assert response.success
    assert "moved to the background" in results(world)[0]
    assert [task["type"] for task in tasks] == ["MCP task"]
    assert "billing" in turn.newest_text
    assert "blocked by hook" not in screen


def test_escape_cancels_the_agent(tmp_path):
    """Who interrupts the call does not want its answer any more."""
    main = with_headless(calling(IN_A_PROCESS), delay_s=600)
    with host_world(tmp_path, main, env=claude()) as world:
        register(world)
        world.allow("mcp__hostbridge")
        with world.terminal() as terminal:
            terminal.submit("please")
            world.api.wait_for(
                lambda r: r.role == "main" and r.prompt.startswith("Count"),
                timeout_s=300,
            )
            terminal.key("Escape")
            wait_until(world.responses, what="the end of the request")
        (response,) = world.responses()

    assert str(response.status) == "cancelled"
