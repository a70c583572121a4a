"""A fork of the session's conversation as the agent of a request, by hooks alone."""

import pytest
from defining import define
from forkworld import dropped, ended, forked, share

from bridge import InvalidRequest
from bridge.protocol.request import Request


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
    _, agent = forked(world)

    output = world.use(agent, tool)["hookSpecificOutput"]

    assert output["permissionDecision"] == "deny"
    assert output["permissionDecisionReason"].startswith(
        f"hostbridge: a fork of the session has no {tool}."
    )


def test_a_fork_cannot_fork_by_our_tokens(world):
    """Its conversation ends with the offer that started it."""
    request, agent = forked(world)

    output = world.call_agent(f"bridge:{request}", agent_id=agent)

    assert output["permissionDecision"] == "deny"


# The record


def test_the_context_is_part_of_the_question():
    plain = Request(request_id="a", prompt="Well?")

    assert plain.with_(context_from="session").digest != plain.digest


def test_a_key_stands_for_one_context(world, program):
    share(world)
    program.submit("Well?", dedup_key="k", session="session-1")

    with pytest.raises(InvalidRequest, match="it differs in: context"):
        program.submit("Well?", dedup_key="k", context="session")
