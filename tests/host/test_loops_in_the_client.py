"""Rules that would call for agents without end, in the real client."""

import pytest
from hostworld import host_world
from polling import wait_until
from ruleworld import calling, define_rules, say_go

from bridge.testing.stage.models import agent_output, launch, new_tokens, obedient_model
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
        if how == "one-shot":
            assert world.print("go").exit_code == 0
        elif how == "stream":
            with world.stream(greet=False) as session:
                session.ask("go", timeout_s=300)
                world.wait_until_forgotten()
        else:
            with world.terminal() as terminal:
                terminal.submit("go")
                world.wait_for_turns(4)
                world.wait_until_forgotten()
                # With the end of the agent, or of the turn: whichever comes first.
                wait_until(lambda: WHY in screen_of(terminal), what="the line")
                shown = screen_of(terminal)
            assert shown.count(WHY) == 1
        made = (world.stage.project / "made").exists()
        (response,) = world.responses()
        story = world.bridge.story(response.request_id)

    assert made
    assert response.success
    # Without a terminal the client shows what hooks say nowhere.
    assert [WHY in event["why"] for event in story.history if "why" in event] == [True]
    assert world.complaints() == ""


EACH_OTHER = """
on_before_tool:
  - when: tool_name == "Bash" and agent != "one"
    spawn_agent: {agent: one, prompt: x}
  - when: tool_name == "Bash" and agent == "one"
    spawn_agent: {agent: two, prompt: x}
"""


@pytest.mark.parametrize("how", ["one-shot", "stream", "terminal"])
def test_two_rules_that_point_at_each_other_end(tmp_path, how):
    """The main conversation asks one, one asks two, and two does it."""

    def answers(prompt, request):
        if tokens := new_tokens(request):
            return reply(*map(launch, tokens))
        if request.own_calls:
            return agent_output()
        return reply(tool_use("Bash", {"command": f"touch {prompt.split()[0]}"}))

    model = obedient_model(answers, main=calling("touch main"))
    with host_world(tmp_path, model) as world:
        define_rules(world, EACH_OTHER)
        world.allow("Bash")
        for name in ("one", "two"):
            world.define(name, f"prompt: {name} at work\n")
        say_go(world, how)
        made = {file.name for file in world.stage.project.iterdir()}
        ended = world.responses()

    assert made - {".claude"} == {"two"}
    assert [each.success for each in ended] == [True, True]


BELOW = """
variables: {limit: null}
on_before_tool:
  - when: limit and command.startswith("touch")
    block: "{{ agent }} at depth {{ depth }}, limit {{ limit }}."
"""
WORKER = """\
prompt: 'Task: {{ task }}'
allow: [Bash, Agent]
lifecycle_variables: {limit: 2}
"""


@pytest.mark.parametrize("how", ["one-shot", "stream", "terminal"])
def test_a_rule_binds_an_agent_of_an_agent(tmp_path, how):
    """With the variables of the agent that started it."""
    inner = {"prompt": "inner", "description": "n", "subagent_type": "general-purpose"}

    def answers(prompt, request):
        if not prompt.startswith("inner"):
            # At a terminal it is in the background: the answer waits for it.
            return (
                agent_output() if request.own_calls else reply(tool_use("Agent", inner))
            )
        if request.own_calls:
            return reply("inner is done")
        return reply(tool_use("Bash", {"command": "touch made"}))

    main = calling("touch main")
    with host_world(tmp_path, obedient_model(answers, main=main)) as world:
        define_rules(world, BELOW)
        world.allow("Bash")
        world.define("worker", WORKER)
        if how == "terminal":
            with world.terminal() as terminal:
                response = world.ended(world.submit(agent="worker"))
                terminal.submit("go")
                wait_until((world.stage.project / "main").exists, what="the command")
        else:
            response = world.serve(how, prompt="go", agent="worker")
        words = world.subagent_words()
        made = (world.stage.project / "made").exists()

    assert response.success
    assert "general-purpose at depth 2, limit 2." in words
    assert not made
