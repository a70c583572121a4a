"""What an agent of a session looked at, as hooks see it."""

import os
import time
from threading import Thread
from unittest.mock import Mock

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
    working,
    write,
)

from bridge.freshness import kept_reads
from bridge.host import answer_reads
from bridge.host.answer_reads import keep_reads

pytestmark = pytest.mark.slow


def test_an_answer_is_reused_while_what_was_read_is_the_same(session):
    request = answered(session, reads(session, "src/a.py"))
    write(session, "other.txt")
    assert is_reused(session)
    assert session.bridge.ask("Look.", cached=True).request_id == request

    write(session, "src/a.py", "two\n")

    assert reasons(session) == ["changed: src/a.py"]
    assert not is_reused(session)


def test_an_answer_waits_for_nothing_that_it_rests_on(session, monkeypatch):
    """Reading a large tree takes seconds; who asks again meanwhile waits for that."""
    seen = []

    def keep(hook, run, request, response):
        seen.append(session.code(request.request_id))
        asking.start()
        asking.join(0.2)
        seen.append(asking.is_alive())
        keep_reads(hook, run, request, response)

    asking = Thread(target=lambda: seen.append(is_reused(session)))
    monkeypatch.setattr(answer_reads, "keep_reads", keep)

    answered(session, reads(session, "src/a.py"))
    asking.join()

    assert seen == ["success", True, True]


@pytest.mark.parametrize(
    ("read_s", "timeout_s", "later_s"),
    [(0.1, 60, 0), (60, 0.6, 0), (60, 60, 61), (60, 60, -61)],
    ids=["reads are bounded", "its deadline", "long ago", "the clock was set back"],
)
def test_an_answer_whose_hook_was_killed_is_given_again_by_another(
    session, monkeypatch, read_s, timeout_s, later_s
):
    """Its run stays on record; nobody waits for it longer than a hook may read."""
    monkeypatch.setattr(kept_reads, "READ_S", read_s)
    monkeypatch.setattr(answer_reads, "keep_reads", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        answered(session, reads(session, "src/a.py"))
    session.set_clock(later_s)
    begun_s = time.monotonic()

    assert not is_reused(session, timeout_s=timeout_s)
    assert time.monotonic() - begun_s < 20


UNCHECKABLE = {
    "WebFetch": ("WebFetch", {"url": "http://localhost/"}),
    "WebSearch": ("WebSearch", {"query": "x"}),
    "MCP": ("mcp__some__tool", {}),
    "Skill": ("Skill", {"skill": "x"}),
    "a tool that nobody here knows": ("Tomorrow", {}),
    "a place too long to note": ("Glob", {"pattern": "/" + "x" * 5000}),
}
# The client refuses them, and the agent goes on and answers.
for path in ("/x\0y", "src/\0", "src/a.py\0"):
    UNCHECKABLE[f"Read {path!a}"] = ("Read", {"file_path": path})
    for searching in ("Grep", "Glob"):
        given = {"pattern": "x", "path": path}
        UNCHECKABLE[f"{searching} {path!a}"] = (searching, given)


@pytest.mark.parametrize("call", UNCHECKABLE.values(), ids=UNCHECKABLE)
def test_what_cannot_be_checked_is_never_relied_on(session, call):
    answered(session, reads(session, "src/a.py"), call)

    assert reasons(session) == [f"{UNCHECKED}{call[0]}"]
    assert not is_reused(session)


@pytest.mark.parametrize("tool", ["Edit", "Write", "NotebookEdit"])
def test_an_agent_that_was_to_change_files_is_asked_again(session, tool):
    answered(session, (tool, {"file_path": str(session.project / "x")}))

    assert reasons(session) == [
        f"unknown: its agent changed files: that was an action, no reading: {tool}"
    ]
    assert not is_reused(session)


def test_a_file_that_was_changed_and_put_back_meanwhile_is_noticed(
    session,
):
    """The agent may have read it in between, whatever its time and size say."""
    file = session.project / "src/a.py"
    request, agent = working(session, reads(session, "src/a.py"))
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
    _request, agent = working(session, ("Grep", {"pattern": "one", "path": "src"}))
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
    request, agent = working(session, reads(session, "src/a.py"), agent="terse")
    denied = session.use(agent, "WebFetch", tool_input={"url": "http://localhost"})
    session.stop(agent)

    assert denied["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert session.code(request) == "success"
    assert reasons(session) == []


def test_an_answer_that_cannot_be_kept_is_an_answer(session):
    """It is never reused, and nothing else."""
    (session.store.place.state / "reads").write_text("in the way")
    request, agent = working(session)
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
