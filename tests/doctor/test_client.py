"""Open sessions: those that we know of against those that the client lists."""

import json
from pathlib import Path

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
from bridge.testing.stage.client import VERSION

HOST = HostProcess(pid=7, start_time="1", boot="b")
OURS = Session(session_id="s1", host=HOST, registered_at=1, wakes=True)
THEIRS = {"pid": 7, "sessionId": "s1"}
ON = Off()
STRANGER = {"pid": 8, "sessionId": "s2"}

TAKES = "s1 (pid 7) takes requests and wakes from idle"
UNSEEN = "s2 (pid 8) is open in this project, but no hook of ours has run in it"
CASES = {
    "known to both": ([OURS], [THEIRS], ON, TAKES),
    "no list": ([OURS], [], ON, TAKES),
    "off": ([OURS], [THEIRS], Off({"s1": 0}), "s1 (pid 7) is switched off"),
    "never seen": ([], [STRANGER], ON, UNSEEN),
    "none": ([], [], ON, "none is open in /p"),
}


def judged(ours, theirs=(), off=ON, ringing=(), **unheard):
    how = {"off": off, "unheard": unheard, "now": UP, "project": "/p"}
    how |= {"ringing": ringing}
    (finding,) = judge_sessions(ours, theirs, **how)
    return finding


@pytest.mark.parametrize(("ours", "theirs", "off", "found"), CASES.values(), ids=CASES)
def test_each_session_is_described(ours, theirs, off, found):
    finding = judged(ours, theirs, off)

    assert (finding.found, finding.verdict is Verdict.OK) == (found, found == TAKES)


def test_a_session_that_waits_for_a_ring_wakes_at_once():
    assert judged([OURS], ringing={"s1"}).found == f"{TAKES} at once"


@pytest.mark.parametrize("why", [NO_WATCH, UNANSWERED], ids=lambda why: why.what)
def test_a_session_that_does_not_wake_is_named_with_the_cause(why):
    found = f"s1 (pid 7) takes requests, but does not wake from idle: it {why.what}"
    assert judged([OURS], s1=why) == warning(found, why.cause, why.cure)


def test_a_session_that_has_just_started_is_no_issue():
    finding = judged([OURS], s1=JUST_STARTED)

    found = "s1 (pid 7) has just started: its client does not watch its wake-up file"
    assert (finding.verdict, finding.found) == (Verdict.OK, f"{found} yet")


FIVE, NONE = (SessionLimits(slots=4, agents_per_hour=n) for n in (5, 0))
SPENT = {"limits": FIVE, "spent": spent(UP, 4, 3, 2, 1)}
BUDGETS = {
    "nearly used up": (
        SPENT,
        "has used 80 % of a budget",
        "4 of 5 agents of this hour",
        10,
    ),
    "none": (
        {"limits": NONE},
        "may start no agent now",
        "session s1: agents_per_hour is 0, so it may start no agent",
        200,
    ),
}


@pytest.mark.parametrize(
    ("fields", "what", "why", "more"), BUDGETS.values(), ids=BUDGETS
)
def test_a_budget_is_told(fields, what, why, more):
    assert judged([OURS.with_(**fields)]) == warning(
        f"s1 (pid 7) {what}", why, f"hostbridge config set agents_per_hour {more}"
    )


def fake_client(patient, words):
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
        (f"{VERSION} (Claude Code)", VERSION),
        ("3.0.0 (Claude Code)", f"3.0.0 (hostbridge knows {VERSION} best)"),
        ("", f"no version (hostbridge knows {VERSION} best)"),
    ],
)
def test_another_version_is_a_note(patient, words, found):
    """Known best is the one that the tests drive."""
    path = fake_client(patient, words)

    (finding,) = patient.found(client.version, PATH=path)

    assert finding == ok(f"{patient.root}/bin/claude {found}")


@pytest.mark.parametrize("page", ["internals.md", "testing.md"])
def test_the_pages_name_the_version_that_the_tests_drive(page):
    docs = Path(client.__file__).parents[2] / "docs"

    assert VERSION in (docs / page).read_text()


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
    assert judged([OURS], off=Off({"": 0})) == ok(
        "s1 (pid 7) is open; hostbridge is off here (see `switch`)"
    )
