"""Who may ask what a session knows: nobody before its user says so, and no model."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import pytest
from defining import define
from fakeclaude import SUCCESS, fake_claude, printing, result
from forkworld import ASKED, another_session, dropped, ended, outside, share
from hookworld import GOOD

from bridge import Bridge, CannotContinue, InvalidRequest, NoHost, NotShared
from bridge.agents.trust import InsideSession
from bridge.protocol.ids import check_id
from bridge.store import idle_agents
from bridge.store.host_process import identify
from bridge.store.sessions import Session
from bridge.worker.executors import open_worker

if TYPE_CHECKING:
    from hookworld import HookWorld

NOT_SHARED = (
    "no program may see the conversation of a session in {project} (share_conversation)"
)


@pytest.fixture
def program(world: HookWorld) -> Bridge:
    """The bridge of a program that no session has started."""
    return outside(world)


# Who says yes


def test_without_a_yes_it_ends_by_name(world, program):
    request = dropped(world)

    assert ended(world, request) == (
        "not_shared",
        NOT_SHARED.format(project=world.project),
    )
    with pytest.raises(NotShared) as refused:
        program.submit("Well?", context="session")
    command = "hostbridge config set --project share_conversation true"
    assert refused.value.ways == (
        f"say yes for this project: `{command}`",
        "ask without --context session",
    )


@pytest.mark.parametrize("whose", ["project", "user"])
def test_a_yes_of_the_user(world, program, whose):
    share(world, whose=whose)

    request = program.submit("Well?", context="session")

    asked = world.found(request).request
    assert (asked.context_from, asked.session) == ("session", "session-1")
    world.say("UserPromptSubmit", prompt="hi")
    assert world.call_agent(f"bridge:{request}")["permissionDecision"] == "allow"


def test_the_project_may_say_no_where_its_user_says_yes(world):
    share(world, whose="user")
    share(world, yes=False)

    assert ended(world, dropped(world))[0] == "not_shared"


def test_no_variable_says_yes(world, program, monkeypatch):
    """Nor do settings that a program has made itself."""
    for name in (
        "BRIDGE_SHARE_CONVERSATION",
        "SHARE_CONVERSATION",
        "share_conversation",
    ):
        monkeypatch.setenv(name, "1")
    own = Bridge(program.settings.with_(share_conversation=True), world.project)

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


@pytest.mark.parametrize("words", [GOOD, "QUAGGA, in prose"], ids=["valid", "invalid"])
def test_a_yes_that_is_taken_back_before_the_answer(world, words):
    """Whoever takes it back while an agent works wants nothing more to be told."""
    share(world)
    request = dropped(world, maxAttempts=1)
    agent = world.start(world.launch(request))
    share(world, yes=False)

    assert world.stop(agent, words) == {}

    code, message = ended(world, request)
    assert (code, message.split(": ", 1)[1]) == (
        "not_shared",
        "the yes was taken back before its agent had answered (share_conversation)",
    )
    assert world.response(request).raw_output == ""
    assert world.store.evidence(request) == []


@pytest.mark.parametrize("how", ["cancelled", "killed"])
def test_after_a_yes_that_is_taken_back_no_words_are_kept(world, program, how):
    """Whoever asks may read what is kept as evidence, and may end the request first."""
    share(world)
    request = dropped(world, maxAttempts=1)
    agent = world.start(world.launch(request))
    world.use(agent)
    share(world, yes=False)
    if how == "cancelled":
        program.cancel(request)
        world.stop(agent)
    else:
        world.notice(agent, "killed", result="QUAGGA, as we decided")

    assert ended(world, request)[0] in ("cancelled", "agent_stopped")
    assert world.response(request).raw_output == ""
    assert world.store.evidence(request) == []


CLOSED = "2a7e1085-53c1-4e35-b1f6-ba690b56d53d"


@pytest.mark.parametrize("yes", [False, True])
def test_whoever_serves_the_route_claude_obeys_too(world, program, yes):
    """Also where a program has written the request by itself."""
    share(world, yes=yes)
    settings = program.settings.with_(claude="/bin/false")
    kept(world, world.project)
    for name, session in (("by-id", CLOSED), ("by-title", "my-plans")):
        world.drop(name, **ASKED, route="claude", session=session, maxAttempts=1)
        open_worker(world.store, settings, "claude").serve(check_id(name))

    codes = [ended(world, name)[0] for name in ("by-id", "by-title")]
    # The program that stands for the client was started for one of them, if at all.
    assert codes == (["agent_error", "bad_request"] if yes else ["not_shared"] * 2)


def kept(world, folder, session=CLOSED):
    """Have the client keep a closed session that was begun in a folder."""
    file = world.home / f".claude/projects/{folder.name}/{session}.jsonl"
    file.parent.mkdir(parents=True)
    lines = ({"type": "queue-operation"}, {"type": "user", "cwd": str(folder)})
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


ELSEWHERE = {
    "other": "did not begin in {project}, but in {project.parent}/other: ask there",
    "project/inner": "did not begin in {project}, but in {project}/inner: ask there",
    "": "No conversation found with session ID",
}


@pytest.mark.parametrize("where", ELSEWHERE)
def test_a_yes_is_for_the_sessions_of_one_project(world, program, where):
    """The client finds a session by its id, whatever the project it is of."""
    share(world)
    settings = program.settings.with_(claude="/bin/false")
    if where:
        folder = world.project.parent / where
        (folder / ".git").mkdir(parents=True)
        kept(world, folder)
    why = ELSEWHERE[where].format(project=world.project)

    with pytest.raises(InvalidRequest, match=re.escape(why)):
        Bridge(settings, world.project).submit(
            "Well?", context="session", route="claude", session=CLOSED
        )
    world.drop("dropped", **ASKED, route="claude", session=CLOSED, maxAttempts=1)
    open_worker(world.store, settings, "claude").serve(check_id("dropped"))

    code, message = ended(world, "dropped")
    assert code == "bad_request"
    assert why in message


def test_a_yes_that_is_taken_back_while_claude_p_answers(world, program, tmp_path):
    """Who waits for the fork of a closed session gets no answer either."""
    file = share(world)
    kept(world, world.project)
    words = printing(result(structured_output=SUCCESS))
    client = fake_claude(
        tmp_path / "bin", f"echo share_conversation = false >{file}\n{words}"
    )
    settings = program.settings.with_(claude=str(client))
    world.drop("dropped", **ASKED, route="claude", session=CLOSED, maxAttempts=1)

    open_worker(world.store, settings, "claude").serve(check_id("dropped"))

    assert ended(world, "dropped")[0] == "not_shared"
    assert world.response("dropped").raw_output == ""


UNKNOWN = {
    "empty": "",
    "relative": '{"cwd": "."}',
    "a NUL": '{"cwd": "/a\\u0000b"}',
    "deep": "[" * 999,
}


@pytest.mark.parametrize("first", UNKNOWN.values(), ids=UNKNOWN)
def test_a_session_of_which_nothing_is_known_is_of_no_project(world, program, first):
    share(world)
    kept(world, world.project)
    [file] = (world.home / ".claude/projects").glob("*/*.jsonl")
    file.write_text(f"{first}\n")
    settings = program.settings.with_(claude="/bin/false")

    with pytest.raises(InvalidRequest, match="as far as is known"):
        Bridge(settings, world.project).submit(
            "Well?", context="session", route="claude", session=CLOSED
        )


def test_a_session_of_a_folder_of_the_project_is_one_of_it(world, program):
    share(world)
    folder = world.project / "src"
    (world.project / ".git").mkdir(exist_ok=True)
    folder.mkdir()
    kept(world, folder)
    settings = program.settings.with_(claude="/bin/false")

    request = Bridge(settings, world.project).submit(
        "Well?", context="session", route="claude", session=CLOSED
    )

    assert world.found(request).request.session == CLOSED


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


def test_a_process_below_a_client_is_refused_without_its_variables(world, program):
    """This one is the client."""
    share(world)
    me = identify(os.getppid())
    session = Session(session_id="session-2", host=me, registered_at=1)
    with world.store.folder("sessions") as folder:
        folder.create("session-2.json", session.to_json())

    with pytest.raises(InsideSession):
        program.submit("Well?", context="session", session="session-1")


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


def test_a_definition_cannot_make_its_agent_a_fork(world, program):
    share(world)
    define(world, "subagent_type: fork\n")

    with pytest.raises(InvalidRequest, match="--context session, without an agent"):
        program.submit("Well?", "worker")
    world.drop("named", agentType="worker", prompt="Well?")
    world.say("UserPromptSubmit", prompt="hi")
    world.call_agent("bridge:named")
    assert world.code("named") == "bad_request"


# Whose conversation


def test_of_several_sessions_one_is_named(world, program):
    share(world)
    with another_session(world):
        with pytest.raises(InvalidRequest) as refused:
            program.submit("Well?", context="session")
        named = program.submit("Well?", context="session", session="session-2")
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


def test_without_a_session_nothing_is_asked(world, program):
    share(world)
    world.say("SessionEnd", reason="other")

    with pytest.raises(NoHost):
        program.submit("Well?", context="session")


def test_what_was_cleared_is_not_asked(world, program):
    """The session goes on, and knows nothing of what was meant."""
    share(world)
    offered, waiting = dropped(world), program.submit("A?", context="session")
    world.session = "session-1b"
    world.say("SessionStart", source="clear")
    world.say("UserPromptSubmit", prompt="hi")

    output = world.call_agent(f"bridge:{offered}")

    assert output["permissionDecision"] == "deny"
    cleared = "its conversation was cleared since, and the session goes on without it"
    for request in (waiting, offered):
        assert ended(world, request) == ("bad_request", f"session session-1: {cleared}")
    with pytest.raises(InvalidRequest, match="goes on as session-1b"):
        program.submit("B?", context="session", session="session-1")


def test_what_needs_no_conversation_outlives_it(world):
    """Any other request goes on in the session that was cleared."""
    world.drop("plain", prompt="Well?", session="session-1")
    world.say("UserPromptSubmit", prompt="hi")
    world.session = "session-1b"
    world.say("SessionStart", source="clear")

    output = world.call_agent("bridge:plain")

    assert output["permissionDecision"] == "allow"
