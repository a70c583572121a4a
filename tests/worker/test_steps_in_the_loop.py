"""Step workflows bind the agents of our own loop: gate, moves and ends."""

import pytest
from loopworld import AGENT, ECHO
from runworld import call, submit

from bridge.protocol.response import RequestFailed
from bridge.store import step_states
from bridge.store.variables import Holder

STEPS = """
name: two
variables: {listed: null}
steps:
  - name: look
    allowed_tools: [Glob]
    on_enter: [{inject_message: Look around first.}]
    on_tool: {Glob: {set_variable: {listed: tool_output}}}
    transitions: [{to: work, when: listed}]
  - name: work
    on_enter: [{inject_message: Now run it.}]
    transitions: [{to: complete, when: 'tool_name == "Bash"'}]
  - name: complete
exit_condition: current_step == 'complete'
on_premature_stop: {message: Go on., max: 2}
"""
LIST = call("list_files", pattern="*")


def define(loop, text=STEPS):
    (loop.home / "workflows").mkdir(mode=0o700, exist_ok=True)
    (loop.home / "workflows" / "two.yaml").write_text(text)
    loop.define("checker", AGENT + "workflow: two\n")


def told(loop):
    return "\n".join(m.content for m in loop.model.asked[-1])


def left(loop, response):
    return step_states.find(loop.bridge.store, Holder.agent(response.request_id))


@pytest.mark.parametrize("name", ["two", "checker"])
def test_it_is_told_its_step_and_held_to_it(loop, name):
    """By the steps of a workflow, or by those in its own file."""
    if name == "two":
        define(loop)
    else:
        loop.define("checker", AGENT + STEPS.replace("name: two\n", ""))

    response = loop.run(ECHO, LIST, ECHO, submit())

    said = loop.model.results()
    assert response.success
    assert "Look around first." in told(loop)
    assert f"step look of the workflow {name} does not allow Bash" in said[0]
    assert "Now run it." in said[1]
    assert f"The workflow {name} has ended" in said[2]
    assert left(loop, response) is None


def test_it_may_not_end_before_its_workflow(loop):
    define(loop)

    with pytest.raises(RequestFailed, match="in step 'look' of the workflow two"):
        loop.run(submit(), submit(), submit())

    assert told(loop).count("error: not yet: ") == 2
    assert "Go on." in told(loop)


def test_a_workflow_that_is_gone_when_it_begins_ends_the_request(loop):
    define(loop)
    file = loop.home / "workflows" / "two.yaml"

    with pytest.raises(RequestFailed, match="no workflow is named 'two'"):
        loop.run(submit(), accepted=file.unlink)
