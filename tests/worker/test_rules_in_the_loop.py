"""Rules bind the agents of our own loop: the same ones, by the client's names."""

import json
import sys

import pytest
from loopworld import AGENT, ECHO
from runworld import call, submit

from bridge.bound.agent_rules import AgentRules

pytestmark = pytest.mark.slow

RUNNER = "name: runner\nmode: headless\nprompt: '{{ task }}'\n"


BLOCK = """
variables: {strict: true}
on_before_tool:
  - name: no-echo
    when: strict and runs(command, "echo")
    block: "No {{ command }} here."
"""


def test_a_blocked_call_does_not_run(loop):
    loop.rules(BLOCK)

    response = loop.run(ECHO, submit())

    (said,) = loop.model.results()
    assert "error: No echo hi here." in said
    assert "[rule no-echo (~/home/rules.yaml:4)]" in said
    assert response.run.evidence == ()


@pytest.mark.parametrize(
    "off",
    ["lifecycle_variables: {strict: null}", "lifecycle_workflow: null",
     "lifecycle_workflow: lenient"],
)  # fmt: skip
def test_a_definition_switches_a_rule_off_for_its_agent(loop, off):
    loop.rules(BLOCK)
    loop.rules("on_stop: []", "rules/lenient.yaml")
    loop.define("checker", AGENT + off)

    loop.run(ECHO, submit())

    (said,) = loop.model.results()
    assert "exit code 0\nhi" in said


def test_a_rule_set_that_is_not_there_ends_the_request(loop):
    loop.define("checker", AGENT + "lifecycle_workflow: strict")

    with pytest.raises(Exception, match="wants the rule set 'strict'"):
        loop.run(ECHO, submit())


TELLING = """
on_before_tool:
  - tools: [Read]
    when: tool_input.file_path.endswith("/notes.md") and depth == 1
    set_variable: {read: "${{ tool_name }}"}
    inject_context: "[before {{ agent }}]"
on_after_tool:
  - when: tool_output.startswith("a note") and variables.read == "Read"
    increment_variable: seen
    inject_context: "[after]"
on_subagent_stop:
  - when: not variables.seen
    block: Read the notes first.
"""


def test_every_event_in_its_place(loop):
    (loop.bridge.store.place.project / "notes.md").write_text("a note")
    loop.rules(TELLING)

    response = loop.run(submit(), call("read_file", path="notes.md"), submit())

    held, read = loop.model.results()
    assert held.startswith("error: not yet: Read the notes first.\n[rule on_subagent_")
    assert read.endswith("a note\n\n[before checker]\n\n[after]")
    assert response.success
    # Nothing is left of an agent that has ended.
    assert list((loop.bridge.store.place.state / "agents").glob("*.vars")) == []


def test_a_rule_that_never_lets_it_end_is_obeyed_five_times(loop):
    loop.rules("on_subagent_stop: [{block: Never.}]")

    response = loop.run(submit())

    assert response.success
    assert response.run.turns == 6


SPAWN = """
on_before_tool:
  - name: hand-over
    when: runs(command, "echo")
    %s
    spawn_agent: {agent: %s, prompt: "Run {{ command }}"}
"""


def test_a_headless_agent_does_it_in_place_of_the_call(loop):
    loop.define("runner", RUNNER)
    loop.claude(status="success", summary="done by claude")
    loop.rules(SPAWN % ("", "runner"))

    response = loop.run(ECHO, submit())

    (said,) = loop.model.results()
    assert "gave this to the agent runner, which answered:" in said
    assert json.loads(said.splitlines()[2])["summary"] == "done by claude"
    done = [file.stem for file in (loop.bridge.store.place.state / "done").iterdir()]
    (inner,) = {*done} - {response.request_id}
    answer = loop.bridge.store.find(inner).response
    assert (answer.success, answer.route) == (True, "claude")
    assert response.success


@pytest.mark.parametrize("required", [False, True])
def test_an_agent_that_needs_a_session_is_not_started_here(loop, required):
    loop.rules(SPAWN % ("required: true" if required else "", "general-purpose"))

    response = loop.run(ECHO, submit())

    (said,) = loop.model.results()
    why = "could not start general-purpose: no session is here to start it in"
    assert ("exit code 0\nhi" in said) is not required
    assert (why in said) is required
    if not required:
        (line,) = loop.log(response, "rule")
        assert why in line["note"]


DEEP = "1 agents stand above it; 0 is the limit (max_depth)"


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        ("checker", "did not start checker: the call is made in that agent"),
        ("runner", DEEP),
    ],
)
def test_the_loop_cannot_happen_and_the_user_is_told_why(loop, agent, why):
    """Nor may agents stand above one another deeper than the limit."""
    loop.define("runner", RUNNER)
    loop.claude(status="success", summary="done by claude")
    if why is DEEP:
        loop.patch.setenv("BRIDGE_MAX_DEPTH", "0")
        loop.bridge.settings = loop.bridge.settings.with_(max_depth=0)
    loop.rules(SPAWN % ("", agent))

    response = loop.run(ECHO, submit())

    (said,) = loop.model.results()
    (line,) = loop.log(response, "rule")
    assert "exit code 0\nhi" in said
    assert why in line["note"]


def test_a_command_of_the_agent_has_the_agents_variables(loop):
    """Not those of a session that happens to be open."""
    loop.rules(BLOCK)
    me = f"{sys.executable} -m bridge -C {loop.bridge.store.place.project}"
    grant = f"allow: [Bash({sys.executable} *)]\nlifecycle_variables: {{mine: 1}}\n"
    loop.define("checker", AGENT.partition("allow:")[0] + grant)
    commands = ("vars set found=it", "vars", "vars set strict:=null")

    loop.run(*(call("run_command", command=f"{me} {c}") for c in commands), submit())

    _, known, refused = loop.model.results()
    assert ("found" in known, "mine" in known, "strict" in known) == (True,) * 3
    assert "strict belongs to the person" in refused


def test_an_agent_that_ends_makes_no_state_again(loop):
    """Somebody has removed it: that is no reason to lose an answer, or to undo it."""
    store, state = loop.bridge.store, loop.bridge.store.place.state
    rules = AgentRules(loop.bridge.settings, store, "gone", {"above": ["x"]})

    rules.forget()

    assert rules.notes() == []
    assert not state.exists()
