"""A fork of the session's conversation as the agent of a request, by hooks alone."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from defining import define
from forkworld import ASKED, dropped, ended, outside, share
from hookworld import GOOD

from bridge import Bridge, InvalidRequest
from bridge.protocol.request import Request
from bridge.protocol.usage import Usage

if TYPE_CHECKING:
    from pathlib import Path

    from hookworld import HookWorld


@pytest.fixture
def program(world: HookWorld) -> Bridge:
    """The bridge of a program that no session has started."""
    return outside(world)


def test_the_call_becomes_that_of_a_fork(world):
    """Without a name: with one it would lose what it knows."""
    share(world)
    request = dropped(world)

    output = world.call_agent(f"bridge:{request}")

    assert output["permissionDecision"] == "allow"
    sent = output["updatedInput"]
    assert set(sent) == {"description", "prompt", "subagent_type"}
    assert sent["subagent_type"] == "fork"
    assert sent["prompt"].startswith("What did we decide?")


def test_the_user_reads_what_is_shown_to_whom(world):
    share(world)
    request = dropped(world, requester="make")

    said = world.say(
        "PreToolUse",
        tool_name="Agent",
        tool_use_id="t1",
        tool_input={"description": "b", "prompt": f"bridge:{request}"},
    )

    line = "hostbridge: make asks general-purpose (context: session)"
    assert said["systemMessage"] == line


# What a fork can be

NO_MODEL = "a fork has the session's own model, not {!r}; leave the model out"
NO_PROMPT = "a fork has the session's own prompt and tools, not those of"
UNFIT = {
    "model": (
        {"model": "haiku"},
        f"{NO_MODEL.format('haiku')}, or have agent 'general-purpose' say inherit",
    ),
    "agent of the client's": (
        {"agentType": "Explore"},
        f"{NO_PROMPT} agent 'Explore'; name no agent, or one that hostbridge defines",
    ),
    "workflow": (
        {"workflow": "careful"},
        "a fork works through no workflow ('careful')",
    ),
    "continued": (
        {"continues": "earlier"},
        "what an agent has answered is continued without it; leave one of them",
    ),
    "asks back": (
        {"mayAsk": True},
        "a fork is asked only once, and so asks nothing back (may_ask)",
    ),
}


@pytest.mark.parametrize("what", UNFIT)
def test_error_what_a_fork_cannot_have(world, what):
    share(world)
    fields, why = UNFIT[what]

    request = dropped(world, **fields)
    world.call_agent(f"bridge:{request}")

    assert ended(world, request) == ("bad_request", f"--context session: {why}")


OF_DEFINITIONS = {
    "subagent_type: Explore\n": "agent 'worker' runs as 'Explore' (subagent_type), and "
    "so as no fork",
    "reuse: true\n": "agent 'worker' is asked again (reuse), and a fork is asked only "
    "once",
    "allow_questions: true\n": "a fork is asked only once, and so asks nothing back "
    "(may_ask)",
    "model: opus\n": f"{NO_MODEL.format('opus')}, or have agent 'worker' say inherit",
}


@pytest.mark.parametrize("more", OF_DEFINITIONS, ids=lambda text: text.split(":")[0])
def test_error_a_definition_that_a_fork_cannot_have(world, program, more):
    """The asker is told at once; of what was dropped, the launch tells."""
    share(world)
    define(world, more)
    why = f"--context session: {OF_DEFINITIONS[more]}"

    with pytest.raises(InvalidRequest) as refused:
        program.submit("Well?", "worker", context="session")
    request = dropped(world, agentType="worker")
    world.call_agent(f"bridge:{request}")

    assert refused.value.what == why
    assert ended(world, request) == ("bad_request", why)


@pytest.mark.parametrize("route", ["local", "endpoint"])
def test_error_a_route_without_conversations(world, program, route):
    share(world)

    with pytest.raises(InvalidRequest) as refused:
        program.submit("Well?", context="session", route=route)

    assert refused.value.what == f"route {route} has no conversation of a session"
    assert refused.value.ways[1] == "a closed one: --route claude --session ID"


def test_error_nothing_to_fall_back_to(world, program):
    share(world)

    with pytest.raises(InvalidRequest, match="nothing to fall back to"):
        program.ask("Well?", context="session", fallback="claude", fallback_after_s=1)


def test_a_definition_holds_for_a_fork(world):
    """Its prompt, tools and limits; our own agent for those that only read is none."""
    share(world)
    define(world, "tools: [Read, Grep]\nmax_turns: 3\nmodel: inherit\n")
    request = dropped(world, agentType="worker")
    call = world.launch(request)
    agent = world.start(call)

    refused = world.use(agent, "Write")["hookSpecificOutput"]

    assert world.prompts[call].startswith("As told: What did we decide?")
    (run,) = world.runs()
    assert (run.max_turns, run.tools) == (3, ("Read", "Grep"))
    assert "keeps Write from it" in refused["permissionDecisionReason"]


@pytest.mark.parametrize("tool", ["AskUserQuestion", "Workflow"])
def test_what_the_main_thread_alone_does(world, tool):
    """A question would be a dialog in the user's terminal."""
    share(world)
    agent = world.start(world.launch(dropped(world)))

    output = world.use(agent, tool)["hookSpecificOutput"]

    assert output["permissionDecision"] == "deny"
    assert output["permissionDecisionReason"].startswith(
        f"hostbridge: a fork of the session has no {tool}."
    )


def test_a_fork_cannot_fork_by_our_tokens(world):
    """Its conversation ends with the offer that started it."""
    share(world)
    request = dropped(world)
    agent = world.start(world.launch(request))

    output = world.call_agent(f"bridge:{request}", agent_id=agent)

    assert output["permissionDecision"] == "deny"


# How it ends


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


def forked(world: HookWorld, agent: str, *, tokens: int = 40_000) -> None:
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
    share(world)
    request = dropped(world)
    agent = world.start(world.launch(request))
    forked(world, agent)
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
    share(world)
    request = dropped(world, maxAttempts=1)
    agent = world.start(world.launch(request))
    forked(world, agent)
    for _ in range(3):
        world.stop(agent, words=None)

    assert ended(world, request)[0] == "empty_answer"


def test_what_the_session_ran_is_no_evidence_of_its_fork(world):
    share(world)
    world.say(
        "PostToolUse",
        tool_name="Bash",
        tool_use_id="toolu_main",
        tool_input={"command": "pytest -q"},
        tool_response={"stdout": "1 passed"},
    )
    request = dropped(world, maxAttempts=1)
    agent = world.start(world.launch(request))
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
    forked(world, agent)
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
    share(world)
    request = dropped(world)
    agent = world.start(world.launch(request))
    forked(world, agent)
    made(world.transcript(agent))

    world.stop(agent, GOOD)

    assert world.code(request) == "success"


def test_its_answer_is_never_given_again(world):
    """The conversation has gone on since."""
    share(world)
    request = dropped(world)
    world.stop(world.start(world.launch(request)), GOOD)
    assert world.code(request) == "success"

    (standing,) = world.bridge.stale([request])

    assert standing.state == "unknown"
    assert [reason.about for reason in standing.reasons] == [
        "its agent knew an earlier conversation"
    ]


def test_an_invalid_answer_is_corrected(world):
    share(world)
    request = dropped(world)
    agent = world.start(world.launch(request))

    said = world.stop(agent, "Well.")
    world.stop(agent, GOOD)

    assert said["decision"] == "block"
    assert world.code(request) == "success"


# The record


def test_the_context_is_part_of_the_question():
    plain = Request(request_id="a", prompt="Well?")

    assert plain.with_(context_from="session").digest != plain.digest


def test_a_key_stands_for_one_context(world, program):
    share(world)
    program.submit("Well?", dedup_key="k", session="session-1")

    with pytest.raises(InvalidRequest, match="it differs in: context"):
        program.submit("Well?", dedup_key="k", context="session")
