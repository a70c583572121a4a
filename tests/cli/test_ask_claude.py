"""`ask --route claude`: served by the process that asks, through `claude -p`."""

import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from fakeclaude import (
    BY_CLAUDE,
    OBEDIENT,
    SERVED,
    SUCCESS,
    WAITING,
    fake_claude,
)

from bridge.api.bridge import Bridge
from bridge.config import Settings

pytestmark = pytest.mark.slow

VARIABLES = ("BRIDGE_OFF", "BRIDGE_DEPTH", "BRIDGE_PARENT")
NO_SERVER = (
    "route endpoint: no server is set; set BRIDGE_OPENAI_BASE_URL, such as "
    "http://127.0.0.1:8080/v1"
)
NO_FLAG = (
    "BRIDGE_CLI_FALLBACK='sometimes': expected claude, local, endpoint, remote, "
    "1 (local) or 0"
)


def test_ask_is_served_by_claude_p(project, claude):
    """With no session open, and the record of any other request."""
    ran = project.run("ask", "--route", "claude", "Which?", "--json", "--var", "a=b")

    record = ran.json
    assert (ran.code, ran.err) == (0, "")
    assert record["route"] == "claude"
    assert record["parsedOutput"]["summary"] == SUCCESS["summary"]
    assert (claude / "stdin").read_text().startswith("Which?\n")
    assert "Which?" not in (claude / "argv").read_text()
    found = project.bridge.status(record["requestId"])
    assert found.request.claim.route == found.request.route == "claude"
    assert found.request.variables == {"a": "b"}


@pytest.mark.parametrize(
    ("flag", "code", "err"),
    [
        ("claude", 0, BY_CLAUDE),
        ("endpoint", 4, f"hostbridge: {NO_SERVER}\n"),
        ("sometimes", 2, f"hostbridge: {NO_FLAG}\n"),
    ],
)
@pytest.mark.usefixtures("claude")
def test_the_fallback_variable_chooses_the_route(project, flag, code, err):
    ran = project.run("ask", "Which?", env={"BRIDGE_CLI_FALLBACK": flag})

    assert (ran.code, ran.err) == (code, err)


def test_set_makes_text_and_json(project):
    asked = project.run(
        "submit", "researcher", "x", "--set", "version=1.10", "--set", "n:=null",
        "--set", "l:=[1]", "--set", "e=a=b",
    )  # fmt: skip

    arguments = project.bridge.status(asked.out.strip()).request.arguments
    assert arguments == {"version": "1.10", "n": None, "l": [1], "e": "a=b"}


@pytest.mark.usefixtures("claude")
def test_a_closed_stdin_is_no_file_of_ours(project):
    """The first file that we opened took its number, and was mistaken for it."""
    script = 'exec "$0" -m bridge ask --route claude x <&-'

    ran = project.program("sh", "-c", script, sys.executable)

    assert ran == (0, SERVED, BY_CLAUDE)


def test_off_stops_this_route_too(project, claude):
    project.run("off")
    off = project.run("ask", "--route", "claude", "Which?")
    project.run("on")
    here = project.run("ask", "--route", "claude", "?", env={"BRIDGE_OFF": "1"})

    assert (off.code, here.code) == (4, 4)
    assert not (claude / "stdin").exists()


def test_the_client_gets_its_depth_and_no_variables_of_the_outer_one(project, claude):
    """With a session's variables it would think that it runs inside that session."""
    fake_claude(claude, f'env >"$here/env"\n{OBEDIENT}')
    outer = project.submit()
    session = {
        "CLAUDECODE": "1",
        "CLAUDE_PID": str(os.getpid()),
        "CLAUDE_CODE_SESSION_ID": "outer",
        "CLAUDE_PROJECT_DIR": str(project.folder),
        "CLAUDE_CONFIG_DIR": "/somewhere",
    }

    asked = project.run(
        "ask", "--route", "claude", "?", "--json",
        env={**session, "BRIDGE_PARENT": outer, "BRIDGE_DEPTH": "1"},
    )  # fmt: skip

    lines = (claude / "env").read_text().splitlines()
    seen = dict(line.split("=", 1) for line in lines if "=" in line)
    kept = {**dict.fromkeys(session), "CLAUDE_CONFIG_DIR": "/somewhere"}
    assert {name: seen.get(name) for name in session} == kept
    assert {name: seen.get(name) for name in VARIABLES} == {
        # Off would be off for whoever asks from within, too.
        "BRIDGE_OFF": None,
        "BRIDGE_DEPTH": "2",
        "BRIDGE_PARENT": asked.json["requestId"],
    }


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_exit_130_ends_the_program_and_the_request(project, claude, until, number):
    fake_claude(claude, WAITING)

    with project.start("ask", "--route", "claude", "Which?") as process:
        until((claude / "pid").exists)
        process.send_signal(number)
        out, err = process.communicate(timeout=300)

    (file,) = project.state.glob("responses/*.json")
    said = f"hostbridge: interrupted; cancelled {file.stem}\n"
    assert (process.returncode, out, err.decode()) == (130, b"", said)
    record = json.loads(file.read_text())
    assert (record["status"], record["route"]) == ("cancelled", "claude")
    assert not list(project.state.glob("processing/*.json"))


def test_a_cancel_from_another_shell_ends_it(project, claude, until):
    fake_claude(claude, WAITING)

    with project.start("ask", "--route", "claude", "Which?") as process:
        until((claude / "pid").exists)
        (file,) = project.state.glob("processing/*.json")
        assert project.run("cancel", file.stem).code == 0
        _, err = process.communicate(timeout=300)

    assert process.returncode == 1
    assert f"request {file.stem} failed: cancelled by its user" in err.decode()


def test_exit_5_at_the_deadline(project, claude):
    """It passes when the agent is at work."""
    fake_claude(claude, f'echo 3600 >"$here/ahead"; {WAITING}')
    words = ("ask", "--route", "claude", "Which?", "--timeout", "600", "--json")

    ran = project.run(*words, ahead=claude / "ahead")

    record = ran.json
    assert (ran.code, record["status"], record["route"]) == (5, "timeout", "claude")
    said = "no answer within 600 s: the agent was still at work"
    assert record["error"]["message"] == said


def test_what_is_served_reads_well(project, claude, until):
    """No session is named where none is concerned; nobody else may answer it."""
    fake_claude(claude, WAITING)

    with project.start("ask", "--route", "claude", "Which?") as process:
        until((claude / "pid").exists)
        (file,) = project.state.glob("processing/*.json")
        status = project.run("status").out
        show = project.run("show", file.stem).out
        by_hand = project.run("respond", file.stem, stdin=json.dumps(SUCCESS).encode())
        process.kill()

    assert "\trunning (claude)\t" in status
    assert f"\nserved by pid {process.pid}\n" in show
    assert "\noffered " not in show
    assert "\nsession " not in show
    by_hand.fails(
        2,
        f"request {file.stem} is being served (claude-{process.pid}, pid "
        f"{process.pid}); cancel it first, or wait",
    )


# The same from Python


def test_two_at_once_in_one_process(project, claude):
    """Threads share a bridge: each request has a program of its own."""
    fake_claude(claude, f"sleep 0.3\n{OBEDIENT}")
    bridge = Bridge(Settings.from_environment(project.env), project.folder)

    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(bridge.ask, f"{n}?", route="claude") for n in range(6)]
        results = [each.result() for each in asked]

    assert len({r.request_id for r in results}) == 6
    assert all(r.success and r.route == "claude" for r in results)
