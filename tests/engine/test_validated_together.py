"""One agent judges for several validators; each has a report of its own."""

import pytest
from engine.buildworld import APPROVED, ISSUE, REJECTED, TWO, BuildWorld

from bridge.validation.report import Verdict

pytestmark = pytest.mark.slow

LOGIC, SECURITY = TWO


@pytest.fixture
def world(tmp_path):
    world = BuildWorld(tmp_path)
    world.repository.write("a", "one\n2\nthree\n")
    return world


def verdicts(found):
    return {each.validator: str(each.verdict) for each in found.reports}


def test_one_agent_is_asked_once_for_both(world):
    run = world.validate(together=True)

    (request,) = world.waiting().values()
    assert (request.agent_type, request.model) == (LOGIC, "opus")
    assert request.timeout == 2 * 900_000
    assert request.answer_schema["required"] == [LOGIC, SECURITY]
    assert request.definition.prompt.count("\n-two\n+2\n") == 1
    assert world.states(run)[SECURITY] == "skipped"


def test_what_all_approve_is_approved(world):
    run = world.validate(together=True)

    ended = world.say(run, logic={LOGIC: APPROVED, SECURITY: APPROVED})

    found = world.validation(run)
    assert (ended["status"], found.verdict) == ("completed", Verdict.APPROVED)
    assert verdicts(found) == {LOGIC: "APPROVED", SECURITY: "APPROVED"}
    assert len({each.request_id for each in found.reports}) == 1
    assert found.readings == (f"{LOGIC}, {SECURITY}: asked together, in one reading",)


@pytest.mark.parametrize("rejects", TWO)
def test_one_that_rejects_rejects_for_itself_alone(world, rejects):
    run = world.validate(together=True)

    world.say(run, logic={**dict.fromkeys(TWO, APPROVED), rejects: REJECTED})

    found = world.validation(run)
    (other,) = {*TWO} - {rejects}
    assert found.verdict is Verdict.REJECTED
    assert verdicts(found) == {rejects: "REJECTED", other: "APPROVED"}
    (issue,) = (each for report in found.reports for each in report.issues)
    assert issue.message == ISSUE["message"]


@pytest.mark.parametrize("missing", TWO)
def test_an_answer_without_a_part_approves_nothing(world, missing):
    run = world.validate(together=True)
    answer = dict.fromkeys(TWO, APPROVED)
    del answer[missing]

    world.say(run, logic=answer)

    found = world.validation(run)
    assert found.verdict is Verdict.NEEDS_REVIEW
    assert verdicts(found)[missing] == "NEEDS_REVIEW"


def test_an_agent_that_fails_has_approved_for_none_of_them(world):
    run = world.validate(together=True)
    world.answer(LOGIC, "host_gone")

    ended = world.do_all(run)

    found = world.validation(run)
    assert ended["status"] == "completed"
    assert found.verdict is Verdict.NEEDS_REVIEW
    assert [each.code for each in found.reports] == ["host_gone"] * 2


@pytest.mark.parametrize("is_accepted", [False, True])
def test_a_degraded_answer_counts_for_none_unless_accepted(world, is_accepted):
    run = world.validate(together=True, accept_degraded=is_accepted)
    world.answer_with(LOGIC, dict.fromkeys(TWO, APPROVED), degraded=True)

    world.do_all(run)

    found = world.validation(run)
    wanted = "APPROVED" if is_accepted else "NEEDS_REVIEW"
    assert {*verdicts(found).values()} == {wanted}
    assert all(each.degraded for each in found.reports)


def test_who_must_show_evidence_is_asked_alone_and_it_says_so(world):
    names = ("validator-syntax", *TWO)
    run = world.validate(*names, together=True)

    assert sorted(world.waiting()) == [LOGIC, "validator-syntax"]
    world.say(run, logic=dict.fromkeys(TWO, APPROVED), syntax=APPROVED)
    found = world.validation(run)
    expected = "validator-syntax: asked alone: it has require_verified_evidence"
    assert found.readings[1] == expected
    # What one was seen to run counts for no other.
    verified = {each.validator: each.verified for each in found.reports}
    assert verified == {"validator-syntax": True, LOGIC: False, SECURITY: False}


def test_only_those_that_the_change_needs_are_in_it(world):
    """One that is left is asked as it always is."""
    low = {"named": False, "complexity": "low"}
    run = world.validate("validator-syntax", *TWO, together=True, **low)

    request = world.waiting()[LOGIC]
    assert (request.model, request.timeout) == ("sonnet", 900_000)
    assert "verdict" in request.answer_schema["required"]
    assert SECURITY not in world.waiting()
    world.say(run, logic=APPROVED)
    assert LOGIC in verdicts(world.validation(run))


def test_a_build_asks_once_in_each_round(world):
    world.repository.write("a", "one\ntwo\nthree\n")
    run = world.build(look={"together": True})
    world.built(run)
    first = world.waiting()[LOGIC].request_id
    world.say(run, logic={LOGIC: APPROVED, SECURITY: REJECTED})

    assert f"[{SECURITY}]" in world.waiting()["a"].prompt
    world.built(run, "one\n2\n3\n")
    assert [*world.waiting()] == [LOGIC]
    assert world.waiting()[LOGIC].request_id != first
    world.say(run, logic=dict.fromkeys(TWO, APPROVED))

    done = world.result(run)
    assert [str(each.verdict) for each in done.rounds] == ["REJECTED", "APPROVED"]
    assert (done.is_approved, done.asked) == (True, 4)


def test_a_run_that_goes_on_asks_the_same_agent_again_for_nothing(world):
    """Advanced again, as after a kill, it makes no second request."""
    run = world.validate(together=True)
    (before,) = world.waiting().values()
    world.repository.write("a", "something else\n")

    world.do_all(run)
    world.do_all(run)

    (after,) = world.waiting().values()
    assert after.request_id == before.request_id
    world.say(run, logic=dict.fromkeys(TWO, APPROVED))
    # Nobody has seen what was written meanwhile.
    assert world.validation(run).verdict is Verdict.NEEDS_REVIEW
