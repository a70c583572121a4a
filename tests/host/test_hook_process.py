"""Hook processes, whatever the client and the environment give them."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from hookprocesses import (
    EVENTS,
    INSTALLED,
    ROOT,
    TIMEOUT_S,
    assert_harmless,
    examples,
    run_all,
    run_all_harmlessly,
    run_hook,
    words,
)
from hookworld import GOOD

from bridge.host.hook_table import HOOKS, Hook

# Most tests start every hook there is.
pytestmark = pytest.mark.slow

BODIES: dict[str, bytes] = {
    "closed at once": b"",
    "not JSON": b"hello\n",
    "no object": b"[1, 2]",
    "no fields": b"{}",
    "another event": b'{"hook_event_name": "Unknown"}',
    "not UTF-8": b'{"hook_event_name": "\xff"}',
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.usefixtures("world")
def test_error_stdin(body):
    ended = run_all(dict.fromkeys(EVENTS, BODIES[body]))

    assert_harmless(ended)
    assert {stdout for _, stdout, _ in ended.values()} == {b""}


def test_events_with_new_fields_and_without_old_ones(world):
    _, _, agent = world.begin()
    missing = {
        event: json.dumps(
            {"hook_event_name": event, "session_id": world.session, "agent_id": agent}
        ).encode()
        for event in EVENTS
    }

    run_all_harmlessly(world)
    assert_harmless(run_all(missing))


def test_error_stdin_of_50_megabytes(world):
    """It is read to its end: a client that is cut off sees a broken pipe."""
    assert_harmless(run_all(examples(world, prompt="x" * 50_000_000)))


@pytest.mark.usefixtures("world")
def test_error_stdin_never_closed():
    """All of them at once: the client would wait for each."""
    reading, writing = os.pipe()
    try:
        started = [subprocess.Popen(words(hook), stdin=reading) for hook in HOOKS]
        codes = [process.wait(TIMEOUT_S) for process in started]
    finally:
        os.close(reading)
        os.close(writing)

    assert set(codes) == {0}


@pytest.mark.parametrize(
    "variable", [("HOME", "/proc/nowhere"), ("BRIDGE_SLOTS", "many")]
)
def test_error_an_environment_that_means_nothing(world, monkeypatch, variable):
    monkeypatch.setenv(*variable)

    run_all_harmlessly(world)


def test_error_a_token_that_cannot_be_served_now(world):
    """Let through, the agent would get the token for a prompt."""
    request = world.submit()
    world.say("UserPromptSubmit", prompt="hello")
    call = {"description": "b", "prompt": f"bridge:{request}"}
    event = world.event("PreToolUse", tool_name="Agent", tool_input=call)

    with world.store.exclusive():
        _, stdout, _ = run_hook(Hook("PreToolUse", "agent-call"), event)

    output = json.loads(stdout)["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    assert world.code(request) is None  # type: ignore[arg-type]


def captured(world, tmp_path, words: str, **asked: object) -> set[str]:
    """What a real Python loads to take an agent's last words, which are its answer."""
    request, _, agent = world.begin(**asked)
    said, python = tmp_path / "imports", tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -X importtime "$@" 2>{said}\n')
    python.chmod(0o700)
    event = world.event("SubagentStop", agent_id=agent, last_assistant_message=words)

    run_hook(
        Hook("SubagentStop", "agent-event"), event, replace(INSTALLED, python=python)
    )

    assert world.response(request).success
    return {line.rpartition("|")[2].strip() for line in said.read_text().splitlines()}


def test_a_plain_answer_is_taken_without_a_library(world, tmp_path):
    """Whoever asked waits for all that this hook imports."""
    loaded = captured(world, tmp_path, GOOD)

    ours = {name for name in loaded if name.startswith("bridge")}
    assert not loaded & {"yaml", "pydantic", "jinja2", "orjson", "jsonschema_rs"}
    assert not loaded & {"dataclasses", "inspect", "datetime", "uuid", "traceback"}
    # With these come OpenSSL, all that is installed, and enums of numbers.
    assert not loaded & {"hashlib", "hmac", "site", "signal", "threading"}
    assert not ours & {"bridge.host.launch", "bridge.host.offers", "bridge.agents"}
    assert len(ours) <= 112


def test_a_library_is_found_once_it_is_needed(world, tmp_path):
    """Python starts without looking at what is installed."""
    loaded = captured(world, tmp_path, '{"n": 1}', schema={"required": ["n"]})

    assert {"site", "jsonschema_rs"} <= loaded


LS = {
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "toolu_1",
}


def test_a_call_of_the_main_thread_starts_no_python_while_agents_run(world, tmp_path):
    """It is told from a call of theirs by what the client writes, if that is short."""
    _, _, agent = world.begin()
    started, python = tmp_path / "started", tmp_path / "python"
    python.write_text(f'#!/bin/sh\ntouch {started}\nexec {sys.executable} "$@"\n')
    python.chmod(0o700)
    form = replace(INSTALLED, python=python)

    def starts(**fields: object) -> bool:
        started.unlink(missing_ok=True)
        event = world.event("PreToolUse", **{**LS, **fields})
        hook = Hook("PreToolUse", "tool-start", tools="bash")
        assert run_hook(hook, event, form) == (0, b"", b"")
        return started.exists()

    assert starts()  # the first of a session
    assert not starts()
    assert not starts(tool_input={"command": 'echo "agent_id"'})
    assert starts(tool_input={"command": "x" * 5000})
    assert starts(agent_id=agent)
    assert starts(agent_id=agent, tool_use_id="toolu_2", tool_input={"a": "x" * 5000})
    calls = world.store.place.state / "agents" / f"{agent}.calls"
    seen = [json.loads(line)["id"] for line in calls.read_text().splitlines()]
    assert seen == ["toolu_1", "toolu_2"]


@pytest.mark.parametrize("output", ["é", "é" * 9000], ids=["short", "long"])
def test_the_library_gets_what_the_shell_has_read(world, output):
    """Whether the shell could tell whose call it was, or had to leave that."""
    world.begin()
    run_hook(Hook("Stop", "turn"), world.event("Stop"))
    waiting = world.submit()
    event = world.event("PostToolUse", **LS, tool_response={"stdout": output})

    _, said, _ = run_hook(Hook("PostToolUse", "tool-end", tools="bash"), event)

    assert f"bridge:{waiting}" in said.decode()


@pytest.mark.parametrize("where", ["answer", "destructor"])
def test_a_hook_that_takes_too_long_ends(tmp_path, where):
    """No handler of errors on its way may keep it running.

    Python itself catches what a destructor raises, and only reports it.
    """
    script = """
import sys
import time
import bridge.host.hook as hook

class Slow:
    def __del__(self):
        time.sleep(60)

def answer(*_):
    Slow() if WHERE == "destructor" else None
    while True:
        try:
            time.sleep(60)
        except Exception:
            pass

sys.unraisablehook = lambda _: None
hook.TIME_LIMIT_S = 1
hook.dispatch.answer = answer
hook.main("Stop", "local")
"""
    done = subprocess.run(
        [sys.executable, "-c", script.replace("WHERE", repr(where))],
        input=b"{}",
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
        env={"HOME": str(tmp_path)},
        cwd=ROOT,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
