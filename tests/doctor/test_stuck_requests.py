"""Why requests stand still: the table of common issues, from records alone."""

import os
from pathlib import Path
from typing import Any

import pytest
from spent import UP, spent

from bridge.api.hosts import OFF, OFF_HERE
from bridge.config import Settings
from bridge.doctor import requests as queue_check
from bridge.doctor.finding import Verdict, problem
from bridge.doctor.requests import Queue, judge
from bridge.host.wake_problems import JUST_STARTED, NO_WATCH, UNANSWERED
from bridge.protocol.claim import Claim, FailedTry, HostProcess
from bridge.protocol.request import Request
from bridge.store.host_process import identify
from bridge.store.sessions import Session, SessionLimits
from bridge.store.spending import HOUR_MS
from bridge.store.switch import Off

NOW = 1_800_000_000_000
HOST = HostProcess(pid=7, start_time="1", boot="b")
OTHER = HostProcess(pid=8, start_time="1", boot="b")


def session(**fields):
    usual = {"session_id": "s1", "host": HOST, "registered_at": NOW, "wakes": True}
    return Session(**{**usual, **fields})


def request(**fields):
    usual = {"request_id": "r1", "prompt": "?", "created_at": NOW - 60_000}
    return Request(**{**usual, **fields})


def queue(**fields):
    usual: dict[str, Any] = {
        "project": "/p",
        "waiting": (),
        "held": (),
        "live": (session(),),
        "off": Off(),
        "settings": Settings(Path("/home")),
        "now_ms": NOW,
        "now": UP,
    }
    return Queue(**{**usual, **fields})


def waits(seen=None, **fields):
    """One request with these fields waits in a queue with `seen`."""
    return queue(waiting=(request(**fields),), **(seen or {}))


def unheard(why, **seen):
    """One request waits, and a session does not hear its bell."""
    return waits({"unheard": {"s1": why}, **seen})


def held(*, timeout=120_000, **fields):
    """One request is held, by a claim with these fields."""
    usual = {"session": "s1", "host": HOST, "at": NOW - 90_000}
    claim = Claim(**{**usual, **fields})
    return queue(held=(request(timeout=timeout, claim=claim),))


EVERYTHING = Off({"": 0})
THIS_SESSION = Off({"s1": 0})
SHELL_OFF = {"settings": Settings(Path("/home"), off=True)}
NO_SLOT = session(limits=SessionLimits(slots=0, agents_per_hour=2))
NONE_CAN = "waiting, and no session can take it"
NEW = "ok: asked just now"
NEXT_TRY = "ok: waiting for the time of its next try"
RUNNING = "ok: none waits; 1 running"
NOBODY = {"live": ()}
IS_OFF = NOBODY | SHELL_OFF
TWO = (session(), session(session_id="s2"))
NO_FREE_SLOT = (
    "ok: waiting for a free slot (session s1: 0 of 0 agents are busy (slots); it goes "
    "on when one of them ends; more now: hostbridge config set slots 4)"
)
SPENT = NO_SLOT.with_(spent=spent(UP, HOUR_MS + 1, 2, 1))
LEFT_ALONE = "waiting, though a session is open that should have taken it"
OPEN = "waiting, and the open session"
BUDGET = "waiting, and the sessions have used up a budget (agents_per_hour)"
GONE = "warning: held by a session that is gone"
SERVED = "warning: held by a process that served it and is gone"
NOT_STARTED = "warning: offered, but no agent was started"
LATER = {"not_before": NOW + 1000, "failures": (FailedTry(at=NOW, code="quota"),)}
ME = identify(os.getpid())
FORMER = {"live": (session(former_ids=("s0",)),)}
FIVE = tuple(request(request_id=f"r{n}") for n in range(5))
CASES = {
    "nothing": (queue(), "ok: none waits; 0 running"),
    "an agent at work": (held(launched_at=NOW - 50_000), RUNNING),
    "between two tries, whoever is open": (waits(NOBODY, **LATER), NEXT_TRY),
    "overdue, whatever else": (waits(NOBODY, timeout=60_000), "warning: overdue"),
    "overdue at work": (held(timeout=60_000, launched_at=NOW), "warning: overdue"),
    "switched off": (waits({"off": EVERYTHING}), f"problem: {NONE_CAN}"),
    "no session": (waits(NOBODY), f"problem: {NONE_CAN}"),
    "off in this shell": (waits(IS_OFF), f"problem: {NONE_CAN}"),
    "off in this shell alone": (waits(SHELL_OFF, created_at=NOW - 1), NEW),
    "for another session": (waits(session="s2"), f"warning: {NONE_CAN}"),
    "for a former id": (waits(FORMER, session="s0", created_at=NOW - 1), NEW),
    "declined": (waits(declined_by=("s1",)), f"problem: {NONE_CAN}"),
    "session off": (waits({"off": THIS_SESSION}), f"warning: {NONE_CAN}"),
    "budget": (waits({"live": (SPENT,)}), f"warning: {BUDGET}"),
    "slots": (waits({"live": (NO_SLOT,)}), NO_FREE_SLOT),
    "for us": (waits(route="local"), "warning: waiting for `hostbridge serve`"),
    "for us, just now": (waits(NOBODY, route="local", created_at=NOW - 2_000), NEW),
    "served": (held(route="claude", host=ME, launched_at=NOW), RUNNING),
    "served by nobody any more": (held(route="claude", launched_at=NOW), SERVED),
    "asked just now": (waits(created_at=NOW - 2_000), NEW),
    "has no watch": (unheard(NO_WATCH), f"warning: {OPEN} {NO_WATCH.what}"),
    "does not answer": (unheard(UNANSWERED), f"problem: {OPEN} {UNANSWERED.what}"),
    "has just started": (unheard(JUST_STARTED), f"ok: {OPEN} {JUST_STARTED.what}"),
    "one of two hears": (unheard(NO_WATCH, live=TWO), f"problem: {LEFT_ALONE}"),
    "no hook acts": (queue(waiting=FIVE), f"problem: 5 {LEFT_ALONE}: r0, r1, r2, …"),
    "offered in vain": (held(offers=(NOW - 90_000, NOW)), NOT_STARTED),
    "offered just now": (held(offers=(NOW - 1_000,)), RUNNING),
    "its session is gone": (held(host=OTHER, launched_at=NOW), GONE),
    "killed while it was claimed": (queue(held=(request(),)), GONE),
}


@pytest.mark.parametrize(("seen", "expected"), CASES.values(), ids=CASES)
def test_each_reason_is_explained(seen, expected):
    (finding,) = judge(seen)

    found = finding.found.removeprefix("1 ").removesuffix(": r1")
    assert f"{finding.verdict}: {found}" == expected
    assert finding.verdict == "ok" or (finding.cause and finding.cure)


NO_SESSION = "no Claude Code session with hostbridge is open in /p"
ELSEWHERE = "session 's2' is not open in /p (open: s1)"
DECLINED = "every open session that could take it has declined"
ALL_OFF = "the bridge is switched off in every session that could take it"


@pytest.mark.parametrize(
    ("seen", "cause", "cure"),
    [
        (waits({"off": EVERYTHING}), OFF.why, "`hostbridge on`"),
        (waits(IS_OFF), OFF_HERE.why, "unset BRIDGE_OFF"),
        (waits(NOBODY), NO_SESSION, "start `claude` in /p"),
        (waits(session="s2"), ELSEWHERE, "open it again: `claude --resume s2`"),
        (
            waits(declined_by=("s1",)),
            DECLINED,
            "restart the session, perhaps with another model",
        ),
        (waits({"off": THIS_SESSION}), ALL_OFF, "`hostbridge on --session s1`"),
    ],
)
def test_no_host_is_explained_as_ask_explains_it(seen, cause, cure):
    (finding,) = judge(seen)

    assert (finding.cause, finding.cure) == (cause, cure)


def test_reasons_do_not_hide_each_other():
    seen = queue(waiting=(request(), request(request_id="r2", session="s2")))

    assert [f.found for f in judge(seen)] == [
        f"1 {LEFT_ALONE}: r1",
        f"1 {NONE_CAN}: r2",
    ]


def requests_of(patient):
    """The folder of what waits, made as ours alone."""
    folder = patient.state / "requests"
    folder.mkdir(parents=True)
    for path in (patient.bridge, *patient.state.parents, patient.state):
        if patient.bridge in (path, *path.parents):
            path.chmod(0o700)
    return folder


def test_a_request_on_disk_that_nobody_can_take(patient):
    """The whole way, from the file that a program wrote by hand."""
    (requests_of(patient) / "by-hand.json").write_text(
        '{"requestId": "by-hand", "agentType": "Explore", "prompt": "?"}'
    )

    assert patient.only(queue_check.stuck) == problem(
        "1 waiting, and no session can take it: by-hand",
        f"no Claude Code session with hostbridge is open in {patient.project}",
        f"start `claude` in {patient.project}",
    )


def test_a_file_that_nobody_can_read_is_named(patient):
    """It waits for ever, and nobody who asks learns of it."""
    folder = requests_of(patient)
    (folder / "cut.json").write_text('{"prompt": ')
    os.utime(folder / "cut.json", (0, 0))
    (folder / "new.json").write_text('{"schemaVersion": 99, "prompt": "?"}')

    (newer, finding, *_) = patient.found(queue_check.stuck)

    waits_for = "1 waiting for a newer hostbridge: new"
    assert (newer.found, newer.cure) == (waits_for, "upgrade this one")
    unread = "1 waiting, and nobody can read it: cut"
    assert (finding.verdict, finding.found) == (Verdict.WARNING, unread)
    assert finding.cause.startswith(f"{folder}/cut.json: ")
