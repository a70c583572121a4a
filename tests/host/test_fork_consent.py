"""Who may ask what a session knows: nobody before its user says so, and no model."""

import json
import re

import pytest
from fakeclaude import SUCCESS, fake_claude, printing, result
from forkworld import ASKED, dropped, ended, forked, share
from hookworld import GOOD

from bridge import Bridge, InvalidRequest, NotShared
from bridge.protocol.ids import check_id
from bridge.worker.executors import open_worker

NOT_SHARED = (
    "no program may see the conversation of a session in {project} (share_conversation)"
)


# Who says yes


def test_without_a_yes_it_ends_by_name(world, program):
    request = dropped(world)

    why = NOT_SHARED.format(project=world.project)
    assert ended(world, request) == ("not_shared", why)
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
    name = "share_conversation"
    for each in (f"BRIDGE_{name.upper()}", name.upper(), name):
        monkeypatch.setenv(each, "1")
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
    file.write_text(file.read_text() + "slots = 0\n")

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
    request, agent = forked(world, maxAttempts=1)
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
    request, agent = forked(world, maxAttempts=1)
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


def asked(world, settings):
    """A program asks what a closed session knows."""
    how = {"context": "session", "route": "claude", "session": CLOSED}
    return Bridge(settings, world.project).submit("Well?", **how)


def served(world, settings, name="dropped", session=CLOSED):
    """A program writes such a request by itself, and `claude -p` serves it."""
    world.drop(name, **ASKED, route="claude", session=session, maxAttempts=1)
    open_worker(world.store, settings, "claude").serve(check_id(name))


@pytest.mark.parametrize("yes", [False, True])
def test_whoever_serves_the_route_claude_obeys_too(world, program, yes):
    """Also where a program has written the request by itself."""
    share(world, yes=yes)
    settings = program.settings.with_(claude="/bin/false")
    kept(world, world.project)
    for name, session in (("by-id", CLOSED), ("by-title", "my-plans")):
        served(world, settings, name, session)

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
        asked(world, settings)
    served(world, settings)

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

    served(world, settings)

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
        asked(world, settings)


def test_a_session_of_a_folder_of_the_project_is_one_of_it(world, program):
    share(world)
    folder = world.project / "src"
    (world.project / ".git").mkdir(exist_ok=True)
    folder.mkdir()
    kept(world, folder)
    settings = program.settings.with_(claude="/bin/false")

    request = asked(world, settings)

    assert world.found(request).request.session == CLOSED
