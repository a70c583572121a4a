"""Step workflows bind the agents of our own loop: gate, moves and ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from loopworld import AGENT, ECHO
from runworld import call, submit

from bridge.protocol.response import RequestFailed
from bridge.store import step_states
from bridge.store.variables import Holder

if TYPE_CHECKING:
    from loopworld import Loop

    from bridge.protocol.response import Response

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


def define(loop: Loop, text: str = STEPS) -> None:
    (loop.home / "workflows").mkdir(mode=0o700, exist_ok=True)
    (loop.home / "workflows" / "two.yaml").write_text(text)
    loop.define("checker", AGENT + "workflow: two\n")


def told(loop: Loop) -> str:
    return "\n".join(m.content for m in loop.model.asked[-1])


def left(loop: Loop, response: Response) -> object:
    return step_states.find(loop.bridge.store, Holder.agent(response.request_id))


def test_it_is_told_its_step_and_held_to_it(loop: Loop):
    define(loop)

    response = loop.run(ECHO, LIST, ECHO, submit())

    said = loop.model.results()
    assert response.success
    assert "Look around first." in told(loop)
    assert "step look of the workflow two does not allow Bash" in said[0]
    assert "Now run it." in said[1]
    assert "The workflow two has ended" in said[2]
    assert left(loop, response) is None


def test_steps_in_its_own_file_bind_it_too(loop: Loop):
    loop.define("checker", AGENT + STEPS.replace("name: two\n", ""))

    response = loop.run(ECHO, LIST, ECHO, submit())

    said = loop.model.results()
    assert response.success
    assert "step look of the workflow checker does not allow Bash" in said[0]
    assert "The workflow checker has ended" in said[2]


def test_it_may_not_end_before_its_workflow(loop: Loop):
    define(loop)

    response = loop.run(submit(), submit(), submit())

    assert response.success
    assert told(loop).count("error: not yet: ") == 2
    assert "Go on." in told(loop)


def test_a_workflow_that_is_gone_when_it_begins_ends_the_request(loop: Loop):
    define(loop)
    file = loop.home / "workflows" / "two.yaml"

    with pytest.raises(RequestFailed, match="no workflow is named 'two'"):
        loop.run(submit(), accepted=file.unlink)
