"""A rule gives a call to an agent: what becomes of the call, and of the next one."""

import json

import pytest
from hookworld import GOOD, running
from rulehooks import put_in_force, run

from bridge.store.clock import uptime
from bridge.store.subagent_runs import all_runs

RULE = """
on_before_tool:
  - name: hand-over
    when: '"pytest" in command'
    %s
    spawn_agent: {agent: %s, prompt: "Run {{ command }}", block: %s}
"""


def rules(world, more="", agent="general-purpose", block="true"):
    put_in_force(world, RULE % (more, agent, block))


def offered(world):
    """The requests that the session was asked to launch."""
    return [r.request_id for r in world.store.claimed() if r.claim.launched_at is None]


def test_the_reason_asks_for_exactly_one_call(world):
    rules(world)

    runs, said = run(world)

    (request,) = offered(world)
    call = json.dumps({"description": "b", "prompt": f"bridge:{request}"})
    assert not runs
    assert said == (
        "hostbridge: the rule hand-over gives this to the agent general-purpose. Do "
        f"not run it yourself: call Agent once with\n{call}\nand go on with its answer."
        f" [~/.hostbridge/rules.yaml:3]"
    )


def test_the_same_call_meets_the_same_request_and_another_its_own(world):
    rules(world)

    said = {run(world)[1] for _ in range(3)}
    run(world, "pytest -x")

    assert len(said) == 1
    assert len(offered(world)) == 2


def test_the_prompt_has_the_command_byte_for_byte(world):
    rules(world)
    command = "pytest 'a\n{{ b }} $(c) \\' \"%s\" é\x00"

    run(world, command)

    (request,) = world.store.claimed()
    assert request.prompt == f"Run {command}"


def test_a_variable_names_the_model(world):
    text = "variables: {validation_model: %s}\non_before_tool: [{name: %s}]"
    said = {}
    for model in ("opus", "opsu"):
        put_in_force(world, text % (model, "delegate-checks"))
        said[model] = run(world, f"pytest {model}")

    (request,) = world.store.claimed()
    assert request.model == "opus"
    runs, why = said["opsu"]
    assert runs
    assert "an open session knows no model 'opsu'; did you mean opus?" in why


def answered(world, words=GOOD):
    request = offered(world)[0]
    agent = world.start(world.launch(request))
    world.stop(agent, words)
    return request


def test_after_its_answer_the_same_call_is_a_new_question(world):
    rules(world)
    run(world)
    first = answered(world)

    runs, _ = run(world)

    assert not runs
    assert offered(world) not in ([], [first])


FAILED = '{"status": "failed", "summary": "cannot"}'


def test_after_an_agent_that_failed_the_call_runs_once(world):
    rules(world)
    run(world)
    answered(world, FAILED)

    once, said = run(world)
    again, _ = run(world)

    assert (once, again) == (True, False)
    why = "general-purpose did not do it (agent_failed), so this call runs, once"
    assert why in said


def test_but_not_if_the_rule_requires_it(world):
    rules(world, "required: true")
    run(world)
    answered(world, FAILED)

    assert run(world)[0] is False


UNABLE = {
    "no such agent": ({"agent": "nobody"}, {}, "no agent is named 'nobody'"),
    "another route": ({"agent": "served"}, {}, "did not answer (no_route)"),
    "no place": ({}, {"BRIDGE_SLOTS": "1"}, "all 1 places for agents in this session"),
    "tokens": ({}, {"BRIDGE_TOKENS_PER_SESSION": "0"}, "tokens_per_session is 0"),
    "budget": ({}, {"BRIDGE_AGENTS_PER_HOUR": "0"}, "it may start no agent"),
}


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize(("how", "env", "why"), UNABLE.values(), ids=UNABLE)
def test_where_it_cannot_be_handed_over_the_call_runs_with_a_note(
    world, monkeypatch, required, how, env, why
):
    world.define("served", "routes: [endpoint]\n")
    rules(world, "required: true" if required else "", **how)
    if "BRIDGE_SLOTS" in env:
        world.begin()
    for name, value in env.items():
        monkeypatch.setenv(name, value)

    runs, said = run(world)

    assert runs is not required
    assert why in said
    assert offered(world) == []


def test_an_offer_that_is_ignored_too_often_lets_the_call_run(world):
    rules(world)
    run(world)
    (request,) = offered(world)
    for _ in range(5):
        world.set_clock(20)
        world.say("UserPromptSubmit", prompt="go on")

    runs, said = run(world)

    assert runs or world.code(request) == "declined"
    assert "did not" in said or not runs


def test_block_false_lets_the_call_run_and_asks_beside_it(world):
    rules(world, block="false")

    runs, said = run(world)

    assert (runs, said) == (True, "")
    (waiting,) = world.store.waiting()
    assert world.found(waiting).request.prompt == "Run pytest -q"


def test_the_child_has_the_parents_variables_and_its_own(world):
    """Parent ⊕ definition, and null survives."""
    more = "default_variables: {a: default}\nlifecycle_variables: {mode: null}\n"
    world.define("child", more)
    rules(world, "set_variable: {a: parent, b: parent, mode: haiku}", agent="child")

    run(world)
    world.launch(offered(world)[0])

    (agent,) = all_runs(world.store)
    assert agent.variables == {
        "a": "default",
        "b": "parent",
        "mode": None,
        "require_task_before_edit": False,
        "validation_model": None,
    }
    assert agent.above == ("child",)


def test_a_nested_agent_is_below_the_one_that_started_it(world):
    rules(world)
    _, agent = world.working()
    nested = world.nest(agent)

    runs, said = run(world, agent_id=nested)
    run(world, agent_id=nested)
    told = [world.say("Stop", background_tasks=running(agent)) for _ in range(2)]

    assert (runs, said) == (True, "")
    # The client shows nothing of what hooks in agents say.
    assert told[0]["systemMessage"].count("which would go on for ever") == 1
    assert told[1] == {}


def test_an_agents_call_is_handed_over_to_it_alone(world):
    """Its request is below the agent's own, and only that agent may start it."""
    rules(world, agent="validation-runner")
    parent, agent = world.working()

    runs, said = run(world, agent_id=agent)
    (request,) = offered(world)
    elsewhere = world.call_agent(f"bridge:{request}", agent_id="another")
    call = world.launch(request, agent_id=agent)
    child = world.start(call, below=agent)

    assert not runs
    assert f"bridge:{request}" in said
    assert elsewhere["permissionDecision"] == "deny"
    found = world.found(request).request
    assert (found.parent_request_id, found.depth) == (parent, 1)
    # And inside it the rule does not hand over again.
    assert run(world, agent_id=child)[0]
    (below,) = [r for r in all_runs(world.store) if r.request_id == request]
    assert below.above == ("validation-runner", "general-purpose")


def test_the_main_thread_is_not_asked_to_start_an_agents_agent(world):
    rules(world, agent="validation-runner")
    _, agent = world.working()
    run(world, agent_id=agent)

    world.set_clock(20)

    assert world.say("UserPromptSubmit", prompt="hello") == {}


def test_two_rules_that_point_at_each_other_end(world):
    texts = []
    for name, other in (("one", "two"), ("two", "one")):
        world.define(name)
        texts.append(
            f"  - {{when: agent == '{other}' or depth == 0, tools: [Bash],\n"
            f"     spawn_agent: {{agent: {name}, prompt: x}}}}\n"
        )
    put_in_force(world, "on_before_tool:\n" + "".join(texts))

    depth, agent = 0, {}
    while not run(world, f"ls {depth}", **agent)[0]:
        (request,) = offered(world)
        call = world.launch(request, **agent)
        agent = {"agent_id": world.start(call)}
        depth += 1

    assert depth == 2


@pytest.mark.parametrize("agent_type", ["Explore", "Plan"])
def test_an_agent_without_the_tool_agent_runs_the_call_itself(world, agent_type):
    rules(world)

    runs, _ = run(world, agent_id="theirs", agent_type=agent_type)

    said = world.say("UserPromptSubmit", prompt="hello")["systemMessage"]
    assert runs
    assert "has no tool to start others" in said


BESIDE = """
on_stop:
  - when: depth == 0
    spawn_agent: {agent: general-purpose, prompt: Review it.}
"""


def test_an_agent_beside_the_end_of_a_turn_is_offered_at_once_and_only_once(world):
    put_in_force(world, BESIDE)

    first = world.say("Stop", background_tasks=[])
    again = world.say("UserPromptSubmit", prompt="hello")
    world.say("Stop", background_tasks=[])

    (request,) = offered(world)
    assert f"bridge:{request}" in json.dumps(first)
    assert again == {}
    assert list(world.store.waiting()) == []
    # No turn waits for it.
    call = world.launch(request)
    assert not (world.store.place.state / "agents" / f"{call}.wait").exists()


def test_the_turn_waits_for_work_that_was_handed_over(world):
    rules(world)
    run(world)
    (request,) = offered(world)

    call = world.launch(request)

    note = world.store.place.state / "agents" / f"{call}.wait"
    known = json.loads(note.read_bytes())
    assert known["requestId"] == request
    left_ms = known["until"] - uptime(world.store.clock).ms
    asked = world.store.find_unfinished(request)
    assert 0 < left_ms <= asked.timeout
