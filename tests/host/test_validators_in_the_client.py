"""Builders and validators as agents of a real session: approved, mended, escalated."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aheadclock import AheadClock
from gitworld import Repository
from hostworld import host_world
from polling import wait_until
from validatorworld import APPROVED, ISSUE, REJECTED

from bridge.api.bridge import Bridge
from bridge.api.run_flow import Runner
from bridge.api.validate import begin_build
from bridge.api.validation_result import build_of_run
from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.view import view
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply
from bridge.testing.stage.turns import ApiRequest
from bridge.validation.report import Verdict

pytestmark = pytest.mark.host

LOGIC, SECURITY = "Judge the logic", "could be abused"
BOTH = ("validator-logic", "validator-security")
TASK = "Write three lines into the file a."


class Agents:
    """What the agents of the session do, by what they are told."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.logic: list[Any] = [APPROVED]
        self.security_s = 0.0
        self.briefs: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, prompt: str, _request: ApiRequest) -> Any:
        with self._lock:
            if LOGIC in prompt:
                said = self.logic.pop(0) if len(self.logic) > 1 else self.logic[0]
                return reply(json.dumps(said))
            if SECURITY in prompt:
                return reply(json.dumps(APPROVED), delay_s=self.security_s)
            self.briefs.append(prompt)
            self.file.write_text("line\n" * len(self.briefs))
        done = {"status": "success", "summary": f"built {len(self.briefs)}"}
        return reply(json.dumps(done | {"files": ["a"], "evidence": []}))


@pytest.fixture
def agents(tmp_path):
    return Agents(tmp_path / "project" / "a")


@pytest.fixture
def world(tmp_path, agents):
    with host_world(tmp_path, obedient_model(agents)) as world:
        repository = Repository(world.stage.project)
        repository.git("status", "--porcelain")
        yield world


def begun(world, **options):
    """A build that nobody follows: the session's hooks take it on."""
    runner = Runner(world.store, world.bridge.settings, world.bridge.quick)
    run, _ = begin_build(runner, TASK, {"validators": BOTH, **options})
    advance(world.store, world.bridge.settings, run)
    return run


def wait_for(world, run, is_so):
    wait_until(lambda: is_so(view(world.store, run)), timeout_s=300, what=world.story())


def test_a_change_that_both_approve_is_approved_at_once(world, agents):
    agents.file.write_text("one\ntwo\nthree\nfour\n")
    with world.stream():
        found = world.bridge.validate(validators=BOTH, intent="a line more")

    assert found.verdict is Verdict.APPROVED
    assert [each.validator for each in found.reports] == [*BOTH]
    told = [str(turn.body["messages"]) for turn in world.api.turns("subagent")]
    assert len([each for each in told if "+four" in each]) >= len(BOTH)
    # Neither the change nor a report is in the session's own conversation.
    main = [str(turn.body["messages"]) for turn in world.api.turns("main")]
    assert not any("+four" in each or "verdict" in each for each in main)


def test_rejected_twice_it_is_mended_with_their_words_and_approved(world, agents):
    """No process of ours waits: hooks lead from one round to the next."""
    agents.logic = [REJECTED, REJECTED, APPROVED]
    with world.stream():
        run = begun(world)
        wait_for(world, run, lambda seen: seen.run["status"] != "running")

    done = build_of_run(world.store, run)
    assert (done.status, done.why, done.approved_by) == ("completed", "", "validators")
    assert [str(each.verdict) for each in done.rounds] == [
        "REJECTED", "REJECTED", "APPROVED",
    ]  # fmt: skip
    first, second, third = agents.briefs
    assert ISSUE["message"] not in first
    assert f"shop.py:1: error: {ISSUE['message']} [validator-logic]" in second
    assert "This is round 3 of 3." in third


def test_escalated_it_waits_for_its_user_and_ends_with_the_word(world, agents):
    agents.logic = [REJECTED]
    with world.stream():
        run = begun(world, rounds=1)
        wait_for(world, run, lambda seen: any(seen.checkpoints()))
        act = partial(by_hand.say, node=None, text="yes", by="a test")
        advance(world.store, world.bridge.settings, run, act)
        wait_for(world, run, lambda seen: seen.run["status"] != "running")

    done = build_of_run(world.store, run)
    assert (done.is_approved, done.approved_by) == (True, "person")
    assert (done.verdict, len(done.rounds)) == (Verdict.REJECTED, 1)


def test_a_validator_that_never_answers_approves_nothing(world, agents):
    agents.file.write_text("one\n")
    agents.security_s = 600
    clock = AheadClock()
    asker = Bridge(world.bridge.settings, world.stage.project, clock=clock)

    def put_forward():
        wait_until(world.responses, what="what the other says")
        clock.ahead_s = 3600

    with world.stream(), ThreadPoolExecutor(1) as pool:
        pool.submit(put_forward)
        found = asker.validate(validators=BOTH, timeout_s=600)

    assert found.verdict is Verdict.NEEDS_REVIEW
    logic, security = found.reports
    assert logic.verdict is Verdict.APPROVED
    assert (security.verdict, security.code) == (Verdict.NEEDS_REVIEW, "timeout")
