"""`--together` of `validate` and `build`: one agent, and a report of each."""

import json

import pytest
from validatorworld import APPROVED, REJECTED, Validators, change

pytestmark = [pytest.mark.usefixtures("beside"), pytest.mark.slow]
LOGIC, SECURITY = "validator-logic", "validator-security"
TWO = ("--with", f"{LOGIC},{SECURITY}", "--together")
BOTH = {LOGIC: APPROVED, SECURITY: APPROVED}
ONE_REJECTS = {LOGIC: APPROVED, SECURITY: REJECTED}


@pytest.fixture
def changed(project):
    change(project)
    return project


def test_one_agent_is_asked_and_the_verdict_has_a_line_for_each(changed, host):
    agents = Validators(changed, validator_logic=[ONE_REJECTS])
    changed.env["BRIDGE_SLOTS"] = "1"

    with host.serving(agents):
        ran = changed.run("validate", *TWO)

    assert (ran.code, agents.asked) == (1, [LOGIC]), ran
    lines = ran.out.splitlines()
    assert [line.partition(" (")[0] for line in lines[1:3]] == [
        f"{LOGIC}: approved",
        f"{SECURITY}: rejected",
    ]
    assert f"shop.py:1: error: a price of 1 [{SECURITY}]" in lines
    assert lines[-1] == f"{LOGIC}, {SECURITY}: asked together, in one reading"
    # Nobody had to wait for another.
    assert "slot" not in ran.err


def test_who_is_asked_alone_is_named_with_the_reason(changed, host):
    agents = Validators(changed, validator_logic=[BOTH])

    with host.serving(agents):
        ran = changed.run("validate", "--complexity", "medium", "--together", "--json")

    assert sorted(agents.asked) == [LOGIC, "validator-syntax"]
    assert ran.json["readings"] == [
        f"{LOGIC}, {SECURITY}: asked together, in one reading",
        "validator-syntax: asked alone: it has require_verified_evidence",
    ]


def test_after_a_kill_the_one_answer_still_counts(changed, host, until):
    ran = changed.start("validate", *TWO)
    (request,) = until(host.claim)
    ran.kill()
    ran.communicate(timeout=300)
    run = request.request_id.partition("-")[0]
    host.answer(request, json.dumps(ONE_REJECTS))

    again = changed.run("run", "--resume", run)

    again.tells(1, f"shop.py:1: error: a price of 1 [{SECURITY}]")
    steps = changed.run("runs", "show", run, "--json").json["steps"]
    states = {each["id"]: each["state"] for each in steps}
    assert (states[LOGIC], states[SECURITY]) == ("ok", "skipped")


def test_each_round_of_a_build_asks_one(changed, host):
    agents = Validators(changed, validator_logic=[ONE_REJECTS, BOTH])
    agents.texts = ["def price(): return 3\n", "def price(): return 4\n"]

    with host.serving(agents):
        ran = changed.run("build", "A price", *TWO, "--json")

    assert (ran.code, ran.json["isApproved"]) == (0, True), ran
    assert agents.asked == ["developer", LOGIC] * 2
    assert f"[{SECURITY}]" in agents.prompts_of("developer")[1]
