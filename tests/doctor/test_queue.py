"""Why requests stand still: the table of common issues, from records alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from bridge.doctor import requests as queue_check
from bridge.doctor.finding import Finding, Verdict
from bridge.doctor.requests import NO_SESSION, Queue, judge
from bridge.host.wake_problems import JUST_STARTED, NO_WATCH, UNANSWERED
from bridge.protocol.request import Claim, HostProcess, Request
from bridge.store.host_process import identify
from bridge.store.sessions import HOUR_MS, Session

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Patient

NOW = 1_800_000_000_000
HOST = HostProcess(pid=7, start_time="1", boot="b")
OTHER = HostProcess(pid=8, start_time="1", boot="b")


def session(**fields: Any) -> Session:
    given = {"session_id": "s1", "host": HOST, "registered_at": NOW, "wakes": True}
    return Session(**{**given, **fields})


def request(**fields: Any) -> Request:
    given = {"request_id": "r1", "prompt": "?", "created_at": NOW - 60_000}
    return Request(**{**given, **fields})


def claim(**fields: Any) -> Claim:
    return Claim(**{"session": "s1", "host": HOST, "at": NOW - 90_000, **fields})


def served_by(pid: int) -> Claim:
    return claim(route="claude", host=identify(pid), launched_at=NOW)


def queue(**fields: Any) -> Queue:
    given: dict[str, Any] = {
        "waiting": (),
        "held": (),
        "live": (session(),),
        "off": frozenset(),
        "is_off": False,
        "is_off_here": False,
        "slots": 4,
        "agents_per_hour": 50,
        "now_ms": NOW,
    }
    return Queue(**{**given, **fields})


CASES = {
    "nothing": (queue(), Verdict.OK, "none waits; 0 running"),
    "an agent at work": (
        queue(held=(request(claim=claim(launched_at=NOW - 50_000)),)),
        Verdict.OK,
        "none waits; 1 running",
    ),
    "overdue, whatever else": (
        queue(waiting=(request(timeout=60_000),), live=()),
        Verdict.WARNING,
        "1 overdue: r1",
    ),
    "overdue in the hands of an agent": (
        queue(held=(request(timeout=60_000, claim=claim(launched_at=NOW)),)),
        Verdict.WARNING,
        "1 overdue: r1",
    ),
    "switched off": (
        queue(waiting=(request(),), is_off=True),
        Verdict.PROBLEM,
        "1 waiting, and the bridge is switched off: r1",
    ),
    "no session": (
        queue(waiting=(request(),), live=()),
        Verdict.PROBLEM,
        "1 waiting, and no session is open that could answer: r1",
    ),
    "no session, and none would answer": (
        queue(waiting=(request(),), live=(), is_off_here=True),
        Verdict.PROBLEM,
        "1 waiting, and no session is open; BRIDGE_OFF is set in this shell: r1",
    ),
    "off in this shell, not in the session": (
        queue(waiting=(request(created_at=NOW - 1),), is_off_here=True),
        Verdict.OK,
        "1 asked just now: r1",
    ),
    "for another session": (
        queue(waiting=(request(session="s2"),)),
        Verdict.WARNING,
        "1 waiting for a session that is not open: r1",
    ),
    "for a former id of this one": (
        queue(
            waiting=(request(session="s0", created_at=NOW - 1),),
            live=(session(former_ids=("s0",)),),
        ),
        Verdict.OK,
        "1 asked just now: r1",
    ),
    "declined": (
        queue(waiting=(request(declined_by=("s1",)),)),
        Verdict.PROBLEM,
        "1 waiting, and every open session has declined: r1",
    ),
    "session off": (
        queue(waiting=(request(),), off=frozenset({"s1"})),
        Verdict.WARNING,
        "1 waiting, and the sessions that could take it are switched off: r1",
    ),
    "budget": (
        queue(
            waiting=(request(),),
            live=(session(launches=(NOW - HOUR_MS - 1, NOW - 2, NOW - 1)),),
            agents_per_hour=2,
        ),
        Verdict.WARNING,
        "1 waiting, and the sessions have used up their agents of this hour: r1",
    ),
    "slots": (
        queue(
            waiting=(request(),),
            held=(request(request_id="r2", claim=claim(launched_at=NOW)),),
            slots=1,
        ),
        Verdict.OK,
        "1 waiting for a free slot: r1",
    ),
    "for a process of ours": (
        queue(waiting=(request(route="local"),)),
        Verdict.WARNING,
        "1 waiting for `hostbridge serve`: r1",
    ),
    "for a process of ours, just now": (
        queue(waiting=(request(route="local", created_at=NOW - 2_000),), live=()),
        Verdict.OK,
        "1 asked just now: r1",
    ),
    "served": (
        queue(held=(request(claim=served_by(os.getpid())),), live=()),
        Verdict.OK,
        "none waits; 1 running",
    ),
    "served by a process that is gone": (
        queue(held=(request(claim=claim(route="claude", launched_at=NOW)),)),
        Verdict.WARNING,
        "1 held by a process that served it and is gone: r1",
    ),
    "asked just now": (
        queue(waiting=(request(created_at=NOW - 2_000),)),
        Verdict.OK,
        "1 asked just now: r1",
    ),
    "has no watch": (
        queue(waiting=(request(),), unheard={"s1": NO_WATCH}),
        Verdict.WARNING,
        "1 waiting, and the open session does not watch its bell: r1",
    ),
    "does not answer its bell": (
        queue(waiting=(request(),), unheard={"s1": UNANSWERED}),
        Verdict.PROBLEM,
        "1 waiting, and the open session has not answered its bell: r1",
    ),
    "has just started": (
        queue(waiting=(request(),), unheard={"s1": JUST_STARTED}),
        Verdict.OK,
        "1 waiting, and the open session has just started: r1",
    ),
    "one of two hears": (
        queue(
            waiting=(request(),),
            live=(session(), session(session_id="s2")),
            unheard={"s1": NO_WATCH},
        ),
        Verdict.PROBLEM,
        "1 waiting, though a session is open that should have taken it: r1",
    ),
    "hooks do not process": (
        queue(waiting=tuple(request(request_id=f"r{n}") for n in range(5))),
        Verdict.PROBLEM,
        "5 waiting, though a session is open that should have taken it: r0, r1, r2, …",
    ),
    "offered, no agent started": (
        queue(held=(request(claim=claim(offers=(NOW - 90_000, NOW))),)),
        Verdict.WARNING,
        "1 offered, but no agent was started: r1",
    ),
    "offered just now": (
        queue(held=(request(claim=claim(offers=(NOW - 1_000,))),)),
        Verdict.OK,
        "none waits; 1 running",
    ),
    "its session is gone": (
        queue(held=(request(claim=claim(host=OTHER, launched_at=NOW)),)),
        Verdict.WARNING,
        "1 held by a session that is gone: r1",
    ),
    "killed while it was claimed": (
        queue(held=(request(),)),
        Verdict.WARNING,
        "1 held by a session that is gone: r1",
    ),
}


@pytest.mark.parametrize(("seen", "verdict", "found"), CASES.values(), ids=CASES)
def test_each_reason_has_its_words(seen: Queue, verdict: Verdict, found: str) -> None:
    (finding,) = judge(seen)

    assert (finding.name, finding.verdict, finding.found) == (
        "requests",
        verdict,
        found,
    )
    assert verdict is Verdict.OK or (finding.cause and finding.cure)


def test_reasons_do_not_hide_each_other() -> None:
    seen = queue(waiting=(request(), request(request_id="r2", session="s2")))

    assert [f.found.partition(":")[0] for f in judge(seen)] == [
        "1 waiting, though a session is open that should have taken it",
        "1 waiting for a session that is not open",
    ]


def requests_of(patient: Patient) -> Path:
    """The folder of what waits, made as ours alone."""
    folder = patient.state / "requests"
    folder.mkdir(parents=True)
    for path in (patient.bridge, *patient.state.parents, patient.state):
        if patient.bridge in (path, *path.parents):
            path.chmod(0o700)
    return folder


def test_a_request_on_disk_that_nobody_can_take(patient: Patient) -> None:
    """The whole way, from the file that a program wrote by hand."""
    folder = requests_of(patient)
    (folder / "by-hand.json").write_text(
        '{"requestId": "by-hand", "agentType": "Explore", "prompt": "?"}'
    )

    findings = patient.found(queue_check.stuck)

    assert findings == [
        Finding(
            "requests",
            Verdict.PROBLEM,
            "1 waiting, and no session is open that could answer: by-hand",
            NO_SESSION.cause,
            "start `claude` in the project; if one is open, see `hooks` and `session`",
        )
    ]


def test_a_file_that_nobody_can_read_is_named(patient: Patient) -> None:
    """It waits for ever, and nobody who asks learns of it."""
    folder = requests_of(patient)
    file = folder / "cut.json"
    file.write_text('{"prompt": ')
    os.utime(file, (0, 0))
    (folder / "new.json").write_text('{"schemaVersion": 99, "prompt": "?"}')

    (newer, finding, *_) = patient.found(queue_check.stuck)

    assert (newer.found, newer.cure) == (
        "1 waiting for a newer hostbridge: new",
        "upgrade this one",
    )

    assert (finding.verdict, finding.found) == (
        Verdict.WARNING,
        "1 waiting, and nobody can read it: cut",
    )
    assert finding.cause.startswith(f"{folder}/cut.json: ")


def test_an_offer_of_500_requests_stays_below_the_clients_cap(patient: Patient) -> None:
    (finding,) = patient.found(queue_check.output_cap)

    assert finding == Finding(
        "output", Verdict.OK, "500 offers at once are 9,000 characters in the session"
    )
