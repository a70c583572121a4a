"""Hooks of step workflows under kills: an event counts once, an agent is asked once.

A hook may be killed at any system call. The same event again, or the next one, comes to
the same step, the same request, and what the model has to be told is told.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from faultlab import Operation, prepared, tell
from stepflows import compiled
from storeworld import this_process

from bridge.config import Settings
from bridge.host.active_steps import answer_with_steps
from bridge.host.context import HookContext
from bridge.host.conversations import conversation_in
from bridge.host.events import HookEvent
from bridge.host.registration import register
from bridge.protocol.hook_output import SILENT, HookOutput
from bridge.store import sessions, step_states
from bridge.store.sessions import Session, SessionLimits
from bridge.store.store import Store
from bridge.store.variables import Holder, values_of
from bridge.workflows import progress

pytestmark = pytest.mark.faults

LIMITS = SessionLimits(slots=4, agents_per_hour=100)
TEXT = """
    name: careful
    variables: {n: 0, helper: null}
    steps:
      - name: one
        on_tool: {Bash: {do: [{increment_variable: n}]}}
        transitions: [{to: two, when: n >= 1}]
      - name: two
        on_enter:
          - spawn_agent: {agent: general-purpose, prompt: Help., into: helper}
          - inject_message: Wait for it.
"""


def settings_of(store: Store) -> Settings:
    return Settings(home=Path(store.place.guard) / "home", claude_dir=Path("/nowhere"))


def session_of(store: Store, name: str = "s-1") -> Session:
    return Session(
        session_id=name,
        host=this_process(),
        registered_at=store.now_ms(),
        limits=LIMITS,
    )


def begun(store: Store) -> None:
    with store.open() as opened:
        sessions.save(opened, session_of(store))
        here = conversation_in(settings_of(store), opened, session_of(store))
        found = progress.begin(opened, here, compiled(TEXT), by="person")
        progress.told(opened, here.holder, found.rev)


def after_bash(store: Store, call: str = "toolu_1") -> HookOutput:
    """The hook after a call; it prints, and notes what it has told."""
    raw = {
        "hook_event_name": "PostToolUse",
        "session_id": "s-1",
        "tool_name": "Bash",
        "tool_use_id": call,
        "tool_response": {"stdout": ""},
    }
    with store.open() as opened:
        hook = HookContext(
            settings_of(store), opened, HookEvent(raw), session_of(store), []
        )
        output = answer_with_steps(hook, lambda _hook: SILENT)
    if output.printed is not None:
        output.printed(hook._replace(store=store))
    return output


def cleared(store: Store) -> None:
    """`/clear`: the process has another session id."""
    event = HookEvent({"session_id": "s-2", "hook_event_name": "SessionStart"})
    with store.open() as opened:
        register(opened, event, this_process(), None, LIMITS)


def look(store: Store, session: str) -> dict[str, Any]:
    holder = Holder.session(session)
    record = step_states.find(store, holder) or {}
    folder = store.place.state / "sessions"
    values = values_of(store, holder)
    return {
        "step": record.get("step"),
        "visit": record.get("visit"),
        "pending": record.get("pending"),
        "n": values.get("n"),
        "helper": bool(values.get("helper")),
        "asked": len([*store.waiting(), *store.claimed()]),
        "sign": (folder / f"{session}.steps").exists(),
    }


def broken_everywhere(operation: Operation, check: Any) -> int:
    cases = 0
    with prepared(operation) as state:
        for kill, store, _outcome in state.killed():
            check(store, kill)
            cases += 1
    return cases


@pytest.mark.slow
def test_a_hook_that_is_killed_in_a_transition_is_made_good():
    """One agent is asked, and its offer is told at the latest by the next hook."""
    expected = {
        "step": "two", "visit": 2, "pending": None, "n": 1, "helper": True,
        "asked": 1, "sign": True,
    }  # fmt: skip

    def check(store, where):
        before = step_states.find(store, Holder.session("s-1"))
        untold = before["untold"] if before and before["step"] == "two" else None
        again = after_bash(store)

        assert look(store, "s-1") == expected, where
        if untold != []:
            (request,) = store.claimed()
            said = json.loads(again.stdout)["hookSpecificOutput"]["additionalContext"]
            assert f"bridge:{request.request_id}" in said, where
            assert "Wait for it." in said, where
        assert after_bash(store, "toolu_1").stdout == b"", where

    operation = Operation("after a call", begun, after_bash)
    cases = broken_everywhere(operation, check)
    tell(f"step workflow, a hook after a call: {cases} kill points")


@pytest.mark.slow
def test_a_hook_that_is_killed_at_clear_loses_no_workflow():
    def check(store, where):
        if sessions.find_session(store, "s-2", this_process()) is None:
            cleared(store)
        found = look(store, "s-2")

        assert (found["step"], found["n"], found["sign"]) == ("one", 0, True), where
        assert step_states.find(store, Holder.session("s-1")) is None, where

    operation = Operation("clear", begun, cleared)
    cases = broken_everywhere(operation, check)
    tell(f"step workflow, /clear: {cases} kill points")
