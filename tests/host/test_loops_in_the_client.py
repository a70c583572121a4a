"""Rules that would call for agents without end, in the real client."""

import pytest
from hostworld import host_world
from polling import wait_until
from ruleworld import calling, define_rules

from bridge.testing.stage.models import agent_output, obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

LOOP = """
on_before_tool:
  - name: checks
    when: '"pytest" in command'
    spawn_agent: {agent: general-purpose, prompt: "Run {{ command }}"}
"""
WHY = "did not start general-purpose: the call is made in that agent"


def screen_of(terminal):
    """What the user can read, without line ends."""
    return " ".join(terminal.history().split())


@pytest.mark.parametrize("how", ["one-shot", "stream", "terminal"])
def test_without_any_variable_the_loop_cannot_happen(tmp_path, how):
    """The agent's own call runs, and the user is told why."""

    def answers(_prompt, request):
        if not request.own_calls:
            return reply(tool_use("Bash", {"command": "touch made # pytest"}))
        return agent_output()

    model = obedient_model(answers, main=calling("pytest"))
    with host_world(tmp_path, model) as world:
        define_rules(world, LOOP)
        world.allow("Bash")
        with world.told(how) as session:
            world.wait_until_forgotten()
            if how == "terminal":
                # With the end of the agent, or of the turn: whichever comes first.
                wait_until(lambda: WHY in screen_of(session), what="the line")
                assert screen_of(session).count(WHY) == 1
        made = (world.stage.project / "made").exists()
        (response,) = world.responses()
        story = world.bridge.story(response.request_id)

    assert made
    assert response.success
    # Without a terminal the client shows what hooks say nowhere.
    assert [WHY in event["why"] for event in story.history if "why" in event] == [True]
