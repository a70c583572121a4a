"""Overviews of a project, as values: what `status` draws."""

from bridge.api.live_requests import LiveRequest
from bridge.api.project_status import EndedRequest, OpenSession, Overview
from bridge.api.runs_now import LiveRun, LiveStep

STATE = "/home/u/.hostbridge/state/home/u/app/@"
QUESTION = "Which modules under src/ have no test at all, and why is that so?"

RUNS = (
    LiveRun(
        "r1k0y4tkwf8gj62q", "mend", "running", 2, 9, "node-3, node-4", (), 130.0,
        (
            LiveStep("node-3", "builder: Mend what they found", "running", 12.0, "x"),
            LiveStep("node-4", "validator-logic: Check it", "waiting", 3.0, "y"),
        ),
    ),
    LiveRun(
        "r1k0y4tkwf8gj63q", "字字 release", "running", 1, 2, "you",
        ("hostbridge reply r1k0y4tkwf8gj63q",), 30.0,
        (LiveStep("node-1", "Ship it?", "waits for you", 30.0, None),),
    ),
    LiveRun(
        "r1k0y4tkwf8gj64q", "", "paused", 0, 1, "you: paused (by its user)",
        ("hostbridge run --resume r1k0y4tkwf8gj64q",), 5.0,
    ),
)  # fmt: skip


def live(number, stage, **more):
    usual = {
        "is_abandoned": False, "agent": "general-purpose", "priority": "normal",
        "requester": "make (pid 21358)", "route": "host", "session": None,
        "age_s": 130.0, "left_s": 170.0, "excerpt": QUESTION,
    }  # fmt: skip
    name = f"1k0t3fvvgkr-n-hj92w{number}"
    return LiveRequest(**{"request_id": name, "stage": stage} | usual | more)


def ended(number, status="completed", **more):
    usual = {
        "code": None, "agent": "validator-logic", "ago_s": 12.0, "duration_s": 4.25,
        "excerpt": "Is this change ready?",
    }  # fmt: skip
    name = f"1k0t3fvvgka-n-hj92w{number}"
    return EndedRequest(**{"request_id": name, "status": status} | usual | more)


def session(name, **more):
    usual = {
        "pid": 4711, "seen": "alive", "wakes": True,
        "wakes_at_once": False, "is_off": False, "running": 1,
        "slots": 4, "cwd": "/home/u/app", "started": 3, "agents_per_hour": 50,
        "off_s": None, "budgets": (), "untold": 0,
    }  # fmt: skip
    return OpenSession(**{"session_id": name} | usual | more)


def seen(**more):
    return Overview(
        "/home/u/app", STATE, **{"is_off": False, "is_off_here": False} | more
    )
