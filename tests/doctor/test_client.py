"""Open sessions: those that we know of against those that the client lists."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from spent import UP, spent

from bridge.doctor import client
from bridge.doctor.client import judge_sessions
from bridge.doctor.finding import Verdict, ok, warning
from bridge.doctor.subject import Subject
from bridge.host.wake_problems import JUST_STARTED, NO_WATCH, UNANSWERED
from bridge.protocol.claim import HostProcess
from bridge.store.sessions import Session, SessionLimits
from bridge.store.switch import Off

if TYPE_CHECKING:
    from conftest import Patient


HOST = HostProcess(pid=7, start_time="1", boot="b")
OURS = Session(session_id="s1", host=HOST, registered_at=1, wakes=True)
THEIRS = {"pid": 7, "sessionId": "s1"}
ON = Off()
STRANGER = {"pid": 8, "sessionId": "s2"}

CASES = {
    "known to both": (
        [OURS],
        [THEIRS],
        ON,
        "s1 (pid 7) takes requests and wakes from idle",
    ),
    "no list": ([OURS], [], ON, "s1 (pid 7) takes requests and wakes from idle"),
    "off": (
        [OURS],
        [THEIRS],
        Off({"s1": 0}),
        "s1 (pid 7) is switched off",
    ),
    "never seen": (
        [],
        [STRANGER],
        ON,
        "s2 (pid 8) is open in this project, but no hook of ours has run in it",
    ),
    "none": ([], [], ON, "none is open in /p"),
}


@pytest.mark.parametrize(("ours", "theirs", "off", "found"), CASES.values(), ids=CASES)
def test_each_session_is_described(ours, theirs, off, found):
    (finding,) = judge_sessions(ours, theirs, off=off, unheard={}, now=UP, project="/p")

    assert finding.found == found
    assert (finding.verdict is Verdict.OK) == ("takes requests and wakes" in found)


@pytest.mark.parametrize("why", [NO_WATCH, UNANSWERED], ids=lambda why: why.what)
def test_a_session_that_does_not_wake_is_named_with_the_cause(why):
    (finding,) = judge_sessions(
        [OURS], [], off=ON, unheard={"s1": why}, now=UP, project="/p"
    )

    found = f"s1 (pid 7) takes requests, but does not wake from idle: it {why.what}"
    assert finding == warning(found, why.cause, why.cure)


def test_a_session_that_has_just_started_is_no_issue():
    (finding,) = judge_sessions(
        [OURS], [], off=ON, unheard={"s1": JUST_STARTED}, now=UP, project="/p"
    )

    found = (
        "s1 (pid 7) has just started: its client does not watch its wake-up file yet"
    )
    assert (finding.verdict, finding.found) == (Verdict.OK, found)


def test_a_budget_that_is_nearly_used_up_is_told():
    near = OURS.with_(
        limits=SessionLimits(slots=4, agents_per_hour=5), spent=spent(UP, 4, 3, 2, 1)
    )

    (finding,) = judge_sessions([near], [], off=ON, unheard={}, now=UP, project="/p")

    assert finding == warning(
        "s1 (pid 7) has used 80 % of a budget",
        "4 of 5 agents of this hour",
        "hostbridge config set agents_per_hour 10",
    )


def test_a_session_that_may_start_no_agent_is_not_called_well():
    none = OURS.with_(limits=SessionLimits(slots=4, agents_per_hour=0))

    (finding,) = judge_sessions([none], [], off=ON, unheard={}, now=UP, project="/p")

    assert finding == warning(
        "s1 (pid 7) may start no agent now",
        "session s1: agents_per_hour is 0, so it may start no agent",
        "hostbridge config set agents_per_hour 200",
    )


def fake_client(patient: Patient, words: str) -> str:
    """A `claude` that says `words` to anything."""
    folder = patient.root / "bin"
    folder.mkdir()
    (folder / "claude").write_text(f"#!/bin/sh\ncat <<'END'\n{words}\nEND\n")
    (folder / "claude").chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_a_missing_client_is_no_problem(patient):
    """It may live inside an editor."""
    (finding,) = patient.found(client.version)

    assert finding == warning(
        "no `claude` on PATH",
        "Claude Code is not installed, or only inside an editor, which is enough",
        "install Claude Code; or open a session in the editor: hostbridge status lists "
        "it from its first message on",
    )


def test_a_missing_client_is_well_while_a_session_is_open(patient, monkeypatch):
    monkeypatch.setattr(Subject, "live_sessions", lambda _: [OURS])

    (finding,) = patient.found(client.version)

    assert finding == ok("no `claude` on PATH; the open sessions do not need it")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("2.1.330 (Claude Code)", "2.1.330"),
        ("3.0.0 (Claude Code)", "3.0.0 (hostbridge knows 2.1.330 best)"),
        ("", "no version (hostbridge knows 2.1.330 best)"),
    ],
)
def test_another_version_is_a_note(patient, words, found):
    path = fake_client(patient, words)

    (finding,) = patient.found(client.version, PATH=path)

    assert finding == ok(f"{patient.root}/bin/claude {found}")


def test_sessions_of_other_projects_do_not_count(patient):
    below = patient.project / "below"
    below.mkdir()
    listed = [
        {"pid": 1, "sessionId": "elsewhere", "cwd": str(patient.home)},
        {"pid": 2, "sessionId": "below", "cwd": str(below)},
        {"pid": 3, "cwd": 7},
        "nonsense",
    ]
    path = fake_client(patient, json.dumps(listed))

    (finding,) = patient.found(client.open_sessions, PATH=path)

    assert finding.found.startswith("below (pid 2) is open in this project, but ")


@pytest.mark.parametrize("words", ["", "not JSON", '{"a": 1}', "[1, null]"])
def test_a_client_that_lists_nothing_is_no_problem(patient, words):
    path = fake_client(patient, words)

    (finding,) = patient.found(client.open_sessions, PATH=path)

    assert finding.found == f"none is open in {patient.project}"


def test_off_everywhere_is_not_told_as_off_in_a_session():
    """`hostbridge on --session` would change nothing."""
    off = Off({"": 0})

    (finding,) = judge_sessions([OURS], [], off=off, unheard={}, now=UP, project="/p")

    assert finding == ok("s1 (pid 7) is open; hostbridge is off here (see `switch`)")
