"""An agent of our own loop works on tasks with the tools that a session has."""

import json

import pytest
from runworld import call, submit
from scripted_server import ScriptedServer, say

from bridge.api.bridge import Bridge
from bridge.protocol.request import MAX_PROMPT_CHARS

pytestmark = pytest.mark.slow

AGENT = "name: checker\nroutes: [endpoint]\nprompt: '{{ task }}'\n"
ALL = AGENT + "tools: [mcp__hostbridge]\n"
TWO = "tools: [Read, mcp__hostbridge__get_task, mcp__hostbridge__claim_task]\n"


@pytest.fixture
def loop(loop):
    loop.define("checker", AGENT + TWO)
    return loop


def results(loop, *replies, flow="", **options):
    """The results of the calls, as the model saw them, in an ask or a flow."""
    if flow:
        loop.serve(*replies, submit())
        loop.bridge.run(flow, route="endpoint")
    else:
        loop.run(*replies, submit(), **options)
    return loop.model.results()


def offered(loop):
    results(loop)
    shape = loop.model.shapes[0]
    options = shape.get("anyOf", [shape])
    return [option["properties"]["tool"]["const"] for option in options]


def own(name, **arguments):
    return call(f"mcp__hostbridge__{name}", **arguments)


def test_an_agent_works_on_a_task(loop):
    task = loop.bridge.tasks.create("Limit uploads")

    calls = own("get_task", task_id=task.ref), own("claim_task", task_id="#1")
    said = results(loop, *calls)

    assert '"title":"Limit uploads"' in said[0]
    assert loop.bridge.tasks.get(1).status == "in_progress"
    assert (loop.bridge.tasks.get(1).assignee or "").startswith("agent ")


def test_what_an_agent_holds_when_it_has_answered_is_open_again(loop):
    """The process that it ran in goes on."""
    loop.bridge.tasks.create("Limit uploads")

    results(loop, own("claim_task", task_id="#1"))

    assert [task.ref for task in loop.bridge.tasks.ready()] == ["#1"]


def test_an_agent_of_a_run_claims_for_the_run(loop):
    loop.bridge.tasks.create("Limit uploads")

    results(loop, own("claim_task", task_id="#1"), flow='checker:"Go."')

    assert (loop.bridge.tasks.get(1).assignee or "").startswith("run ")


def test_only_those_that_are_listed_are_offered(loop):
    assert offered(loop) == [
        "read_file", "mcp__hostbridge__get_task", "mcp__hostbridge__claim_task",
        "submit_result",
    ]  # fmt: skip


@pytest.mark.parametrize("tools", ["[Read]", "null"])
def test_none_without_a_list_that_names_them(loop, tools):
    loop.define("checker", AGENT + f"tools: {tools}\n")

    assert not any(name.startswith("mcp__") for name in offered(loop))


def test_a_server_stands_for_all_of_its_tools_but_those_blocked(loop):
    loop.define("checker", ALL + "blocked_tools: [mcp__hostbridge__close_task]\n")

    names = offered(loop)
    assert "mcp__hostbridge__execute_expansion" in names
    assert "mcp__hostbridge__set_variables" in names
    assert "mcp__hostbridge__close_task" not in names


def test_a_model_sets_its_own_variables_and_no_others(loop):
    loop.define("checker", ALL)

    said = results(
        loop,
        own("set_variables", values={"found": True}),
        own("set_variables", values={"target": "other"}),
        own("get_variables"),
        variables={"target": "mine"},
    )

    assert "error: target belongs to the person" in said[1]
    assert json.loads(said[2].partition("\n")[2]) == {"target": "mine", "found": True}


def test_rules_see_the_calls_by_their_names(loop):
    when = "tool_name == 'mcp__hostbridge__claim_task'"
    loop.rules(f"on_before_tool:\n  - when: {when}\n    block: Not now.\n")
    loop.bridge.tasks.create("Limit uploads")

    (said,) = results(loop, own("claim_task", task_id="#1"))

    assert "error: Not now." in said
    assert loop.bridge.tasks.get(1).status == "open"


HELPER = AGENT.replace("checker", "helper") + "model: openai:m\n"


@pytest.fixture
def server():
    with ScriptedServer() as server:
        yield server


@pytest.mark.parametrize(
    "asked",
    [
        {"route": "endpoint"},
        {"route": "host", "fallback": "endpoint", "fallback_after_s": 0.0},
    ],
    ids=["asked so", "fallen back"],
)
def test_another_agent_is_asked_on_the_same_route(loop, server, monkeypatch, asked):
    """By a process of its own, whose answer is the result of the call."""
    loop.define("checker", ALL.replace("[endpoint]", "[host, endpoint]"))
    loop.define("helper", HELPER)
    monkeypatch.setenv("BRIDGE_OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("BRIDGE_OPENAI_MODEL", "m")
    server.acts = [
        say(own("spawn_agent", agent="helper", prompt="Is it so?")),
        say(submit(summary="It is so.")),
        say(submit(summary="I was told.")),
    ]

    bridge = Bridge.open(loop.bridge.store.place.project)
    result = bridge.ask("Go.", "checker", **asked)

    told = str(server.asked[2]["messages"][-1]["content"])
    assert "I was told." in result.response.raw_output
    assert '"success":true' in told
    assert "It is so." in told


LONG = "x" * (MAX_PROMPT_CHARS + 1)
WRONG = {
    "no such task": (own("get_task", task_id="#7"), "#7"),
    "no such agent": (own("spawn_agent", agent="reviewr", prompt="Look."), "reviewr"),
    "nothing": (
        own("spawn_agent", agent="some:one"),
        "neither a prompt nor a `task_id",
    ),
    "no such task of an agent": (own("spawn_agent", agent="a", task_id="#7"), "#7"),
    "a name": (
        own("start_agent", agent=":<x>", prompt="Look."),
        "no agent is named ':<x>'",
    ),
    "a prompt": (
        own("start_agent", agent="some:one", prompt=LONG),
        "prompt: string should have",
    ),
}


@pytest.mark.parametrize(("asked", "said"), WRONG.values(), ids=WRONG)
def test_error_a_call_that_is_wrong_is_told_to_the_model(loop, asked, said):
    loop.define("checker", ALL)

    (result,) = results(loop, asked)

    problem = result.partition("\n")[2]
    assert problem.startswith("error: ")
    assert said in problem
