"""Work that a rule hands to an agent, in the real client."""

import json

import pytest
from hostworld import host_world
from ruleworld import TWO, define_rules, summary, verified
from seedwords import RULE as SEED

from bridge.testing.stage.models import launch, new_tokens, obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host


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
                world.ended(world.submit(agent="worker"))
        else:
            world.serve(how, agent="worker")
        words = world.subagent_words()
        ended = world.responses()

    assert [each.success for each in ended] == [True, True], ended
    assert (tmp_path / "project" / "made").exists()
    assert "all passed" in words


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
        world.tell("stream")
        turns = [json.dumps(t.body["messages"]) for t in world.api.turns("main")]

    assert turns[2].count("pytest is done") == turns[2].count("ruff is done") == 1
    assert len(turns) == 3
