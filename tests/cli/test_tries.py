"""What people see of a request that waits for its next try."""

import re
import time

import pytest
from aheadclock import AheadClock

from bridge.protocol.ids import RequestId
from bridge.protocol.response import failed

pytestmark = pytest.mark.slow

LIMIT = "You've hit your limit · \x1b[31mresets in 2 hours"


@pytest.fixture
def paused(project, host):
    """Met a limit of the plan; returns the id."""
    request_id = project.submit("Which?", timeout_s=86_400)
    fail(host, "quota", LIMIT)
    return request_id


def fail(host, code, words):
    (request,) = host.claim()
    response = failed(request, code, words, now_ms=host.store.now_ms())
    again = host.store.end_try(
        response, is_mine=lambda claim: claim.host == host.claimant.host, source="test"
    )
    assert again is not None
    return again


def clocks(text: str) -> str:
    """Times of day made equal, those of another day, too."""
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d|\d\d:\d\d:\d\d", "TIME", text)


def test_status_says_until_when_it_waits(project, paused):
    ran = project.run("status")

    (line,) = [each for each in ran.out.splitlines() if each.startswith(paused)]
    assert clocks(line.split("\t")[1]) == "paused: waiting until TIME (quota)"


def test_status_names_the_try(project, host):
    request_id = project.submit("Which?", max_attempts=3, timeout_s=86_400)
    # Its pause of a second is still to come when the command has started.
    host.store.clock = clock = AheadClock()
    clock.ahead_s = 3600
    fail(host, "agent_error", "it broke")

    ran = project.run("status", "--json")

    (request,) = ran.json["requests"]
    assert (request["requestId"], request["stage"]) == (request_id, "paused")
    assert clocks(request["waits"]["what"]) == (
        "pause before try 2 of 3, until TIME (agent_error)"
    )


def test_show_lists_each_try_and_its_words(project, paused):
    ran = project.run("show", paused)

    text = clocks(ran.out)
    assert "status    paused: waiting until TIME (quota)\n" in text
    assert "tries that failed\n    TIME  try 1  quota: You've hit your limit" in text
    assert "failed: quota; to be tried again from TIME\n" in text
    assert "\x1b" not in ran.out


def test_show_keeps_the_tries_after_the_end(project, host):
    request_id = project.submit("Which?")
    again = fail(host, "agent_error", "it broke")
    time.sleep(max(0.0, ((again.due_ms or 0) - host.store.now_ms()) / 1000))
    (request,) = host.claim()
    host.answer(request, '{"status": "success", "summary": "billing"}')

    ran = project.run("show", request_id)

    assert "try 1  agent_error: it broke\n" in ran.out
    assert "success: billing" in ran.out


def test_a_wait_that_ends_says_what_was_waited_for(project, paused):
    project.run("wait", paused, "--timeout", "0").refuses(
        5,
        "it waited for the time of its next try",
        "waiting for the usage limit to reset at ",
    )


@pytest.mark.usefixtures("beside")
def test_it_can_be_answered_by_hand_and_cancelled(project, host, paused):
    other = project.submit("Why?", timeout_s=86_400)
    fail(host, "quota", LIMIT)

    ran = project.run(
        "respond", paused, "-", stdin=b'{"status": "success", "summary": "by me"}'
    )
    cancelled = project.run("cancel", other)

    assert (ran.code, cancelled.code) == (0, 0)
    found = [host.store.find(RequestId(each)).status for each in (paused, other)]
    assert found == ["completed", "cancelled"]


def test_options_are_written_down(project, host):
    ran = project.run("submit", "Which?", "--max-attempts", "7", "--no-wait-quota")

    request = host.store.find(RequestId(ran.out.strip())).request
    assert (request.max_attempts, request.wait_quota) == (7, False)
