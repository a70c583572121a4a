"""A loop ends before its answer: turns, tokens, time, a cancellation, the model."""

import subprocess

import pytest
from aheadclock import AheadClock
from runworld import AT_WORK, call, definition, runs, script_tool, submit

from bridge.agent_loop.chat_model import ModelFailed
from bridge.agent_loop.job import RunLimits


def failure(outcome) -> tuple[str, str]:
    return outcome.verdict.code, outcome.verdict.complaint


def results(world) -> list[str]:
    return [e["text"] for e in world.log if e["event"] == "tool_result"]


@pytest.mark.parametrize(
    ("how", "limit", "turns"),
    [
        ({"agent": definition(max_turns=3)}, "3 turns", 3),
        ({"limits": RunLimits(tokens=50)}, "50 tokens", 4),
    ],
)
def test_error_turns_or_tokens_run_out(world, how, limit, turns):
    calls = [call("list_files", pattern=f"{n}*") for n in range(9)]

    outcome = world.run(*calls, **how)

    assert failure(outcome) == ("turn_limit", f"no answer within {limit}")
    assert outcome.run.turns == turns
    assert world.log[-1]["code"] == "turn_limit"


def test_error_the_deadline(world):
    """A slow model is noticed before the next turn begins."""
    clock = AheadClock()

    def slow(_):
        clock.ahead_s = 3600
        return call("list_files")

    outcome = world.run(slow, clock=clock)

    assert failure(outcome) == ("timeout", "the deadline passed in turn 2")


def test_error_the_deadline_in_a_command(world, monkeypatch):
    """A command cannot exceed the request's deadline, whatever its own limit is."""
    clock = AheadClock()
    monkeypatch.setattr("bridge.process.run.time", clock)
    world.write("work.sh", "touch begun; exec sleep 36000")

    def put_forward() -> bool:
        if (world.project / "begun").exists():
            clock.ahead_s = 3600
        return False

    world.run(
        runs("sh work.sh"),
        submit(),
        agent=definition(allow=("Bash(sh *)",)),
        limits=RunLimits(command_s=36_000),
        is_cancelled=put_forward,
        clock=clock,
    )

    assert results(world)[0].startswith("ended at its time limit")


def test_error_cancelled(world):
    """The cancellation counts, not the failure of the model that was closed for it."""
    cancelled = []

    def closed(_):
        cancelled.append(True)
        raise ModelFailed("model_died", "the model was closed")

    outcome = world.run(closed, is_cancelled=lambda: bool(cancelled))

    assert failure(outcome) == ("cancelled", "the request was cancelled")


def test_error_the_deadline_comes_before_a_cancellation(world):
    """A caller that stops waiting at the deadline has not cancelled anything."""
    outcome = world.run(AT_WORK, seconds=0, is_cancelled=lambda: True)

    assert failure(outcome) == ("timeout", "the deadline passed in turn 1")


def test_cancelling_ends_a_command(world):
    seen = []

    def is_cancelled() -> bool:
        listed = subprocess.run(["ps", "-eo", "args"], stdout=-1, check=True).stdout
        seen.append(b"sleep 36001\n" in listed)
        return any(seen)

    outcome = world.run(
        runs("sleep 36001"),
        submit(),
        agent=definition(allow=("Bash(sleep *)",)),
        limits=RunLimits(command_s=36_000),
        is_cancelled=is_cancelled,
        seconds=36_000,
    )

    assert outcome.verdict.code == "cancelled"
    assert any(seen)


def test_cancelling_stops_a_model_at_work(world):
    """Not only after its turn, which may take minutes."""
    asked = iter([False] * 5)

    outcome = world.run(AT_WORK, is_cancelled=lambda: next(asked, True))

    assert outcome.verdict.code == "cancelled"


def test_cancelling_stops_the_commands_of_a_script(world):
    """It may have many to run, and checks nothing in between."""
    first = world.project / "made-0"
    code = "for i in range(5):\n    run_command('touch made-' + str(i))\n'done'"

    outcome = world.run(
        call("touch"),
        submit(),
        agent=definition(
            script_tools=(script_tool("touch", code),), allow=("Bash(touch *)",)
        ),
        is_cancelled=first.exists,
    )

    assert outcome.verdict.code == "cancelled"
    assert not (world.project / "made-4").exists()


@pytest.mark.parametrize("end", ["cancelled", "timeout"])
def test_a_search_ends_with_the_run(world, end):
    """Inside the tool, not only at the next turn."""
    world.write("a.txt", "x")
    cancelled, clock = [], AheadClock()

    def search(_):
        if end == "cancelled":
            cancelled.append(True)
        else:
            clock.ahead_s = 3600
        return call("search_text", text="x")

    over = {"clock": clock, "is_cancelled": lambda: bool(cancelled)}
    outcome = world.run(search, submit(), **over)

    assert results(world) == ["error: the run is over: no time is left"]
    assert outcome.verdict.code == end


@pytest.mark.parametrize(
    ("said", "code"),
    [("model_died",) * 2, ("bad_request",) * 2, ("odd", "agent_error")],
)
def test_error_of_the_model_keeps_its_code(world, said, code):
    outcome = world.run(ModelFailed(said, "it died"))

    assert failure(outcome) == (code, "it died")
    last = {"event": "error", "turn": 1, "code": code, "message": "it died"}
    assert world.log[-1] == last
