"""Calls of an agent of a session that nobody can rely on."""

import json
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

import needs
import pytest
from cachedworld import TICK_S
from hookprocesses import run_hook
from sessionlooks import (
    MEANWHILE,
    UNCHECKED,
    UNREAD,
    answered,
    define,
    is_reused,
    reads,
    reasons,
    working,
    write,
)

from bridge.bound import call_notes
from bridge.host.hook_table import Hook

pytestmark = pytest.mark.slow

# Of a shell that may not mount.
NO_MOUNTS = 9


def test_a_call_of_which_there_is_no_note_is_never_relied_on(session):
    """The disk was full, or the client stopped the hook: who knows what it read."""
    request, agent = working(session)
    tool, arguments = reads(session, "src/a.py")
    use = {"type": "tool_use", "id": "toolu_lost", "name": tool, "input": arguments}
    session.writes(agent, use)
    session.stop(agent)

    assert session.code(request) == "success"
    assert reasons(session) == [f"{UNCHECKED}a call of Read that was not noted"]
    assert not is_reused(session)


def test_calls_that_were_noted_or_refused_are_known_by_their_ids(session):
    define(session, "tools: [Read]")
    _request, agent = working(session, agent="terse")
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
    _request, agent = working(session)
    tool, arguments = reads(session, "src/a.py")
    for _ in range(2):
        session.use(agent, tool, tool_input=arguments, tool_use_id="call_0")
    # As for the second, by a rule.
    call_notes.forget_call(f"{session.store.place.state}/agents/", agent, "call_0")
    session.stop(agent)
    write(session, "src/a.py", "two\n")

    assert reasons(session) == ["changed: src/a.py"]


def test_a_folder_that_became_a_link_while_the_agent_worked_is_noticed(
    session,
):
    """What the link leads to now is older than the agent's look."""
    write(session, "v1/a.py")
    write(session, "v2/a.py", "two\n")
    (session.project / "now").symlink_to("v1")
    _request, agent = working(session, ("Grep", {"pattern": "one", "path": "now"}))
    (session.project / "now").unlink()
    (session.project / "now").symlink_to("v2")
    session.stop(agent)

    (reason,) = reasons(session)
    assert reason.startswith(MEANWHILE)


def test_what_is_no_plain_file_is_never_relied_on(session):
    """The status of a file that the kernel makes up stays, whatever its bytes."""
    os.mkfifo(session.project / "pipe")
    answered(session, ("Read", {"file_path": "/proc/uptime"}))
    odd = "/proc/uptime: it has not as many bytes as it says"
    assert reasons(session) == [f"{UNREAD}{odd}"]

    answered(session, reads(session, "pipe"))

    (reason,) = reasons(session)
    assert reason.startswith(UNREAD)


def test_a_call_that_could_not_be_noted_is_never_relied_on(session):
    """On a full disk the client has written down nothing of it, either."""
    request, agent = working(session, ("Glob", {"pattern": "*.py"}))
    tool, arguments = reads(session, "src/a.py")
    file = session.store.place.state / f"agents/{agent}.calls"
    with no_file_larger_than(file.stat().st_size + 20):
        session.use(agent, tool, tool_input=arguments)
    session.stop(agent)

    assert session.code(request) == "success"
    assert reasons(session) == [f"{UNCHECKED}a call that was not noted"]
    write(session, "src/a.py", "two\n")
    assert not is_reused(session)


def test_a_call_of_which_nobody_could_know_later_is_denied(session):
    """The disk is read-only by now: it takes no note, and the sign stays."""
    unshare = needs.tool("unshare")
    freeze = 'mount --bind "$1" "$1" && mount -o remount,bind,ro,nosuid,nodev "$1"'
    script = f'{freeze} || exit 9; shift; exec "$@"'
    tool, arguments = reads(session, "src/a.py")
    _request, agent = working(session, (tool, arguments))
    call = {"agent_id": agent, "tool_name": tool, "tool_input": arguments}
    event = session.event("PreToolUse", **call, tool_use_id="toolu_later")
    state = str(session.store.place.state)

    code, stdout, _stderr = run_hook(
        Hook("PreToolUse", "tool-start"),
        event,
        below=(unshare, "-rm", "/bin/sh", "-c", script, "sh", state),
    )

    if code == NO_MOUNTS:
        pytest.skip("no mounts here")
    said = json.loads(stdout)["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"


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
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    answered(session, ("Bash", {"command": "ls"}), cwd=str(elsewhere))

    assert reasons(session) == [f"{UNCHECKED}Bash in {elsewhere}"]


def test_a_search_after_a_change_of_folder_rests_on_that_folder(session):
    write(session, "src/deep/b.py")
    answered(session, ("Glob", {"pattern": "*.py"}), cwd=str(session.project / "src"))
    assert reasons(session) == []

    write(session, "src/new.py")

    assert reasons(session) == ["added: src/new.py"]


def test_what_a_command_in_the_background_writes_later_is_noticed(session):
    """It has begun before the answer, and goes on behind it."""
    _request, agent = working(session)
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
