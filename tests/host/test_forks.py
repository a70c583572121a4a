"""A fork of the session's conversation as the agent of a request, by the hooks alone."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from defining import define
from hookworld import GOOD

from bridge import Bridge, CannotContinue, InvalidRequest, NoHost, NotShared
from bridge.agents.trust import InsideSession
from bridge.protocol.request import Request
from bridge.protocol.usage import Usage
from bridge.store import idle_agents
from bridge.store.host_process import identify
from bridge.store.sessions import Session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookworld import HookWorld

ASKED = {"prompt": "What did we decide?", "contextFrom": "session"}
NOT_SHARED = (
    "no program may see the conversation of a session in {project} (share_conversation)"
)


def share(world: HookWorld, *, yes: bool = True, whose: str = "project") -> Path:
    """Have the user say yes, or no, in a file of settings."""
    folder = (
        world.store.place.state if whose == "project" else world.bridge.settings.home
    )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / "config.toml"
    file.write_text(f"share_conversation = {str(yes).lower()}\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def outside(world: HookWorld) -> Bridge:
    """The bridge of a program that no session has started."""
    settings = world.bridge.settings.with_(host_pid=None, inside_client=False)
    return Bridge(settings, world.project)


@contextmanager
def another_session(world: HookWorld) -> Iterator[None]:
    """A second session in the project."""
    with subprocess.Popen(["sleep", "600"]) as client:
        host = identify(client.pid)
        session = Session(session_id="session-2", host=host, registered_at=1)
        with world.store.folder("sessions") as folder:
            folder.create("session-2.json", session.to_json())
        yield
        client.kill()


def dropped(world: HookWorld, request: str = "dropped", **fields: object) -> str:
    """A request that a program has written by itself, and that was offered if it is."""
    world.drop(request, **{**ASKED, **fields})
    world.say("UserPromptSubmit", prompt="hi")
    return request


def ended(world: HookWorld, request: str) -> tuple[str, str]:
    """How a request has failed: the code and the message."""
    error = world.response(request).error
    assert error is not None
    return error.code, error.message


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


# Who says yes


def test_without_a_yes_it_ends_by_name(world, outside):
    request = dropped(world)

    assert ended(world, request) == (
        "not_shared",
        NOT_SHARED.format(project=world.project),
    )
    with pytest.raises(NotShared) as refused:
        outside.submit("Well?", context="session")
    command = "hostbridge config set --project share_conversation true"
    assert refused.value.ways == (
        f"say yes for this project: `{command}`",
        "ask without --context session",
    )


@pytest.mark.parametrize("whose", ["project", "user"])
def test_a_yes_of_the_user(world, outside, whose):
    share(world, whose=whose)

    request = outside.submit("Well?", context="session")

    asked = world.found(request).request
    assert (asked.context_from, asked.session) == ("session", "session-1")
    world.say("UserPromptSubmit", prompt="hi")
    assert world.call_agent(f"bridge:{request}")["permissionDecision"] == "allow"


def test_the_project_may_say_no_where_its_user_says_yes(world):
    share(world, whose="user")
    share(world, yes=False)

    assert ended(world, dropped(world))[0] == "not_shared"


def test_no_variable_says_yes(world, outside, monkeypatch):
    """Nor do settings that a program has made itself."""
    for name in (
        "BRIDGE_SHARE_CONVERSATION",
        "SHARE_CONVERSATION",
        "share_conversation",
    ):
        monkeypatch.setenv(name, "1")
    own = Bridge(outside.settings.with_(share_conversation=True), world.project)

    assert ended(world, dropped(world))[0] == "not_shared"
    with pytest.raises(NotShared):
        own.submit("Well?", context="session")


@pytest.mark.parametrize("where", [".bridge", ".hostbridge", ".claude", "."])
def test_no_file_of_the_project_says_yes(world, where):
    file = world.project / where / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text("share_conversation = true\n")
    file.chmod(0o600)

    assert ended(world, dropped(world))[0] == "not_shared"


def test_a_file_with_an_error_says_nothing(world):
    file = share(world)
    file.write_text(file.read_text() + "slot = 1\n")

    assert ended(world, dropped(world))[0] == "not_shared"


def test_a_record_cannot_say_yes_for_its_user(world):
    request = dropped(world, approved=True, held=None, share_conversation=True)

    assert ended(world, request)[0] == "not_shared"


def test_a_yes_that_is_taken_back_before_the_call(world):
    share(world)
    request = dropped(world)
    share(world, yes=False)

    output = world.call_agent(f"bridge:{request}")

    assert output["permissionDecision"] == "deny"
    assert ended(world, request)[0] == "not_shared"


# Who may ask

OF_A_MODEL = {
    "an agent": {"parentRequestId": "above", "depth": 1},
    "an agent of some depth": {"depth": 1},
    "an agent of some parent": {"parentRequestId": "above"},
    "a session": {"asker": "session-1"},
}


@pytest.mark.parametrize("who", OF_A_MODEL)
def test_no_model_gets_a_conversation(world, who):
    """Words in what it reads could have it ask."""
    share(world)

    code, message = ended(world, dropped(world, **OF_A_MODEL[who]))

    assert code == "bad_request"
    assert message.startswith("an agent asks, or what a session has started")


def test_what_runs_in_a_session_is_refused(world):
    """Whatever its environment says: the session itself, its agents and their tools."""
    share(world)

    with pytest.raises(InsideSession) as refused:
        world.bridge.submit("Well?", context="session")

    assert refused.value.what == (
        "this runs inside a Claude Code session, whose model could decide; run "
        "`hostbridge ask --context session` in a terminal of your own"
    )


def test_a_process_below_a_client_is_refused_without_its_variables(world, outside):
    """This one is the client."""
    share(world)
    me = identify(os.getppid())
    session = Session(session_id="session-2", host=me, registered_at=1)
    with world.store.folder("sessions") as folder:
        folder.create("session-2.json", session.to_json())

    with pytest.raises(InsideSession):
        outside.submit("Well?", context="session", session="session-1")


def test_a_fork_is_asked_only_once(world):
    """Whoever continues it would have the conversation, too."""
    share(world)
    request = dropped(world)
    world.stop(world.start(world.launch(request)))

    with pytest.raises(CannotContinue, match="a fork of a session"):
        world.bridge.submit("And?", continues=request)
    with world.store.state() as state:
        assert idle_agents.all_idle(state) == []


@pytest.mark.parametrize("name", ["fork", "Fork", "f-ork", "F O R K", "\uff46ork"])
def test_a_fork_by_the_name_of_its_agent(world, name):
    """The client takes such names for its own."""
    share(world)
    world.drop("named", agentType=name, prompt="Well?")
    world.say("UserPromptSubmit", prompt="hi")

    output = world.call_agent("bridge:named")

    assert output["permissionDecision"] == "deny"
    code, message = ended(world, "named")
    assert (code, "--context session" in message) == ("bad_request", True)


def test_a_definition_cannot_make_its_agent_a_fork(world, outside):
    share(world)
    define(world, "subagent_type: fork\n")

    with pytest.raises(InvalidRequest, match="--context session, without an agent"):
        outside.submit("Well?", "worker")
    world.drop("named", agentType="worker", prompt="Well?")
    world.say("UserPromptSubmit", prompt="hi")
    world.call_agent("bridge:named")
    assert world.code("named") == "bad_request"


# Whose conversation


def test_of_several_sessions_one_is_named(world, outside):
    share(world)
    with another_session(world):
        with pytest.raises(InvalidRequest) as refused:
            outside.submit("Well?", context="session")
        named = outside.submit("Well?", context="session", session="session-2")
        code, message = ended(world, dropped(world))
        request = dropped(world, "named", session="session-1")

    several = (
        "2 sessions are open here, each with a conversation of its own; name the one "
        "that is meant: --session session-1 or --session session-2"
    )
    assert refused.value.what == several
    assert (code, message) == ("bad_request", several)
    assert world.found(named).request.session == "session-2"
    assert world.found(request).request.claim.session == "session-1"


def test_without_a_session_nothing_is_asked(world, outside):
    share(world)
    world.say("SessionEnd", reason="other")

    with pytest.raises(NoHost):
        outside.submit("Well?", context="session")


def test_what_was_cleared_is_not_asked(world, outside):
    """The session goes on, and knows nothing of what was meant."""
    share(world)
    offered, waiting = dropped(world), outside.submit("A?", context="session")
    world.session = "session-1b"
    world.say("SessionStart", source="clear")
    world.say("UserPromptSubmit", prompt="hi")

    output = world.call_agent(f"bridge:{offered}")

    assert output["permissionDecision"] == "deny"
    cleared = "its conversation was cleared since, and the session goes on without it"
    for request in (waiting, offered):
        assert ended(world, request) == ("bad_request", f"session session-1: {cleared}")
    with pytest.raises(InvalidRequest, match="goes on as session-1b"):
        outside.submit("B?", context="session", session="session-1")


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
    "model: opus\n": f"{NO_MODEL.format('opus')}, or have agent 'worker' say inherit",
}


@pytest.mark.parametrize("more", OF_DEFINITIONS, ids=lambda text: text.split(":")[0])
def test_error_a_definition_that_a_fork_cannot_have(world, outside, more):
    """The asker is told at once; of what was dropped, the launch tells."""
    share(world)
    define(world, more)
    why = f"--context session: {OF_DEFINITIONS[more]}"

    with pytest.raises(InvalidRequest) as refused:
        outside.submit("Well?", "worker", context="session")
    request = dropped(world, agentType="worker")
    world.call_agent(f"bridge:{request}")

    assert refused.value.what == why
    assert ended(world, request) == ("bad_request", why)


@pytest.mark.parametrize("route", ["local", "endpoint"])
def test_error_a_route_without_conversations(world, outside, route):
    share(world)

    with pytest.raises(InvalidRequest) as refused:
        outside.submit("Well?", context="session", route=route)

    assert refused.value.what == f"route {route} has no conversation of a session"
    assert refused.value.ways[1] == "a closed one: --route claude --session ID"


def test_error_nothing_to_fall_back_to(world, outside):
    share(world)

    with pytest.raises(InvalidRequest, match="nothing to fall back to"):
        outside.ask("Well?", context="session", fallback="claude", fallback_after_s=1)


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


def test_a_key_stands_for_one_context(world, outside):
    share(world)
    outside.submit("Well?", dedup_key="k", session="session-1")

    with pytest.raises(InvalidRequest, match="it differs in: context"):
        outside.submit("Well?", dedup_key="k", context="session")
