"""Work that a rule hands to an agent, in the real client."""

import json

import pytest
from hostworld import host_world
from ruleworld import TWO, calling, define_rules, say_go, summary, verified
from seedwords import RULE as SEED

from bridge.testing.stage.models import launch, new_tokens, obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host


@pytest.mark.parametrize(
    ("how", "mode"),
    [("stream", "default"), ("terminal", "default"), ("terminal", "auto")],
)
def test_the_answer_reaches_the_same_turn(tmp_path, how, mode):
    """The call of Agent is held until it is there, and no notice repeats it."""
    main = calling("pytest -q", closing="that was it")
    model = obedient_model(verified("touch made # pytest"), main=main)
    with host_world(tmp_path, model) as world:
        define_rules(world, SEED)
        world.allow("Bash")
        say_go(world, how, mode=mode)
        turns = world.api.turns("main")
        words = [json.dumps(turn.body["messages"]) for turn in turns]
        (response,) = world.responses()

    assert response.success
    # The turn that follows the call of Agent has the answer.
    called = next(i for i, each in enumerate(words) if '"prompt": "bridge:' in each)
    assert "validation-runner answered" in words[called]
    assert "all passed" in words[called]
    assert words[-1].count("all passed") == 1
    assert "<task-id>" not in words[-1]
    assert world.complaints() == ""


CHILD = """\
prompt: 'Task: {{ task }}'
allow: [Bash]
"""


@pytest.mark.parametrize("how", ["one-shot", "stream", "terminal"])
def test_a_call_of_an_agent_is_handed_over_too(tmp_path, how):
    """An agent of an agent: started by its call, answered into its turn."""
    check = verified("touch made # pytest")

    def answers(prompt, request):
        if "Run and report" in prompt:
            return check(prompt, request)
        if tokens := new_tokens(request):
            return reply(*map(launch, tokens))
        if not request.own_calls:
            return reply(tool_use("Bash", {"command": "pytest -q"}))
        output = {"status": "success", "summary": "told", "evidence": []}
        return reply(json.dumps(output))

    with host_world(tmp_path, obedient_model(answers)) as world:
        define_rules(world, SEED)
        world.allow("Bash")
        world.define("worker", CHILD)
        if how == "terminal":
            with world.terminal():
                response = world.ended(world.submit(agent="worker"))
        else:
            response = world.serve(how, agent="worker")
        words = world.subagent_words()
        ended = {r.request_id: r for r in world.responses()}

    assert response.success, (response.error, response.raw_output)
    assert len(ended) == 2
    assert all(each.success for each in ended.values()), [
        e.error for e in ended.values()
    ]
    assert (tmp_path / "project" / "made").exists()
    assert "all passed" in words
    assert world.complaints() == ""


def test_two_calls_at_once_are_answered_in_one_turn(tmp_path):
    def main(request):
        if tokens := new_tokens(request):
            return reply(*map(launch, tokens))
        if request.own_calls or "go" not in request.last_user_text:
            return reply("ok")
        return reply(*(tool_use("Bash", {"command": c}) for c in ("pytest", "ruff")))

    with host_world(tmp_path, obedient_model(summary, main=main)) as world:
        define_rules(world, TWO)
        world.allow("Bash")
        with world.stream() as session:
            session.ask("go", timeout_s=300)
            world.wait_until_forgotten()
        turns = [json.dumps(t.body["messages"]) for t in world.api.turns("main")]

    assert turns[3].count("pytest is done") == turns[3].count("ruff is done") == 1
    assert len(turns) == 4
    assert world.complaints() == ""
