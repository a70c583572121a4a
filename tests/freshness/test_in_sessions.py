"""What an agent of a session looked at, as hooks see it."""

from __future__ import annotations

import json
import os
import re
import resource
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from cachedworld import TICK_S
from hookworld import HookWorld, hook_world

from bridge import CannotWaitHere
from bridge.host import call_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.protocol.ids import RequestId


@pytest.fixture
def session(tmp_path, monkeypatch) -> Iterator[HookWorld]:
    with hook_world(tmp_path, monkeypatch) as world:
        write(world, "src/a.py")
        yield world


def write(world: HookWorld, path: str, text: str = "one\n") -> None:
    file = world.project / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def answered(world: HookWorld, *calls: tuple[str, dict[str, Any]]) -> RequestId:
    """Ask; the agent makes these calls and answers."""
    time.sleep(TICK_S)
    request, _call, agent = world.begin(prompt="Look.")
    for tool, tool_input in calls:
        call = {"tool_name": tool, "tool_use_id": f"toolu_{tool}"}
        fields = {**call, "tool_input": tool_input, "agent_id": agent}
        assert world.say("PreToolUse", **fields) == {}
        world.say("PostToolUse", **fields, tool_response={})
    world.stop(agent)
    assert world.code(request) == "success"
    time.sleep(TICK_S)
    return request


def reads(world: HookWorld, path: str) -> tuple[str, dict[str, Any]]:
    return "Read", {"file_path": str(world.project / path)}


def reasons(world: HookWorld) -> list[str]:
    (standing,) = world.bridge.stale()
    return [f"{reason.what}: {reason.about}" for reason in standing.reasons]


def is_reused(world: HookWorld) -> bool:
    """Whether the question has an answer at once; the session answers no other."""
    try:
        return world.bridge.ask("Look.", cached=True).cached
    except CannotWaitHere:
        return False


def test_an_answer_is_reused_while_what_was_read_is_the_same(session):
    request = answered(session, reads(session, "src/a.py"))
    write(session, "other.txt")
    assert is_reused(session)
    assert session.bridge.ask("Look.", cached=True).request_id == request

    write(session, "src/a.py", "two\n")

    assert reasons(session) == ["changed: src/a.py"]
    assert not is_reused(session)


CALLS = {
    "Glob": ("Glob", {"pattern": "src/**/*.py"}),
    "Glob, absolute": ("Glob", {"pattern": "PROJECT/src/*.{py,pyi}"}),
    "Grep": ("Grep", {"pattern": "one", "path": "src", "glob": "*.{py,pyi}"}),
    "Grep, a file": ("Grep", {"pattern": "one", "path": "PROJECT/src/a.py"}),
    "Bash": ("Bash", {"command": "ls"}),
}
NEW = {
    "Glob": ["added: src/new.py"],
    "Glob, absolute": ["added: src/new.py"],
    "Grep": ["added: src/new.py"],
    "Grep, a file": [],
    "Bash": ["added: src/new.py"],
}


@pytest.mark.parametrize("name", CALLS)
def test_a_new_file_is_noticed_by_whoever_would_have_found_it(session, name):
    tool, arguments = CALLS[name]
    given = json.loads(json.dumps(arguments).replace("PROJECT", str(session.project)))
    answered(session, (tool, given))
    assert is_reused(session)

    write(session, "src/new.py")

    assert reasons(session) == NEW[name]
    assert is_reused(session) == (NEW[name] == [])


OUTSIDE = {
    "WebFetch": {"url": "http://localhost/"},
    "WebSearch": {"query": "x"},
    "mcp__some__tool": {},
    "Skill": {"skill": "x"},
    "Tomorrow": {},
}


@pytest.mark.parametrize("tool", OUTSIDE)
def test_what_reaches_outside_is_never_relied_on(session, tool):
    """Also a tool that nobody here knows."""
    answered(session, reads(session, "src/a.py"), (tool, OUTSIDE[tool]))

    assert reasons(session) == [
        f"unknown: it rests on something that cannot be checked: {tool}"
    ]
    assert not is_reused(session)


@pytest.mark.parametrize("tool", ["Edit", "Write", "NotebookEdit"])
def test_an_agent_that_was_to_change_files_is_asked_again(session, tool):
    answered(session, (tool, {"file_path": str(session.project / "x")}))

    assert reasons(session) == [
        f"unknown: its agent changed files: that was an action, no reading: {tool}"
    ]
    assert not is_reused(session)


def test_a_file_that_was_changed_and_put_back_while_the_agent_worked_is_noticed(
    session,
):
    """The agent may have read it in between, whatever its time and size say."""
    file = session.project / "src/a.py"
    time.sleep(TICK_S)
    request, _call, agent = session.begin(prompt="Look.")
    tool, arguments = reads(session, "src/a.py")
    session.use(agent, tool, tool_input=arguments)
    before = file.stat()
    time.sleep(TICK_S)
    file.write_text("two\n")
    file.write_text("one\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    session.stop(agent)

    assert session.code(request) == "success"
    assert reasons(session) == [
        "unknown: something that it rests on changed while the agent worked: src/a.py"
    ]


@pytest.mark.parametrize("seconds", [-7200, 7200])
def test_a_clock_that_is_set_while_the_agent_works_hides_no_change(session, seconds):
    time.sleep(TICK_S)
    _request, _call, agent = session.begin(prompt="Look.")
    session.use(agent, "Grep", tool_input={"pattern": "one", "path": "src"})
    time.sleep(TICK_S)
    write(session, "src/a.py", "two\n")
    session.set_clock(seconds)
    session.stop(agent)

    (reason,) = reasons(session)
    assert reason.startswith("unknown: something that it rests on changed while")


MEMORY = [
    "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/x/y.md",
    ".claude/skills/s/SKILL.md", ".claude/agent-memory/a/MEMORY.md",
]  # fmt: skip


@pytest.mark.parametrize("file", MEMORY)
def test_what_the_client_puts_into_every_prompt_counts(session, file):
    answered(session)
    assert is_reused(session)

    write(session, file)

    assert reasons(session) == [f"added: {file}"]


USERS = {
    "the user's": "home/.claude/CLAUDE.md",
    "a rule of the user's": "home/.claude/rules/x.md",
    "a folder above": "CLAUDE.md",
    "the client's own": "home/.claude/projects/{}/memory/MEMORY.md",
    "a rule of hostbridge": "home/.hostbridge/rules.yaml",
    "a rule set": "home/.hostbridge/rules/strict.yaml",
}


@pytest.mark.parametrize("name", USERS)
def test_what_the_client_is_told_outside_of_the_project_counts(session, name):
    """It is in the agent's prompt, whoever wrote it, and where."""
    answered(session)
    assert is_reused(session)

    slug = re.sub(r"[^A-Za-z0-9]", "-", str(session.project))
    write(session, f"../{USERS[name].format(slug)}", "PreToolUse: []\n")

    (reason,) = reasons(session)
    assert reason.startswith("added: /")
    assert not is_reused(session)


def test_what_memory_imports_counts(session):
    """As the client reads it, without a call of the agent's."""
    write(session, "CLAUDE.md", "See @docs/style.md, and @me in the chat.\n")
    write(session, "docs/style.md", "@deep.md\n")
    write(session, "docs/deep.md")
    session.start_again()
    answered(session)
    assert is_reused(session)

    write(session, "docs/deep.md", "two\n")

    assert reasons(session) == ["changed: docs/deep.md"]
    assert not is_reused(session)


def test_memory_beside_a_file_that_was_read_counts(session):
    answered(session, reads(session, "src/a.py"))
    assert is_reused(session)

    write(session, "src/CLAUDE.md")

    assert reasons(session) == ["added: src/CLAUDE.md"]


def test_a_projects_rules_count_and_whether_they_are_trusted(session):
    write(session, ".bridge/rules.yaml", "PreToolUse: []\n")
    answered(session)
    assert is_reused(session)

    (session.home / ".hostbridge/trust.json").write_text("{}\n")

    (reason,) = reasons(session)
    assert reason.endswith("/.hostbridge/trust.json")
    write(session, ".bridge/rules.yaml", "PreToolUse: []\n\n")
    assert reasons(session)[0] == "changed: .bridge/rules.yaml"


def test_an_answer_of_the_model_that_the_session_had_is_not_reused(session):
    """After `/model`, which starts no turn and asks nobody."""
    answered(session)
    assert is_reused(session)

    session.say("PostModelSwitch", from_model="claude-m-1", to_model="claude-m-2")

    assert reasons(session) == [
        "model: claude-m-1 gave it, and the session has claude-m-2"
    ]
    assert not is_reused(session)
    session.say("PostModelSwitch", from_model="claude-m-2", to_model="claude-m-1")
    assert reasons(session) == []


def test_an_answer_of_a_model_that_was_named_holds_whatever_the_session_has(session):
    time.sleep(TICK_S)
    _request, _call, agent = session.begin(prompt="Look.", model="haiku")
    session.stop(agent)

    session.say("PostModelSwitch", from_model="claude-m-1", to_model="claude-m-2")

    assert reasons(session) == []


def test_a_model_that_was_switched_while_the_agent_worked_gave_no_answer_yet(session):
    """The agent began with the other one."""
    time.sleep(TICK_S)
    _request, _call, agent = session.begin(prompt="Look.")
    session.say("PostModelSwitch", from_model="claude-m-1", to_model="claude-m-2")
    session.stop(agent)

    assert reasons(session) == [
        "model: claude-m-1 gave it, and the session has claude-m-2"
    ]


def test_an_answer_of_a_model_that_nobody_knows_is_not_reused(session):
    """A client that does not say which model it has, or did not then."""
    session.say("PostModelSwitch", from_model="claude-m-1")
    answered(session)

    assert reasons(session) == ["model: which model gave it is not known"]
    assert not is_reused(session)


def test_a_session_that_does_not_say_its_model_has_one_of_its_own(session):
    """As with stream-json: until the client tells of a switch."""
    session.say("SessionEnd", reason="other")
    session.session = "session-untold"
    session.say("SessionStart", source="startup")
    answered(session)
    assert is_reused(session)

    session.say("SessionEnd", reason="other")
    session.session = "session-other"
    session.say("SessionStart", source="startup")

    assert reasons(session) == [
        (
            "model: the first of session session-untold gave it, and the session has "
            "the first of session session-other"
        )
    ]


def test_where_no_session_is_open_no_other_model_could_answer(session):
    request = answered(session)
    session.say("PostModelSwitch", from_model="claude-m-1", to_model="claude-m-2")
    session.say("SessionEnd", reason="other")

    assert session.bridge.ask("Look.", cached=True).request_id == request


def test_the_clients_agent_that_a_definition_runs_as_counts(session):
    """The project may define it, and hostbridge's definition says only its name."""
    define = session.home / ".hostbridge/agents/terse.yaml"
    define.parent.mkdir(mode=0o700, exist_ok=True)
    define.write_text("name: terse\nprompt: '{{ task }}'\nsubagent_type: keen\n")
    time.sleep(TICK_S)
    _request, _call, agent = session.begin(prompt="Look.", agent="terse")
    session.stop(agent)
    assert reasons(session) == []

    write(session, ".claude/agents/keen.md", "---\nname: keen\n---\nBe keen.\n")

    assert reasons(session) == ["added: .claude/agents/keen.md"]


def test_the_commit_counts_for_a_command_and_for_nobody_else(session):
    """`git log` tells of it; reading a file does not."""
    write(session, ".git/HEAD", "ref: refs/heads/main\n")
    write(session, ".git/refs/heads/main", "1" * 40)
    answered(session, ("Bash", {"command": "git log"}))
    assert is_reused(session)

    write(session, ".git/refs/heads/main", "2" * 40)

    assert reasons(session) == ["changed: .git/refs/heads/main"]


def test_a_denied_call_is_no_look(session):
    """It did not run."""
    define = session.home / ".hostbridge/agents/terse.yaml"
    define.parent.mkdir(mode=0o700, exist_ok=True)
    define.write_text("name: terse\nprompt: '{{ task }}'\ntools: [Read]\n")
    time.sleep(TICK_S)
    request, _call, agent = session.begin(prompt="Look.", agent="terse")
    tool, arguments = reads(session, "src/a.py")
    session.use(agent, tool, tool_input=arguments)
    denied = session.use(agent, "WebFetch", tool_input={"url": "http://localhost"})
    session.stop(agent)

    assert denied["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert session.code(request) == "success"
    assert reasons(session) == []


def test_an_answer_that_cannot_be_kept_is_an_answer(session):
    """It is never reused, and nothing else."""
    (session.store.place.state / "reads").write_text("in the way")
    request, _call, agent = session.begin(prompt="Look.")
    session.stop(agent)

    assert session.code(request) == "success"


def test_the_second_answer_of_an_agent_is_not_reused(session):
    """It knew what it had read for the first."""
    define = session.home / ".hostbridge/agents/terse.yaml"
    define.parent.mkdir(mode=0o700, exist_ok=True)
    define.write_text("name: terse\nprompt: '{{ task }}'\nreuse: true\n")
    first, agent = session.answered(prompt="First.", agent="terse")
    second = session.submit("Look.", agent="terse")
    session.say("UserPromptSubmit", prompt="hello")
    call, output = session.send(second, agent)
    session.resume(call, agent, output)
    session.stop(agent, '{"status": "success", "summary": "t"}')
    assert session.code(second) == "success"

    (standing,) = session.bridge.stale([second])

    assert [reason.about for reason in standing.reasons] == [
        "its agent knew an earlier conversation"
    ]
    assert session.bridge.stale([first])[0].state == "fresh"


def test_a_call_of_which_there_is_no_note_is_never_relied_on(session):
    """The disk was full, or the client stopped the hook: who knows what it read."""
    time.sleep(TICK_S)
    request, _call, agent = session.begin(prompt="Look.")
    tool, arguments = reads(session, "src/a.py")
    use = {"type": "tool_use", "id": "toolu_lost", "name": tool, "input": arguments}
    session.writes(agent, use)
    session.stop(agent)

    assert session.code(request) == "success"
    assert reasons(session) == [
        (
            "unknown: it rests on something that cannot be checked: a call of Read "
            "that was not noted"
        )
    ]
    assert not is_reused(session)


def test_calls_that_were_noted_or_refused_are_known_by_their_ids(session):
    define = session.home / ".hostbridge/agents/terse.yaml"
    define.parent.mkdir(mode=0o700, exist_ok=True)
    define.write_text("name: terse\nprompt: '{{ task }}'\ntools: [Read]\n")
    time.sleep(TICK_S)
    _request, _call, agent = session.begin(prompt="Look.", agent="terse")
    for number, tool in enumerate(["Read", "WebFetch", "SubagentHandback"]):
        # As models behind a gateway name them.
        call = f"functions.{tool}:{number}"
        arguments = {"file_path": str(session.project / "src/a.py")}
        if tool != "SubagentHandback":
            session.use(agent, tool, tool_input=arguments, tool_use_id=call)
        session.writes(agent, {"type": "tool_use", "id": call, "name": tool})
    session.stop(agent)

    assert reasons(session) == []


def test_a_call_that_was_refused_hides_no_other_of_its_id(session):
    """Models behind a gateway may give several calls one id."""
    time.sleep(TICK_S)
    _request, _call, agent = session.begin(prompt="Look.")
    tool, arguments = reads(session, "src/a.py")
    for _ in range(2):
        session.use(agent, tool, tool_input=arguments, tool_use_id="call_0")
    # As for the second, by a rule.
    call_notes.forget_call(f"{session.store.place.state}/agents/", agent, "call_0")
    session.stop(agent)
    write(session, "src/a.py", "two\n")

    assert reasons(session) == ["changed: src/a.py"]


def test_a_folder_that_was_replaced_by_a_link_while_the_agent_worked_is_noticed(
    session,
):
    """What the link leads to now is older than the agent's look."""
    write(session, "v1/a.py")
    write(session, "v2/a.py", "two\n")
    (session.project / "now").symlink_to("v1")
    time.sleep(TICK_S)
    _request, _call, agent = session.begin(prompt="Look.")
    session.use(agent, "Grep", tool_input={"pattern": "one", "path": "now"})
    (session.project / "now").unlink()
    (session.project / "now").symlink_to("v2")
    session.stop(agent)

    (reason,) = reasons(session)
    assert reason.startswith("unknown: something that it rests on changed while")


def test_a_file_that_the_kernel_makes_up_is_never_relied_on(session):
    """Its status stays, whatever its bytes."""
    answered(session, ("Read", {"file_path": "/proc/uptime"}))

    assert reasons(session) == [
        (
            "unknown: what it rests on could not be read: /proc/uptime: it has not as "
            "many bytes as it says"
        )
    ]


def test_a_pipe_that_an_agent_read_is_never_relied_on(session):
    os.mkfifo(session.project / "pipe")
    answered(session, reads(session, "pipe"))

    (reason,) = reasons(session)
    assert reason.startswith("unknown: what it rests on could not be read: ")


def test_a_search_whose_place_is_too_long_to_note_is_never_relied_on(session):
    answered(session, ("Glob", {"pattern": "/" + "x" * 5000}))

    (reason,) = reasons(session)
    assert reason == ("unknown: it rests on something that cannot be checked: Glob")


def test_a_call_that_could_not_be_noted_is_never_relied_on(session):
    """On a full disk the client has written down nothing of it, either."""
    time.sleep(TICK_S)
    request, _call, agent = session.begin(prompt="Look.")
    tool, arguments = reads(session, "src/a.py")
    session.use(agent, "Glob", tool_input={"pattern": "*.py"})
    file = session.store.place.state / f"agents/{agent}.calls"
    with no_file_larger_than(file.stat().st_size + 20):
        session.use(agent, tool, tool_input=arguments)
    session.stop(agent)

    assert session.code(request) == "success"
    assert reasons(session) == [
        (
            "unknown: it rests on something that cannot be checked: a call that was "
            "not noted"
        )
    ]
    write(session, "src/a.py", "two\n")
    assert not is_reused(session)


@contextmanager
def no_file_larger_than(most: int) -> Iterator[None]:
    """As on a full disk: a file gets a part of what is written to it, or nothing."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_command_outside_of_the_project_is_never_relied_on(session, tmp_path):
    """An agent may have changed its folder before."""
    (tmp_path / "elsewhere").mkdir()
    time.sleep(TICK_S)
    _request, _call, agent = session.begin(prompt="Look.")
    given = {"tool_input": {"command": "ls"}, "cwd": str(tmp_path / "elsewhere")}
    session.use(agent, "Bash", **given)
    session.stop(agent)

    assert reasons(session) == [
        (
            "unknown: it rests on something that cannot be checked: Bash outside of "
            "the project"
        )
    ]


def test_a_search_after_a_change_of_folder_rests_on_that_folder(session):
    write(session, "src/deep/b.py")
    time.sleep(TICK_S)
    _request, _call, agent = session.begin(prompt="Look.")
    given = {"tool_input": {"pattern": "*.py"}, "cwd": str(session.project / "src")}
    session.use(agent, "Glob", **given)
    session.stop(agent)
    assert reasons(session) == []

    write(session, "src/new.py")

    assert reasons(session) == ["added: src/new.py"]


def test_what_a_command_in_the_background_writes_later_is_noticed(session):
    """It has begun before the answer, and goes on behind it."""
    time.sleep(TICK_S)
    _request, _call, agent = session.begin(prompt="Look.")
    given = {"command": "make", "run_in_background": True}
    call = {"tool_name": "Bash", "tool_use_id": "toolu_b", "tool_input": given}
    session.say("PreToolUse", agent_id=agent, **call)
    told = {"backgroundTaskId": "b1"}
    session.say("PostToolUse", agent_id=agent, **call, tool_response=told)
    session.stop(agent)
    time.sleep(TICK_S)
    assert reasons(session) == []

    write(session, "made.txt")

    assert reasons(session) == ["added: made.txt"]
    assert not is_reused(session)
