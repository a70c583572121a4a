"""How a fork of the session's conversation ends, and what counts of it."""

import json
import os
from pathlib import Path

import pytest
from forkworld import ASKED, dropped, ended, forked, share
from hookworld import GOOD, HookWorld

from bridge.protocol.usage import Usage

pytestmark = pytest.mark.slow


NO_FORK = (
    "Agent type 'fork' not found. Available agents: claude, Explore, general-purpose",
    "Agent type 'fork' has been denied by permission rule 'Agent(fork)' from settings.",
)


@pytest.mark.parametrize("error", NO_FORK, ids=["unknown", "denied"])
def test_error_a_client_without_forks(world, error):
    """At once: it would be so again."""
    share(world)
    request = dropped(world)
    call = world.launch(request)

    world.say("PostToolUseFailure", tool_name="Agent", tool_use_id=call, error=error)

    assert ended(world, request) == (
        "no_fork",
        f"the session's client cannot fork its conversation: {error}",
    )
    assert world.found(request).request.failures == ()


def with_conversation(world: HookWorld, agent: str, *, tokens: int = 40_000) -> None:
    """Put before an agent's transcript what the client puts before a fork's."""
    file = world.transcript(agent)
    prompt = file.read_text()
    reference = {"type": "fork-context-ref", "agentId": agent, "contextLength": 41}
    file.write_text(json.dumps(reference, separators=(",", ":")) + "\n")
    world.took(agent, "of the session", tokens)
    with file.open("a") as more:
        more.write(prompt)


def test_only_its_own_messages_count(world):
    """The conversation counts once against budgets, though a cache had it."""
    request, agent = forked(world)
    with_conversation(world, agent)
    cached = {"input_tokens": 5, "cache_read_input_tokens": 30_000, "output_tokens": 1}
    world.took(agent, "m1", 0, usage=cached)
    world.took(agent, "m2", 0, usage=cached)
    world.stop(agent)

    response = world.response(request)

    assert response.usage == Usage(
        input_tokens=10, cache_read_tokens=60_000, output_tokens=2, requests=2
    )
    (session,) = world.live()
    (charge,) = session.spending.charges.values()
    assert charge.tokens == 30_012


def test_what_the_session_said_last_is_no_answer(world):
    """A fork that says nothing has not answered, whatever stands before it."""
    request, agent = forked(world, maxAttempts=1)
    with_conversation(world, agent)
    for _ in range(3):
        world.stop(agent, words=None)

    assert ended(world, request)[0] == "empty_answer"


def test_what_the_session_ran_is_no_evidence_of_its_fork(world):
    world.say(
        "PostToolUse",
        tool_name="Bash",
        tool_use_id="toolu_main",
        tool_input={"command": "pytest -q"},
        tool_response={"stdout": "1 passed"},
    )
    request, agent = forked(world, maxAttempts=1)
    claim = {"type": "command", "content": "1 passed", "command": "pytest -q"}
    words = json.dumps({"status": "success", "summary": "s", "evidence": [claim]})
    for _ in range(3):
        world.stop(agent, words)

    assert ended(world, request)[0] == "unverified"


@pytest.mark.parametrize("whole", [True, False], ids=["all", "what was asked"])
def test_an_echo_of_its_prompt_is_no_answer(world, whole):
    """It quotes what it was given, or the question as it stands in the prompt."""
    share(world)
    request = dropped(world, maxAttempts=1)
    call = world.launch(request)
    agent = world.start(call)
    with_conversation(world, agent)
    for _ in range(3):
        world.stop(agent, world.prompts[call] if whole else ASKED["prompt"])

    assert ended(world, request)[0] == "prompt_echo"
    assert world.response(request).parsed_output is None


def a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def a_link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/dev/zero")


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def deep(file: Path) -> None:
    file.write_text('{"message":' * 100_000 + "\n" + file.read_text())


def one_line(file: Path) -> None:
    """As long as any transcript that is read, and not over."""
    file.write_bytes(b'{"type":"assistant","message":"' + b"x" * (64 << 20))


def strange_usage(file: Path) -> None:
    usage = {"input_tokens": 10**30, "output_tokens": -1, "x": [1]}
    message = {"role": "assistant", "id": [1], "content": 5, "usage": usage}
    with file.open("a") as more:
        more.write(json.dumps({"type": "assistant", "message": message}) + "\n")
        more.write('{"type":"fork-context-ref","contextLength":"many"}\n')
        more.write("[]\n5\nnull\n")


TRANSCRIPTS = (a_pipe, a_link, a_folder, deep, one_line, strange_usage)


@pytest.mark.parametrize("made", TRANSCRIPTS, ids=lambda made: made.__name__)
def test_a_strange_transcript_costs_a_fork_no_answer(world, made):
    """The client writes it as the hooks read; it belongs to nobody else."""
    request, agent = forked(world)
    with_conversation(world, agent)
    made(world.transcript(agent))

    world.stop(agent, GOOD)

    assert world.code(request) == "success"


def test_its_answer_is_never_given_again(world):
    """The conversation has gone on since."""
    request, agent = forked(world)
    world.stop(agent)
    assert world.code(request) == "success"

    (standing,) = world.bridge.stale([request])

    assert standing.state == "unknown"
    (reason,) = standing.reasons
    assert reason.about == "its agent knew an earlier conversation"


def test_an_invalid_answer_is_corrected(world):
    request, agent = forked(world)

    said = world.stop(agent, "Well.")
    world.stop(agent, GOOD)

    assert said["decision"] == "block"
    assert world.code(request) == "success"
