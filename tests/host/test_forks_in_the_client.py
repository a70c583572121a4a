"""What the session knows, asked by a program, in the real client."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import forkserver
import pytest
from claudeworld import answered, ask, submits
from hostworld import DIALOG, HostWorld, bash, code_of, host_world

from bridge.protocol.response import Response
from bridge.protocol.usage import Usage
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import Answer, reply, tool_use
from bridge.testing.stage.stream import StreamSession
from bridge.testing.stage.terminal import TerminalSession
from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

PLANTED = "The cache will be called QUAGGA."
QUESTION = "How will the cache be called, in OKAPI?"
SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}},
}
# Whatever happens inside a session.
EVENTS = (
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest",
    "SubagentStart", "SubagentStop", "UserPromptSubmit",
)  # fmt: skip


def share(world: HostWorld, project: Path | None = None) -> None:
    """Have the user say yes for a project, by default the session's."""
    said = forkserver.run(
        ["config", "set", "--project", "share_conversation", "true"],
        cwd=project or world.stage.project,
        env=world.stage.environment(),
    )
    assert said.code == 0, said


def own_words(request: ApiRequest) -> str:
    """What a model has said since it became a fork, or in all."""
    spoken = json.dumps(request.messages)
    return spoken.rpartition("that fork is you")[2]


def knowing(_prompt: str, request: ApiRequest) -> Answer:
    """A subagent that tells the planted word, if it was ever said to it.

    In a form that nobody has asked for at first, if it is to be corrected.
    """
    words = json.dumps(request.messages)
    name = "QUAGGA" if "QUAGGA" in words else "no idea"
    if "could not use this answer" not in own_words(request):
        return reply(f"{name}, and MARKHOR.", tokens_in=3, tokens_cached=7000)
    return reply(json.dumps({"name": f"{name} MARKHOR"}), tokens_in=2, tokens_out=4)


@contextmanager
def opened(world: HostWorld, how: str) -> Iterator[StreamSession | TerminalSession]:
    """A session in which the word has been said."""
    with world.terminal() if how == "terminal" else world.stream(mode=how) as session:
        say(world, session, PLANTED)
        yield session


def say(
    world: HostWorld, session: StreamSession | TerminalSession, prompt: str
) -> ApiRequest:
    """Have the user say something; the request that the model gets."""
    if isinstance(session, TerminalSession):
        session.submit(prompt)
    else:
        session.ask(prompt, timeout_s=300)
    return world.api.wait_for(
        lambda turn: turn.role == "main" and turn.last_user_text == prompt
    )


def hooks_of(world: HostWorld, response: Response, call: str) -> Counter[str]:
    """How often each event came that is an agent's."""
    marks = (str(response.agent_id), call)
    return Counter(
        event["hook_event_name"]
        for event in world.events
        if any(mark in json.dumps(event) for mark in marks)
    )


@pytest.mark.parametrize("how", ["default", "auto", "terminal"])
def test_a_fork_knows_what_was_said(tmp_path, how):
    """And nobody else: neither another agent, nor the session what it was asked."""
    model = obedient_model(knowing)
    with host_world(tmp_path, model, record=EVENTS) as world:
        share(world)
        with opened(world, how) as session:
            (sid,) = {each.session_id for each in world.live()}
            ids = [
                world.submit(QUESTION, schema=SCHEMA, **fields)
                for fields in ({}, {"context": "session"})
            ]
            plain, fork = (world.ended(each) for each in ids)
            world.wait_until_forgotten()
            say(world, session, "And now something else.")
            screen = session.screen() if how == "terminal" else ""
            (spending,) = (each.spending for each in world.live())
        asked = [world.bridge.status(each).request for each in ids]

    assert plain.parsed_output == {"name": "no idea MARKHOR"}
    assert fork.parsed_output == {"name": "QUAGGA MARKHOR"}
    # Its first answer was no JSON: it was corrected, as any agent is.
    assert [each.claim.corrections for each in asked] == [1, 1]
    assert (asked[1].context_from, asked[1].session) == ("session", sid)
    words = world.main_words()
    assert "And now something else." in words
    assert "OKAPI" not in words
    assert "MARKHOR" not in words
    assert not any(mark in screen for mark in (*DIALOG, "OKAPI", "MARKHOR"))
    # Only its own two turns count; against budgets, the conversation once, too.
    own = Usage(input_tokens=5, output_tokens=5, cache_read_tokens=7000, requests=2)
    assert fork.usage == own
    assert 7010 in {each.tokens for each in spending.charges.values()}
    calls = [each.claim.tool_use_id for each in asked]
    counts = [
        hooks_of(world, response, call)
        for response, call in zip((plain, fork), calls, strict=True)
    ]
    assert counts[1].total() <= counts[0].total(), counts
    assert counts[1].keys() <= counts[0].keys()


def test_one_shot(tmp_path):
    """In the foreground: the turn waits for it, and hears nothing."""
    with host_world(tmp_path, obedient_model(knowing)) as world:
        share(world)
        request = world.drop(prompt=QUESTION, contextFrom="session", schema=SCHEMA)
        printed = world.print(PLANTED)
        response = world.ended(request, timeout_s=0)

    assert response.parsed_output == {"name": "QUAGGA MARKHOR"}
    assert printed.text == "ok"
    assert "MARKHOR" not in world.main_words()


@pytest.mark.parametrize(
    "refusal", ["denied", pytest.param("switched off", marks=pytest.mark.full)]
)
def test_a_client_without_forks(tmp_path, refusal):
    """Named at once, and not tried again."""
    env = {"CLAUDE_CODE_FORK_SUBAGENT": "0"} if refusal == "switched off" else {}
    with host_world(tmp_path, obedient_model(knowing), env=env) as world:
        share(world)
        if refusal == "denied":
            world.rule("deny", "Agent(fork)")
        with opened(world, "default"):
            request = world.submit(QUESTION, context="session")
            response = world.ended(request)
        asked = world.bridge.status(request).request

    assert code_of(response) == "no_fork"
    assert "fork" in response.error.message
    assert (asked.attempt, asked.failures) == (0, ())
    assert world.api.turns("subagent") == []


def test_an_agent_that_forks_itself_gets_no_conversation_of_the_session(tmp_path):
    """Only what it was told itself: nobody has to keep the tool from it."""
    inner = {"description": "n", "prompt": "MARKHOR", "subagent_type": "fork"}

    def forking(_prompt, request):
        is_fork = "that fork is you" in json.dumps(request.messages)
        if not (is_fork or request.own_calls):
            return reply(tool_use("Agent", inner))
        return reply('{"status": "success", "summary": "s"}')

    with host_world(tmp_path, obedient_model(forking)) as world:
        with opened(world, "default"):
            response = world.ended(world.submit(QUESTION))

    turns = world.api.turns("subagent")
    assert response.success
    assert len({turn.agent_id for turn in turns}) == 2
    assert any(turn.contains("that fork is you") for turn in turns)
    assert not any(turn.contains("QUAGGA") for turn in turns)


def test_a_fork_at_a_terminal_raises_no_dialog(tmp_path):
    """It has the main thread's tools: a question of its own, too."""
    question = {
        "question": "Really?",
        "header": "h",
        "options": [{"label": each, "description": each} for each in "ab"],
        "multiSelect": False,
    }
    turns = (
        reply(tool_use("AskUserQuestion", {"questions": [question]})),
        reply(tool_use("Write", {"file_path": "made", "content": "x"})),
        reply('{"status": "blocked", "summary": "MARKHOR"}'),
    )

    def asking(_prompt, request):
        return turns[own_words(request).count('"role": "assistant"')]

    with host_world(tmp_path, obedient_model(asking)) as world:
        share(world)
        with opened(world, "terminal") as session:
            response = world.ended(world.submit(QUESTION, context="session"))
            screen = session.screen()
        made = (world.stage.project / "made").exists()
        log = world.store.history(response.request_id)

    assert code_of(response) == "agent_blocked"
    assert not any(mark in screen for mark in (*DIALOG, "Really?"))
    assert not made
    refused = [each.get("call") for each in log if each.get("event") == "refused"]
    assert refused == ["AskUserQuestion", "Write"]


def test_a_closed_session(tmp_path):
    """`claude -p` forks it: the conversation stays as it was, and no other is kept."""

    def script(request):
        if "StructuredOutput" not in request.tools:
            return reply("ok", tokens_in=1000)
        knows = "QUAGGA" in json.dumps(request.messages)
        answer = {"name": "QUAGGA" if knows else "no idea"}
        return reply(*submits(answer).blocks, tokens_in=5, tokens_cached=500)

    asked = (QUESTION, "--context", "session", "--schema", json.dumps(SCHEMA))
    with host_world(tmp_path, script) as world:
        with world.stream() as session:
            session.ask(PLANTED, timeout_s=300)
            (sid,) = {each.session_id for each in world.live()}
        refused = ask(world, *asked, "--session", sid)
        share(world)
        before = transcripts(world)
        found = answered(ask(world, *asked, "--session", sid))
        unknown = ask(world, *asked, "--session", sid[:-4] + "0000")
        # The client itself would find it from there.
        inner = world.stage.project / "inner"
        (inner / ".git").mkdir(parents=True)
        share(world, inner)
        elsewhere = ask(world, *asked, "--session", sid, folder=inner)
        after = transcripts(world)

    assert answered(refused)["error"]["code"] == "not_shared"
    assert found["parsedOutput"] == {"name": "QUAGGA"}
    assert (found["usage"]["inputTokens"], found["usage"]["requests"]) == (5, 1)
    assert answered(unknown)["error"]["code"] == "bad_request"
    assert "No conversation found" in unknown.stderr
    assert answered(elsewhere)["error"]["code"] == "bad_request"
    assert f"did not begin in {inner}, but in" in elsewhere.stderr
    assert before == after


def transcripts(world: HostWorld) -> dict[str, bytes]:
    """What the client has written down of conversations."""
    folder = world.stage.home / ".claude" / "projects"
    return {str(file): file.read_bytes() for file in folder.rglob("*.jsonl")}


def busy(request: ApiRequest) -> Answer | None:
    """A fork that goes on and on."""
    return bash(f"sleep 0.2 # {len(request.messages)}")


def make_overdue(world: HostWorld, request: str) -> None:
    """Its time is up now: how soon its agent begins is up to the machine."""
    file = world.store.place.state / "processing" / f"{request}.json"
    with world.store.exclusive():
        record = json.loads(file.read_text()) | {"createdAt": 1, "uptime": None}
        file.write_text(json.dumps(record))


ENDS = {
    "cancelled": ({}, "cancelled"),
    "overdue": ({}, "timeout"),
    "its turns are up": ({"agent": "brief"}, "turn_limit"),
}


def test_every_end_is_a_typed_response(tmp_path):
    """The forks stop, and the session goes on."""
    model = obedient_model(lambda _, request: busy(request))
    with host_world(tmp_path, model) as world:
        share(world)
        world.allow("Bash")
        world.define("brief", "description: d\nmax_turns: 2\n")
        with opened(world, "default") as session:
            asked = {
                end: world.submit(QUESTION, context="session", **fields)
                for end, (fields, _) in ENDS.items()
            }
            for end, request in asked.items():
                world.wait_for_run(request)
                if end == "cancelled":
                    world.bridge.cancel(request)
                if end == "overdue":
                    make_overdue(world, request)
            codes = {end: code_of(world.ended(each)) for end, each in asked.items()}
            world.wait_until_forgotten()
            say(world, session, "Go on.")

    assert codes == {end: code for end, (_, code) in ENDS.items()}
    assert "OKAPI" not in world.main_words()
