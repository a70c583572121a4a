"""A built-in flow in the real client: one session answers each of its agents."""

import json
from pathlib import Path

import pytest
from flowruns import begun, now, say, wait_for_checkpoint, wait_for_end
from hostworld import bash, host_world

from bridge.api.flow_files import Flows
from bridge.api.flow_result import result_of_run
from bridge.testing.stage.models import Answers, obedient_model
from bridge.testing.stage.replies import reply

pytestmark = pytest.mark.host

TESTS = "python3 -m unittest -q"
# A sentence of each agent's task, and its answer.
ANSWERS = {
    "Build this": {"status": "success", "summary": "built"},
    "Plan this": {"status": "success", "summary": "edit shop.py"},
    "Where does it belong": {
        "answer": "In shop.py.", "findings": [], "confidence": "high",
    },
}  # fmt: skip


def model_of(shop: Path) -> Answers:
    """Builds what passes only when it is told that the tests have failed."""

    def model(prompt, request):
        if "Run this check" in prompt:
            return bash(TESTS) if not request.own_calls else reply(checked())
        if "said then: 1 failed" in prompt:
            shop.write_text("broken = False\n")
        answer = next(said for task, said in ANSWERS.items() if task in prompt)
        return reply(json.dumps(answer))

    def checked():
        passed = "False" in shop.read_text()
        item = {"type": "command_output", "content": "it ended", "command": TESTS}
        status, summary = ("success", "passed") if passed else ("failed", "1 failed")
        evidence = [item | {"passed": passed}]
        return json.dumps({"status": status, "summary": summary, "evidence": evidence})

    return model


def test_plan_and_build_until_the_tests_pass(tmp_path):
    case = "import unittest, shop\nclass T(unittest.TestCase):\n"
    case += " def test(self): self.assertFalse(shop.broken)\n"
    shop = tmp_path / "project" / "shop.py"
    with host_world(tmp_path, obedient_model(model_of(shop))) as world:
        assert shop.parent == world.stage.project
        shop.write_text("broken = True\n")
        shop.with_name("test_shop.py").write_text(case)
        settings = world.bridge.settings
        plan, _ = Flows(settings, world.store.place.project).compiled(
            "plan-and-build", {"task": "a shop"}
        )
        run = begun(world, plan, params={"task": "a shop"})
        with world.stream():
            wait_for_checkpoint(world, run)
            say(world, run, "yes, but small")
            wait_for_end(world, run)

    assert result_of_run(world.store, settings, run).text == "passed"
    # What it asked: two, then two rounds of building and testing.
    assert now(world, run).run["asked"] == 2 + 2 * 2
    told = [turn.prompt for turn in world.api.turns("subagent")]
    assert any("agreed to it said: yes, but small\n" in prompt for prompt in told)
