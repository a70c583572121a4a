"""What an agent of a session looked at, as hooks see it."""

import json
import os
import time

import pytest
from cachedworld import TICK_S
from sessionlooks import (
    MEANWHILE,
    UNCHECKED,
    answered,
    define,
    is_reused,
    reads,
    reasons,
    write,
)

pytestmark = pytest.mark.slow


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


@pytest.mark.parametrize("name", CALLS)
def test_a_new_file_is_noticed_by_whoever_would_have_found_it(session, name):
    tool, arguments = CALLS[name]
    given = json.loads(json.dumps(arguments).replace("PROJECT", str(session.project)))
    answered(session, (tool, given))
    assert is_reused(session)

    write(session, "src/new.py")

    finds = name != "Grep, a file"
    assert reasons(session) == ["added: src/new.py"] * finds
    assert is_reused(session) is not finds


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

    assert reasons(session) == [f"{UNCHECKED}{tool}"]
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
    assert reasons(session) == [f"{MEANWHILE}src/a.py"]


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
    assert reason.startswith(MEANWHILE)


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_a_clock_that_is_set_later_changes_no_answer(session, seconds):
    """Neither the answer's time nor the files' own say whether it holds."""
    answered(session, reads(session, "src/a.py"), ("Bash", {"command": "ls"}))

    session.set_clock(seconds)

    assert is_reused(session)
    write(session, "src/a.py", "two\n")
    assert reasons(session) == ["changed: src/a.py"]
    assert not is_reused(session)


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
    define(session, "tools: [Read]")
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
    define(session, "reuse: true")
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
