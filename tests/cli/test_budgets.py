"""What is said, and done, while a limit of the session holds a request back."""

import pytest
from fakeclaude import BY_CLAUDE, SERVED
from spent import MINUTE_MS, spent

from bridge.store.clock import SystemClock, uptime
from bridge.store.sessions import SessionLimits
from bridge.store.spending import HOUR_MS

pytestmark = [pytest.mark.usefixtures("claude"), pytest.mark.slow]

FALLBACK = ("--fallback-after", "1000", "--fallback", "claude")
CURE = "hostbridge config set agents_per_hour 4"


def spend(host, *, left_ms: int = 20 * MINUTE_MS) -> None:
    """The session has started its two agents of this hour."""
    ago_ms = HOUR_MS - left_ms
    limits = SessionLimits(slots=4, agents_per_hour=2)
    used = spent(uptime(SystemClock()), ago_ms, ago_ms - 1)
    host.change(spent=used, limits=limits)


def fill(project, host) -> None:
    """The only slot of the session is taken."""
    host.change(limits=SessionLimits(slots=1, agents_per_hour=200))
    project.submit("the first")
    assert len(host.claim()) == 1


def shown_by(text: str) -> str:
    return " ".join(text.split())


def test_a_spent_budget_is_shown(project, host):
    spend(host)
    request = project.submit(timeout_s=7200)
    why = (
        "session session-1: 2 of 2 agents of this hour are used up "
        "(agents_per_hour); the next agent may start in 20 min"
    )

    status, show = project.run("status"), project.run("show", request)
    waited = project.run("wait", request, "--timeout", "0.2")
    as_json = project.run("status", "--json").json["requests"][0]["heldBack"]

    assert f"held back: {why}; more now: {CURE}" in shown_by(status.out)
    assert f"why it waits {why}: {CURE}" in shown_by(show.out)
    assert f"{why}; more now: {CURE}" in shown_by(waited.err)
    left_s = as_json.pop("freesInS")
    assert 600 < left_s <= 1200
    limit = {"limit": "agents_per_hour", "session": "session-1", "used": 2, "most": 2}
    assert as_json == {**limit, "why": why, "cure": CURE}


def test_taken_slots_are_shown(project, host):
    fill(project, host)
    project.submit()

    ran = project.run("status")

    assert shown_by(
        "held back: session session-1: 1 of 1 agents are busy (slots); it goes on when "
        "one of them ends; more now: hostbridge config set slots 2"
    ) in shown_by(ran.out)


def test_a_session_that_may_start_no_agent_is_shown(project, host):
    """With nothing waiting, too: it looked as if it took requests."""
    host.change(limits=SessionLimits(slots=4, agents_per_hour=0))

    ran = project.run("status")

    words = "session-1\topen, may start no agent now (agents_per_hour)\t0 of 4"
    assert words in ran.out


def test_a_budget_that_is_nearly_used_up_is_shown(project, host):
    """Before it holds anything back."""
    limits = SessionLimits(slots=4, agents_per_hour=200, tokens_per_session=1000)
    used = spent(uptime(SystemClock()), 2, 1, tokens=415)
    host.change(spent=used, limits=limits)
    request = project.submit("the first")
    host.claim()

    status, show = project.run("status"), project.run("show", request)
    (session,) = project.run("status", "--json").json["sessions"]

    assert "has used 83 % of tokens_per_session (830 of 1,000)" in shown_by(status.out)
    assert "830 of 1,000 tokens of this session are used" in shown_by(show.out)
    assert "% of agents_per_hour" not in status.out
    every = shown_by(project.run("status", "--all").out)
    assert "has used 1 % of agents_per_hour (2 of 200)" in every
    assert {"key": "tokens_per_session", "used": 830, "most": 1000} in session[
        "budgets"
    ]
    assert (session["started"], session["untold"]) == (2, 0)


def test_a_raised_limit_is_no_failure_any_more(project, host):
    """A warning whose cure was taken sends people looking for what is not there."""
    spend(host)
    assert "(budget)" in project.run("ask", "?", "--route", "claude").err
    before = project.run("doctor").out

    host.change(limits=SessionLimits(slots=4, agents_per_hour=9))

    assert "ended with budget" in before
    assert "ended with budget" not in project.run("doctor").out


@pytest.mark.usefixtures("beside")
def test_a_spent_budget_falls_back_at_once(project, host):
    """Time does not free a session's, and when an hour's is free is known."""
    spend(host)
    by_hour = project.run("ask", "?", *FALLBACK)
    host.change(
        spent=spent(uptime(SystemClock()), 1, tokens=9),
        limits=SessionLimits(slots=4, agents_per_hour=9, tokens_per_session=9),
    )
    assert by_hour == project.run("ask", "?", *FALLBACK) == (0, SERVED, BY_CLAUDE)


def test_busy_agents_are_waited_for(project, host):
    """Any of them may end at any moment."""
    fill(project, host)

    ran = project.run("ask", "?", "--fallback-after", "0.5", *FALLBACK[2:], "--json")

    record = ran.json
    assert (ran.code, record["route"]) == (0, "claude")
    assert record["duration"] > 500


def test_a_budget_that_frees_in_time_is_waited_for(project, host):
    spend(host, left_ms=1000)

    with host.serving(after_s=0.1):
        ran = project.run("ask", "?", *FALLBACK, "--json")

    assert (ran.code, ran.json["route"]) == (0, "host")


def test_error_a_fallback_inside_a_spent_session(project, host):
    """It would be a way around the budget: `claude -p` counts there, too."""
    spend(host)

    project.run("ask", "?", *FALLBACK).refuses(
        1,
        "2 of 2 agents of this hour are used up (agents_per_hour)",
        f"more now: {CURE}",
    )
