"""Flows in the real client: its hooks alone take them to their end.

The test begins a run; from then on no process of ours lives but the client's hooks.
"""

import json
import threading

import pytest
from flowruns import begun, now, say, wait_for_checkpoint, wait_for_end
from hostworld import bash, host_world
from polling import wait_until

from bridge.api.flow_result import result_of_run
from bridge.protocol.ids import check_id
from bridge.testing.stage.models import answering, obedient_model
from bridge.testing.stage.replies import Reply, reply, tool_use

pytestmark = pytest.mark.host

G = "general-purpose"
SOURCE = f"""
@look -> [{G}:"alpha {{last?}}":a || {G}:"beta":b]
(if any issues)~> {G}:"mend {{a}}":last -> @look(2)
(if passed)~> @check:"Is {{b}} fine?":word -> {G}:"gamma {{word}}":c
"""


def answers(prompt, _request):
    """An agent repeats its prompt; `alpha` finds an issue in the first two rounds."""
    said = prompt.splitlines()[0].strip()
    rounds = said.count("<")
    found = ["one"] if said.startswith("alpha") and rounds < 3 else []
    output = {"status": "success", "summary": f"<{said}>", "issues": found}
    return reply(json.dumps(output))


def test_a_flow_goes_to_its_end(tmp_path):
    """With a loop, parallel steps and a checkpoint, and no process of ours."""
    with host_world(tmp_path, obedient_model(answers)) as world:
        run = begun(world, SOURCE)
        with world.stream():
            wait_for_checkpoint(world, run)
            say(world, run, "yes: very")
            wait_for_end(world, run)

        found = result_of_run(world.store, world.bridge.settings, run)
        assert found.text == "<gamma yes: very>"
        assert found.variables["last"] == "<mend <alpha <mend <alpha>>>>"
        assert now(world, run).run["asked"] == 2 * 3 + 2 + 1
        # The answers went past the main thread.
        assert "alpha" not in world.main_words()


def test_a_temporary_agent_may_do_what_its_base_may(tmp_path):
    """Its own words and model, the limits of the agent that it stands on."""
    write = reply(tool_use("Write", {"file_path": "made", "content": "x"}))
    good = reply(json.dumps({"status": "success", "summary": "s"}))
    model = obedient_model(answering(write, bash("touch granted"), good))
    source = '$own := {base: "worker", prompt: "You mend.", model: "opus"} $own:"Now"'

    with host_world(tmp_path, model) as world, world.stream():
        world.define("worker", "tools: [Bash]\nallow: ['Bash(touch *)']\n")
        run = begun(world, source)
        wait_for_end(world, run)

    turns = world.api.turns("subagent")
    kept = [r.text for turn in turns for r in turn.tool_results]
    assert turns[0].prompt.startswith("You mend.\n\nNow\n\n")
    assert "opus" in turns[0].model
    assert "keeps Write from it" in kept[0]
    made = {path.name for path in world.stage.project.iterdir()}
    assert made & {"made", "granted"} == {"granted"}


def test_the_next_session_goes_on_with_a_flow_of_a_killed_one(tmp_path):
    go = threading.Event()

    def slow(prompt, request):
        answer = answers(prompt, request)
        is_late = "beta" in prompt and not go.is_set()
        return Reply(answer.blocks, delay_s=600) if is_late else answer

    with host_world(tmp_path, obedient_model(slow)) as world:
        with world.stream() as session:
            run = begun(
                world, f'{G}:"alpha":a -> {G}:"beta {{a}}":b -> {G}:"end {{b}}"'
            )
            request = f"{run}-node-1-1-1"
            wait_until(lambda: world.store.find(check_id(request)))
            world.wait_for_stage(request, "running")
            session.kill()
        go.set()
        with world.stream():
            wait_for_end(world, run)

    assert (
        result_of_run(world.store, world.bridge.settings, run).text
        == "<end <beta <alpha>>>"
    )
