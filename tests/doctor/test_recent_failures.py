"""How the last requests ended: each kind of failure, with its cure."""

import pytest

from bridge.doctor.finding import Verdict, ok, warning
from bridge.doctor.recent_failures import judge
from bridge.protocol.failure_codes import CURES, MEANINGS, TOO_EARLY
from bridge.protocol.request import Request
from bridge.protocol.response import answered, failed
from bridge.protocol.status import Stage

NOW = 1_800_000_000_000
# What a person or an agent wanted is no issue.
WANTED = {"cancelled", "agent_failed", "agent_blocked"}


def ended(code=None, *, at=NOW, name="r1"):
    request = Request(request_id=name, prompt="?", created_at=at - 5)
    if code is None:
        return answered(request, raw="{}", parsed={}, now_ms=at, route="host")
    return failed(request, code, "why", now_ms=at)


@pytest.mark.parametrize("code", sorted(set(CURES) - WANTED - {"timeout"}))
def test_one_failure_is_a_warning(code):
    (finding,) = judge([ended(), ended(code), ended()], NOW)

    assert finding == warning(
        f"1 of the last 3 ended with {code}: r1: why",
        MEANINGS[code],
        CURES[code].replace("hostbridge show ID", "hostbridge show r1"),
    )


@pytest.mark.parametrize("stage", sorted(Stage))
def test_the_cure_for_a_deadline_depends_on_the_stage(stage):
    """A longer one helps only where somebody was at work."""
    request = Request(request_id="r1", prompt="?", created_at=NOW - 5)
    late = failed(request, "timeout", "why", now_ms=NOW, stage=stage)

    (finding,) = judge([late], NOW)

    assert finding.cure == TOO_EARLY.get(
        stage, "ask with a longer deadline (--timeout)"
    )
    assert (stage in TOO_EARLY) == (stage not in {Stage.RUNNING, Stage.INVALID_ANSWER})


def test_the_same_failure_three_times_in_a_row_is_a_problem():
    """A wall that an agent runs into again and again is not bad luck."""
    (finding,) = judge([*[ended("no_json")] * 3, ended()], NOW)

    assert finding.verdict is Verdict.PROBLEM
    assert finding.found == (
        "3 of the last 4 ended with no_json, the newest all in a row: r1: why"
    )


def test_what_was_wanted_and_what_is_old_is_left_out():
    old = ended("timeout", at=NOW - 25 * 3_600_000)

    assert list(judge([ended("cancelled"), old], NOW)) == [
        ok("no failure among the last 1")
    ]
    assert list(judge([], NOW)) == [ok("none in a day")]
