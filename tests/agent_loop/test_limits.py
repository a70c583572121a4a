"""What ends a loop before its answer: turns, tokens, time, a cancel, the model."""

from __future__ import annotations

import subprocess
import time

import pytest
from runworld import AT_WORK, call, definition, submit

from bridge.agent_loop.chat_model import ModelFailed
from bridge.agent_loop.job import Limits
from bridge.agents.definition import ScriptTool
from bridge.protocol.judge import Verdict


def test_error_turns_run_out(world):
    agent = definition(max_turns=3)
    calls = [call("list_files", pattern=f"{n}*") for n in range(9)]

    outcome = world.run(*calls, agent=agent)

    assert outcome.verdict == Verdict(
        code="AGENT_004", complaint="no answer within 3 turns"
    )
    assert outcome.run.turns == 3
    assert world.log[-1]["code"] == "AGENT_004"


def test_error_tokens_run_out(world):
    calls = [call("list_files", pattern=f"{n}*") for n in range(9)]

    outcome = world.run(*calls, limits=Limits(tokens=50))

    assert outcome.verdict == Verdict(
        code="AGENT_004", complaint="no answer within 50 tokens"
    )


def test_error_the_deadline(world):
    """What is slow in the model is noticed before the next turn begins."""

    def slow(_):
        time.sleep(0.3)
        return call("list_files")

    outcome = world.run(slow, seconds=0.2)

    assert outcome.verdict == Verdict(
        code="AGENT_005", complaint="the deadline passed in turn 2"
    )


def test_error_the_deadline_in_a_command(world):
    """A command may not make a request late, whatever its own limit is."""
    world.run(
        call("run_command", command="sleep 36000"),
        submit(),
        agent=definition(allow=("Bash(sleep *)",)),
        limits=Limits(command_s=36_000),
        seconds=4,
    )

    told = [e["text"] for e in world.log if e["event"] == "tool_result"]
    assert told[0].startswith("ended at its time limit")


def test_error_cancelled(world):
    """Between steps, and whatever the model said when it was closed for it."""
    cancelled = []

    def closed(_):
        cancelled.append(True)
        raise ModelFailed("AGENT_006", "the model was closed")

    outcome = world.run(closed, is_cancelled=lambda: bool(cancelled))

    assert outcome.verdict == Verdict(
        code="cancelled", complaint="the request was cancelled"
    )


def test_at_its_deadline_nothing_was_cancelled(world):
    """Also where whoever asked has stopped waiting by then, which says: stop."""
    outcome = world.run(AT_WORK, seconds=0, is_cancelled=lambda: True)

    assert outcome.verdict == Verdict(
        code="AGENT_005", complaint="the deadline passed in turn 1"
    )


def test_a_command_is_ended_by_cancelling(world):
    seen = []

    def is_cancelled() -> bool:
        told = subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, check=True)
        seen.append(b"sleep 36001\n" in told.stdout)
        return any(seen)

    outcome = world.run(
        call("run_command", command="sleep 36001"),
        submit(),
        agent=definition(allow=("Bash(sleep *)",)),
        limits=Limits(command_s=36_000),
        is_cancelled=is_cancelled,
        seconds=36_000,
    )

    assert outcome.verdict.code == "cancelled"
    assert any(seen)


def test_a_model_at_work_is_told_to_stop(world):
    """And not only after its turn, which may take minutes."""
    asked = iter([False] * 5)

    outcome = world.run(AT_WORK, is_cancelled=lambda: next(asked, True))

    assert outcome.verdict.code == "cancelled"


def test_a_script_starts_no_command_once_its_run_is_over(world):
    """It may have many to run, and looks up at none of them."""
    first = world.project / "made-0"
    code = "for i in range(5):\n    run_command('touch made-' + str(i))\n'done'"
    pym = world.write("tools/touch.pym", code)
    tool = ScriptTool(
        name="touch",
        pym=pym,
        description="Touch files.",
        parameters={"type": "object", "properties": {}},
        code=code,
    )

    outcome = world.run(
        call("touch"),
        submit(),
        agent=definition(script_tools=(tool,), allow=("Bash(touch *)",)),
        is_cancelled=first.exists,
    )

    assert outcome.verdict.code == "cancelled"
    assert not (world.project / "made-4").exists()


@pytest.mark.parametrize("end", ["cancelled", "AGENT_005"])
def test_a_search_ends_with_its_run(world, end):
    """Inside the tool, not only at the next turn."""
    world.write("a.txt", "x")
    cancelled = []

    def search(_):
        if end == "cancelled":
            cancelled.append(True)
        else:
            time.sleep(0.3)
        return call("search_text", text="x")

    outcome = world.run(
        search, submit(), seconds=0.2, is_cancelled=lambda: bool(cancelled)
    )

    told = [e["text"] for e in world.log if e["event"] == "tool_result"]
    assert told == ["error: the run is over: no time is left"]
    assert outcome.verdict.code == end


@pytest.mark.parametrize(
    ("said", "code"),
    [("AGENT_006", "AGENT_006"), ("AGENT_001", "AGENT_001"), ("odd", "agent_error")],
)
def test_error_of_the_engine_keeps_its_name(world, said, code):
    outcome = world.run(ModelFailed(said, "it died"))

    assert outcome.verdict == Verdict(code=code, complaint="it died")
    assert world.log[-1] == {
        "event": "error",
        "turn": 1,
        "code": code,
        "message": "it died",
    }
