"""Builders and validators as agents of a real session: approved, mended, escalated."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from flowruns import do, wait_for_end
from gitworld import Repository
from hostworld import host_world
from validatorworld import APPROVED, ISSUE, REJECTED

from bridge.api.run_flow import Runner
from bridge.api.validate import begin_build
from bridge.api.validation_result import build_of_run
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
        self.briefs: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, prompt: str, _request: ApiRequest) -> Any:
        with self._lock:
            if LOGIC in prompt:
                said = self.logic.pop(0) if len(self.logic) > 1 else self.logic[0]
                return reply(json.dumps(said))
            if SECURITY in prompt:
                return reply(json.dumps(APPROVED))
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
        runner = Runner(world.store, world.bridge.settings, world.bridge.quick)
        run, _ = begin_build(runner, TASK, {"validators": BOTH})
        do(world, run)
        wait_for_end(world, run)

    done = build_of_run(world.store, run)
    assert (done.status, done.why, done.approved_by) == ("completed", "", "validators")
    verdicts = [str(each.verdict) for each in done.rounds]
    assert verdicts == ["REJECTED", "REJECTED", "APPROVED"]
    first, second, third = agents.briefs
    assert ISSUE["message"] not in first
    assert f"shop.py:1: error: {ISSUE['message']} [validator-logic]" in second
    assert "This is round 3 of 3." in third
