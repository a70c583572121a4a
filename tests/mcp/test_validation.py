"""validate_change and build_and_validate over MCP: what they return, and refuse."""

import json

import pytest
from fakeclaude import fake_claude, printing, result, trust_folder
from gitworld import Repository
from mcpworld import text_of, told
from validatorworld import APPROVED, REJECTED

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ONE = {"validators": ["validator-logic"]}


@pytest.fixture
def says(tmp_path, world, monkeypatch):
    """A change, and what `claude` says of it."""
    Repository(world.project)
    (world.project / "a").write_text("one\n2\n")
    trust_folder(tmp_path / "home", world.project)
    monkeypatch.setenv("BRIDGE_CLAUDE", str(fake_claude(tmp_path / "bin")))

    def say(answer):
        fake_claude(tmp_path / "bin", printing(result(structured_output=answer)))

    return say


@pytest.mark.parametrize("answer", [APPROVED, REJECTED], ids=lambda a: a["verdict"])
async def test_a_verdict_with_its_reports_answers_the_call(says, answer, use):
    says(answer)
    wanted = {**ONE, "mode": "headless", "intent": "digits"}
    found = await use("validate_change", wanted)

    value = told(found)
    (said,) = value["answers"]
    assert (value["status"], said["verdict"]) == ("completed", answer["verdict"])
    assert value["success"] is (answer is APPROVED)
    assert said["reports"][0]["validator"] == "validator-logic"
    assert f"{answer['verdict']}: what is not committed" in text_of(found)


async def test_together_one_process_answers_for_both(says, use):
    names = ["validator-logic", "validator-security"]
    says({names[0]: APPROVED, names[1]: REJECTED})

    wanted = {"validators": names, "mode": "headless", "together": True}
    found = told(await use("validate_change", wanted))

    (said,) = found["answers"]
    verdicts = [each["verdict"] for each in said["reports"]]
    assert verdicts == ["APPROVED", "REJECTED"]
    assert len({each["requestId"] for each in said["reports"]}) == 1
    assert said["readings"] == [f"{', '.join(names)}: asked together, in one reading"]


async def test_both_tools_can_be_told_to_ask_together(client):
    tools = {each.name: each for each in (await client.list_tools()).tools}
    for name in ("validate_change", "build_and_validate"):
        option = tools[name].input_schema["properties"]["together"]
        assert (option["type"], option["default"]) == ("boolean", False)


async def test_the_only_session_is_told_to_start_the_validators_itself(
    world, says, use
):
    says(APPROVED)
    begun = told(await use("validate_change", ONE))
    if begun["next"] is None:
        # The change is still being read.
        wanted = {"run": begun["run"]}
        begun = told(await use("wait_for_flow", wanted))
    asked = {each["id"]: each for each in begun["steps"]}["validator-logic"]
    assert asked["request_id"] in begun["next"]

    agent = world.start(world.launch(asked["request_id"]))
    world.use(agent)
    world.stop(agent, json.dumps(APPROVED))
    wanted = {"run": begun["run"]}
    done = told(await use("wait_for_flow", wanted))
    assert done["answers"][0]["verdict"] == "APPROVED"


async def test_what_is_refused_asks_nobody(world, says, use):
    says(APPROVED)
    for tool, wanted in (
        ("validate_change", {"scope": ["../elsewhere"]}),
        ("validate_change", {"validators": ["qa-reviewer"]}),
        ("build_and_validate", {"task": " "}),
        ("build_and_validate", {"task": "x", "rounds": 99}),
    ):
        found = await use(tool, wanted)
        assert found.is_error, (tool, wanted)

    assert world.bridge.overview().waiting == 0


async def test_a_build_that_its_person_has_to_decide_says_so(says, use):
    """A model answers no checkpoint: its result says what the person can type."""
    says({"status": "success", "summary": "built", "files": [], "evidence": []})

    wanted = {"task": "count", "mode": "headless", "rounds": 1, **ONE}
    found = told(await use("build_and_validate", wanted))

    (waits,) = found["waits_for_person"]
    assert waits["answer_with"] == f"hostbridge reply {found['run']}"
    assert "count" in waits["question"]
    assert found["success"] is None
