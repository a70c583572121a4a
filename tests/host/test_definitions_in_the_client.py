"""Defined agents with the real client: what it runs, what it lets them do."""

from __future__ import annotations

import pytest
from agentworld import trust_project
from hostworld import HostWorld, bash, code_of, host_world

from bridge.testing.stage.models import answering, obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

HOWS = ("one-shot", "stream")
GOOD = '{"status": "success", "summary": "s"}'
WORKER = "prompt: 'As told: {{ task }}'\n"


def results(world: HostWorld) -> list[tuple[str, bool]]:
    """What the subagent's tool calls gave, oldest first; whether it was an error."""
    turns = world.api.turns("subagent")
    return [(r.text, r.is_error) for turn in turns for r in turn.tool_results]


@pytest.mark.parametrize("how", HOWS)
def test_the_agent_is_told_what_its_definition_says(tmp_path, how):
    """Its words, its form of answer, in the client's agent of its choice."""
    model = obedient_model(answering(reply('{"n": 3}')))
    schema = "output_schema: {type: object, required: [n]}\n"

    with host_world(tmp_path, model) as world:
        world.define("worker", f"{WORKER}subagent_type: Explore\nmodel: opus\n{schema}")
        response = world.serve(how, "Count {{ x }}.", agent="worker")

    turn = world.api.turns("subagent")[0]
    assert (response.parsed_output, response.degraded) == ({"n": 3}, False)
    assert turn.prompt.startswith("As told: Count {{ x }}.\n\n## How to answer")
    assert '"required": ["n"]' in turn.prompt
    assert "opus" in turn.model
    assert "file search specialist" in turn.system_text


@pytest.mark.parametrize("how", HOWS)
def test_tools_and_grants(tmp_path, how):
    """One call is kept from it, one is granted, one would need a person."""
    write = reply(tool_use("Write", {"file_path": "made", "content": "x"}))
    turns = (write, bash("touch granted"), bash("touch a; touch b"), reply(GOOD))

    with host_world(tmp_path, obedient_model(answering(*turns))) as world:
        world.define("worker", f"{WORKER}tools: [Bash]\nallow: ['Bash(touch *)']\n")
        response = world.serve(how, agent="worker")

    made = {path.name for path in world.stage.project.iterdir()}
    (kept, _), _, (refused, _) = results(world)
    assert response.success, response
    assert "keeps Write from it" in kept
    assert "not granted to this agent" in refused
    assert made & {"made", "granted", "a", "b"} == {"granted"}


def test_turns_run_out_by_name(tmp_path):
    """A model that never stops calling tools is ended, and the asker told why."""
    with host_world(tmp_path, obedient_model(answering(bash("true")))) as world:
        world.define("worker", f"{WORKER}max_turns: 2\nallow: [Bash]\n")
        response = world.serve("stream", agent="worker")

    assert code_of(response) == "turn_limit"
    # Two calls, two warnings and the end; a busy machine offers it once more.
    assert len(world.api.turns("subagent")) <= 10


def test_what_a_clone_brings_runs_only_when_trusted(tmp_path):
    """A file dropped for it is refused too, at the launch, and nothing was started."""
    with host_world(tmp_path, obedient_model()) as world:
        world.define("worker", WORKER, world.stage.project / ".bridge")
        with world.stream() as session:
            first = world.drop(agentType="worker", prompt="Do it.")
            session.send("look")
            refused = world.ended(first)
            trust_project(world.bridge)
            answered = world.ended(world.submit("Do it.", agent="worker"))
            world.wait_until_forgotten()

    assert refused.error is not None
    assert refused.error.code == "not_trusted"
    assert "which you have not trusted" in refused.error.message
    assert answered.success
    [turn] = world.api.turns("subagent")
    assert turn.prompt.startswith("As told: Do it.")
