"""Overviews of a project, as values: what `status` draws."""

from __future__ import annotations

from bridge.api.live_requests import LiveRequest
from bridge.api.project_status import EndedRequest, OpenSession, Overview

STATE = "/home/u/.hostbridge/state/home/u/app/@"
QUESTION = "Which modules under src/ have no test at all, and why is that so?"


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
        "pid": 4711, "seen": "alive", "wakes": True, "is_off": False, "running": 1,
        "slots": 4, "cwd": "/home/u/app", "started": 3, "agents_per_hour": 50,
        "off_s": None, "budgets": (), "untold": 0,
    }  # fmt: skip
    return OpenSession(**{"session_id": name} | usual | more)


def seen(**more):
    return Overview(
        "/home/u/app", STATE, **{"is_off": False, "is_off_here": False} | more
    )
