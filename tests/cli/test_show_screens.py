"""The story of a request as people see it, at 60, 80 and 120 columns."""

import json
import os
import time
from pathlib import Path

import pytest
from screens import on_terminal, same_as_file, too_wide

from bridge.api.history import Story
from bridge.api.hosts import why_no_host
from bridge.cli.records.show_text import StoryScreen
from bridge.protocol.claim import Claim
from bridge.protocol.claimed_commands import ToolCall
from bridge.protocol.request import Request
from bridge.protocol.response import answered, failed
from bridge.protocol.status import Status
from bridge.protocol.usage import Usage
from bridge.store.host_process import identify

ID = "1k0t3fvvgkr-n-hj92wn"
STATE = Path("/home/u/.hostbridge/state/home/u/app/@")
ASKED_MS = 1_795_400_000_000
PROMPT = (
    "Which modules under src/ have no test at all? Name them, with one reason each."
)
SAID = {
    "status": "success",
    "summary": "billing has no test: its three functions are called by nothing below "
    "tests/",
    "evidence": [{"type": "command", "content": "3 passed", "command": "pytest -q"}],
}


@pytest.fixture(autouse=True)
def _utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def request(**more):
    usual = {
        "request_id": ID, "agent_type": "validator-logic", "prompt": PROMPT,
        "requester": "make (pid 21358)", "created_at": ASKED_MS, "timeout": 300_000,
    }  # fmt: skip
    return Request(**usual | more)


def claim(**more):
    # Elsewhere, so that nobody here can tell whether it lives.
    host = identify(os.getpid()).with_(pid=4711, pid_namespace="elsewhere")
    session = "0c5e2a9e-6b0f-4c55-8a53-0f3f1d6b7c11"
    usual = {"session": session, "host": host, "at": ASKED_MS + 90, "offers": (1,)}
    return Claim(**usual | {"launched_at": ASKED_MS + 900} | more)


def event(after_ms, name, **facts):
    return {"at": ASKED_MS + after_ms, "event": name, "requestId": ID, **facts}


TAKEN = (
    event(0, "submitted", agent="validator-logic", by="make (pid 21358)"),
    event(90, "claimed", session="0c5e2a9e-6b0f-4c55-8a53-0f3f1d6b7c11", pid=4711),
    event(900, "launched"),
)
CALLS = (
    ToolCall("Grep", "t1", None, ok=True),
    ToolCall("Bash", "t2", "pytest -q --tb=short tests/billing " * 3, ok=False),
    ToolCall("Bash", "t3", "pytest -q"),
)


def story(**more):
    usual = {
        "request_id": ID, "status": Status.PROCESSING, "problem": None,
        "request": request(), "response": None, "history": TAKEN, "runs": (),
        "calls": CALLS, "messages": (), "turns": (), "evidence": (),
        "files": (STATE / "processing" / f"{ID}.json", STATE / "events.jsonl"),
    }  # fmt: skip
    return Story(**usual | more)


def drawn(name, told, *, after_s, **more):
    def at(width):
        now_ms = ASKED_MS + after_s * 1000
        return StoryScreen(told, now_ms=now_ms, width=width, **more).lines()

    same_as_file(name, at)


def test_show_running():
    drawn("show-running", story(request=request(claim=claim())), after_s=42)


def test_show_waiting():
    waiting = request()
    told = story(
        status=Status.PENDING, request=waiting, history=TAKEN[:1], calls=(), files=()
    )
    why = why_no_host(waiting, [], "/home/u/app")
    drawn("show-waiting", told, after_s=5, why_waiting=why)


def test_show_answered():
    asked = request(claim=claim(), status=Status.COMPLETED)
    facts = {"now_ms": ASKED_MS + 4_200, "route": "host", "failure": None}
    response = answered(asked, raw=json.dumps(SAID), parsed=SAID, **facts)
    usage = Usage(input_tokens=2150, output_tokens=660, requests=3)
    response = response.with_(usage=usage, model="claude-haiku-4-5")
    in_the_end = usage + Usage(cache_read_tokens=81_900, output_tokens=7, requests=1)
    ended = {"status": Status.COMPLETED, "response": response, "usage": in_the_end}
    history = (*TAKEN, event(4_200, "completed", source="SubagentStop"))
    files = (STATE / "done" / f"{ID}.json", STATE / "responses" / f"{ID}.json")
    told = story(request=asked, **ended, history=history, files=files)
    drawn("show-answered", told, after_s=7_500)


def test_show_failed():
    asked = request(claim=claim(corrections=2, last_failure="no_json"))
    words = "I looked at every module. " * 12
    response = failed(
        asked, "no_json", "text instead of JSON", now_ms=ASKED_MS + 61_000, raw=words
    )
    by = {"source": "SubagentStop"}
    history = (
        *TAKEN,
        event(30_000, "evidence", **by, reason="no_json: text"),
        event(30_001, "corrected"),
        event(61_000, "failed", **by, code="no_json"),
    )
    ended = {"status": Status.FAILED, "response": response, "history": history}
    rejected = {**by, "reason": "no_json", "rawOutput": words}
    told = story(request=asked, **ended, calls=(), evidence=(rejected,))
    drawn("show-failed", told, after_s=90)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_line_of_a_hostile_prompt_begins_at_the_edge(project, columns):
    """A terminal goes on at its edge: a long line could pose as one of ours there."""
    project.submit(
        "x" * columns + " " + "status\u00a0\u00a0\u00a0\u00a0completed " * 20
    )

    shown = on_terminal(project, "show", columns=columns, NO_COLOR="1")

    assert too_wide(shown, columns) == []
    prompt = shown.partition("characters)\n")[2].partition("\nwhy it waits\n")[0]
    assert all(line.startswith("    ") for line in prompt.splitlines())
