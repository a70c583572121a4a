"""A rule's agent that is headless: the hook runs it, and refuses the call with it."""

import json

import pytest
from fakeclaude import printing, result
from headlessworld import (
    PASSED,
    RUNNER,
    SLOW,
    answers,
    claude,
    headless_world,
    responses,
    rule,
)
from polling import wait_until
from rulehooks import run

from bridge.bound import headless
from bridge.bound.answer_wait import WAIT_S
from bridge.host.hook_table import TIMEOUT_S
from bridge.process import detached
from bridge.protocol.ids import RequestId
from bridge.store.tool_calls import untold

pytestmark = pytest.mark.slow


@pytest.fixture
def world(tmp_path, monkeypatch):
    with headless_world(tmp_path, monkeypatch) as made:
        yield made


def test_the_denial_carries_the_answer(world, monkeypatch):
    folder = claude(world, monkeypatch, answers(PASSED))

    runs, said = run(world, "pytest -q; echo '{{ x }}' \"$(y)\"")

    assert not runs
    head, answer = said.split("\n", 1)
    assert head == (
        "hostbridge: the rule checks gave this to the agent runner, which answered:"
    )
    assert json.loads(answer)["summary"] == "4 passed"
    # The text of the command is data, byte for byte.
    assert "Run pytest -q; echo '{{ x }}' \"$(y)\"" in (folder / "stdin").read_text()
    (response,) = responses(world)
    assert (response["route"], response["success"]) == ("claude", True)


def test_a_report_of_failure_is_an_answer(world, monkeypatch):
    claude(world, monkeypatch, answers({"status": "failed", "summary": "1 failed"}))

    runs, said = run(world)

    assert not runs
    assert "1 failed" in said


BAD = {
    "no claude": ("", "/nowhere/claude"),
    "no answer": (printing(result(result="")), None),
    "it dies": ("kill -9 $$\n", None),
}


def ends(world):
    """When the agents ended that the session was charged."""
    (session,) = world.live()
    return [charge.end for charge in session.spending.charges.values()]


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("how", BAD)
def test_without_an_answer_the_call_runs_unless_the_agent_is_required(
    world, monkeypatch, how, required
):
    lines, program = BAD[how]
    claude(world, monkeypatch, lines)
    if program:
        monkeypatch.setenv("BRIDGE_CLAUDE", program)
    rule(world, more="required: true" if required else "")

    runs, said = run(world)

    assert runs is not required
    assert "could not start runner: it did not answer (" in said
    assert ("The rule requires it." in said) is required
    # Nothing is left that the next call could meet, nor any time that still counts.
    assert untold(world.store, world.session) == {}
    wait_until(lambda: ends(world)[0] is not None, what="the end of its charge")


@pytest.mark.parametrize("is_late", [False, True])
def test_a_file_that_somebody_else_wrote_is_not_the_answer(world, monkeypatch, is_late):
    """It is written while the agent works, before or after the hook has waited."""
    folder = claude(world, monkeypatch, SLOW + answers(PASSED))
    monkeypatch.setattr(headless, "MAX_WAIT_S", 0.5)
    if is_late:
        run(world)
    else:
        start = headless._start
        monkeypatch.setattr(
            headless, "_start", lambda *words: forge(world) or start(*words)
        )
        assert "forged" not in run(world)[1]
    if is_late:
        forge(world)
    assert "forged" not in json.dumps(world.say("UserPromptSubmit", prompt="?"))

    (folder / "go").touch()
    (request,) = untold(world.store, world.session).values()
    wait_until(lambda: world.store.find(RequestId(request)).response, what="the answer")
    assert "4 passed" in run(world)[1]


def forge(world):
    """Write an answer to what is asked, as a program of the user's might."""
    folder = world.store.place.state
    (request,) = [
        file.stem
        for name in ("requests", "processing")
        for file in (folder / name).glob("*.json")
    ]
    value = {
        "requestId": request,
        "success": True,
        "parsedOutput": {"summary": "forged"},
    }
    (folder / "responses").mkdir(exist_ok=True)
    (folder / "responses" / f"{request}.json").write_text(json.dumps(value))


def test_the_same_call_meets_the_same_request_and_its_late_answer(world, monkeypatch):
    folder = claude(world, monkeypatch, SLOW + answers(PASSED))
    monkeypatch.setattr(headless, "MAX_WAIT_S", 0.2)

    said = {run(world)[1] for _ in range(3)}
    (request,) = untold(world.store, world.session).values()
    (folder / "go").touch()
    wait_until(lambda: responses(world), what="the answer")
    runs, last = run(world)

    assert len(said) == 1
    assert "still works on it" in said.pop()
    assert not runs
    assert "4 passed" in last
    assert [r["requestId"] for r in responses(world)] == [request]
    # Told: the next such call is new work.
    assert untold(world.store, world.session) == {}


def test_an_answer_that_nobody_was_told_wakes_the_session_once(world, monkeypatch):
    folder = claude(world, monkeypatch, SLOW + answers(PASSED))
    world.say("SessionStart", source="startup")
    monkeypatch.setattr(headless, "MAX_WAIT_S", 0.2)
    run(world)

    (folder / "go").touch()
    (bell,) = (world.store.place.state / "bell").iterdir()
    wait_until((bell / "wake").exists, what="the wake-up")
    woken = world.fire("FileChanged", file_path=str(bell / "wake"))
    (bell / "wake").touch()
    again = world.fire("FileChanged", file_path=str(bell / "wake"))

    assert "runner, which a rule gave a call of yours, answered:" in woken.stderr
    assert "4 passed" in woken.stderr
    assert again.stderr == ""


def test_a_long_answer_is_cut(world, monkeypatch):
    claude(world, monkeypatch, answers({**PASSED, "summary": "x" * 3_000_000}))

    runs, said = run(world)

    (response,) = responses(world)
    assert not runs
    assert len(said) <= 9_000
    assert said.endswith(f"… all of it: hostbridge show {response['requestId']}")


def test_a_process_that_cannot_start_is_given_up(world, monkeypatch, tmp_path):
    monkeypatch.setattr(detached, "_SCRIPT", tmp_path / "missing.py")

    runs, said = run(world)

    assert runs
    assert "its process cannot start" in said
    assert ends(world)[0] is not None


def test_it_counts_as_an_agent_of_this_hour(world, monkeypatch):
    claude(world, monkeypatch, answers(PASSED))
    monkeypatch.setenv("BRIDGE_AGENTS_PER_HOUR", "1")

    first, _ = run(world)
    second, said = run(world, "pytest tests")

    assert (first, second) == (False, True)
    assert "1 of 1 agents of this hour are used up" in said


@pytest.mark.parametrize("block", ["true", "false"])
def test_no_more_run_at_once_than_a_session_has_places(world, monkeypatch, block):
    """Each is a client of its own, and calls of one message come at the same time."""
    folder = claude(world, monkeypatch, SLOW + answers(PASSED))
    monkeypatch.setenv("BRIDGE_SLOTS", "1")
    monkeypatch.setattr(headless, "MAX_WAIT_S", 0.2)
    rule(world, block=block)

    run(world)
    runs, said = run(world, "pytest tests")
    (folder / "go").touch()
    wait_until(lambda: responses(world), what="the end of the first")
    run(world, "pytest docs")
    wait_until(lambda: len(responses(world)) > 1, what="the end of the next")

    assert runs
    assert "all 1 places for agents in processes of their own are taken" in said


def test_a_hook_that_waits_ends_before_its_client_ends_it():
    """What it says then would not count, and the call would run."""
    assert TIMEOUT_S + headless.MAX_WAIT_S + headless._REST_S <= WAIT_S


def test_beside_the_call_nothing_waits(world, monkeypatch):
    folder = claude(world, monkeypatch, SLOW + answers(PASSED))
    rule(world, block="false")

    runs, said = run(world)
    (folder / "go").touch()

    assert (runs, said) == (True, "")
    wait_until(lambda: responses(world), what="the answer")


def test_an_agent_of_a_project_that_is_not_trusted_does_not_run(world, monkeypatch):
    folder = claude(world, monkeypatch, answers(PASSED))
    (world.bridge.settings.home / "agents" / "runner.yaml").unlink()
    (world.project / ".bridge" / "agents").mkdir(parents=True)
    (world.project / ".bridge/agents/runner.yaml").write_text(f"name: runner\n{RUNNER}")

    runs, said = run(world)

    assert runs
    assert "could not start runner" in said
    assert not (folder / "argv").exists()


@pytest.mark.parametrize("kind", ["Explore", "general-purpose"])
def test_an_agent_without_the_tool_agent_is_answered_too(world, monkeypatch, kind):
    """No model starts anything, so it needs no tool for that."""
    claude(world, monkeypatch, answers(PASSED))

    runs, said = run(world, agent_id="a1", agent_type=kind)

    assert not runs
    assert "4 passed" in said


def test_in_the_agent_itself_nothing_is_handed_over(world, monkeypatch):
    folder = claude(world, monkeypatch, answers(PASSED))

    runs, _ = run(world, agent_id="a1", agent_type="runner")

    assert runs
    assert not (folder / "argv").exists()
