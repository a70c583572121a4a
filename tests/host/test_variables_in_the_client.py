"""Variables in the real client: what outlives what."""

import sys

import pytest
from hostworld import host_world
from polling import wait_until
from ruleworld import calling, define_rules, variables_of

from bridge.testing.stage.models import agent_output, obedient_model
from bridge.testing.stage.oneshot import run_print
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host


COUNTS = """
on_user_prompt:
  - increment_variable: prompts
"""


def test_variables_outlive_the_end_of_a_session_that_is_resumed(tmp_path):
    with host_world(tmp_path, obedient_model()) as world:
        define_rules(world, COUNTS)
        world.print("one")
        (session,) = (world.store.place.state / "sessions").glob("*.vars.json")
        name = session.name.removesuffix(".vars.json")
        run_print(world.stage, "two", args=["--resume", name])
        known = variables_of(world)

    assert known["prompts"] == 2


def test_variables_outlive_compaction_and_clear(tmp_path):
    """They go with the session to its new id."""
    with host_world(tmp_path, record=["SessionStart"]) as world:
        define_rules(world, COUNTS)
        with world.stream() as session:
            session.ask("/compact")
            wait_until(lambda: len(world.events) == 2, what="compaction")
            session.ask("again")
            compacted = variables_of(world)
            session.ask("/clear")
            wait_until(lambda: len(world.events) == 3, what="another session id")
            session.ask("afresh")
        cleared = variables_of(world)

    assert [each["source"] for each in world.events][1:] == ["compact", "clear"]
    assert compacted == {"prompts": 2}
    assert cleared["prompts"] >= 3


VARS = f"{sys.executable} -m bridge vars"
OUTSIDE = f"{VARS} get task seen limit"
INSIDE = """
variables: {limit: 3}
on_after_tool:
  - when: command == "ls" and variables.task == "mine"
    increment_variable: seen
    inject_context: Seen {{ variables.seen }} with {{ limit }}.
on_session_start:
  - when: agent == "worker"
    inject_context: Compacted, {{ variables.seen }}.
"""
WORKER = """\
prompt: 'Task: {{ task }}'
allow: [Bash]
lifecycle_variables: {limit: 4}
"""


# The conversation is summarised when it is 2,000 tokens long.
SHORT = {
    "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000",
    "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "2",
}
# So much comes of it that the client has the conversation summarised.
LONG = "yes | head -c 25000"


def saying(*commands):
    """An agent that runs commands, one a turn, however short its conversation."""
    left = list(commands)

    def answers(_prompt, _request):
        if left:
            return reply(tool_use("Bash", {"command": left.pop(0)}))
        return agent_output()

    return answers


@pytest.mark.parametrize("how", ["stream", "terminal"])
def test_an_agents_variables_are_its_own_and_outlive_compaction(tmp_path, how):
    """Set by its own command, seen by the rules about it, and by nobody else."""
    commands = [f"{VARS} set task=mine", "ls", f"{VARS} set limit=5", LONG, "ls", VARS]
    model = obedient_model(saying(*commands), main=calling(OUTSIDE))
    with host_world(tmp_path, model, env=SHORT, record=["SessionStart"]) as world:
        define_rules(world, INSIDE)
        world.allow("Bash")
        world.define("worker", WORKER)
        request = world.submit(agent="worker")
        session = world.terminal() if how == "terminal" else world.stream()
        with session as opened:
            response = world.ended(request)
            world.wait_until_forgotten()
            turns = len(world.api.turns("main"))
            ask = opened.submit if how == "terminal" else opened.ask
            ask("go")
            world.wait_for_turns(turns + 2)
        inside, outside = world.subagent_words(), world.main_words()
        compacted = [each for each in world.events if each["source"] == "compact"]

    assert response.success
    assert "limit belongs to the person" in inside
    assert compacted[0]["agent_id"]
    assert "Compacted, 1." in inside
    assert "Seen 2 with 4." in inside
    assert "seen\\t2\\tset by a rule" in inside
    assert "null\\nnull\\n3" in outside
