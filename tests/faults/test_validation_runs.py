"""Runs of `validate` and `build` under kills: the same verdicts, each agent asked once.

What was read of a change is kept, so that who goes on sees the same.
"""

import json
import random
from functools import partial
from typing import Any

import pytest
from faultlab import Operation, prepared, tell, two_at_once
from faults.test_pipelines import go_on
from faults.test_runs import only_run, plain, settings
from gitworld import Repository
from storeworld import claim_all, store_in
from validatorworld import APPROVED, ISSUE, REJECTED

from bridge.api.validation_result import build_of_run
from bridge.api.validators import find_validators
from bridge.engine.begin import begin
from bridge.protocol.judge import judge
from bridge.protocol.request import Request
from bridge.protocol.response import answered, failed
from bridge.store.store import Store
from bridge.validation.look import Look, Work
from bridge.validation.plans import build_plan

pytestmark = pytest.mark.faults

G = "general-purpose"
TWO = ("validator-logic", "validator-security")


def begun(store: Store, **more: Any) -> str:
    """A build in a repository, by two validators and three rounds at most."""
    Repository(store.place.project)
    found = find_validators(settings(store), store.place.project, TWO)
    given = {"task": "count", "agent": G, "rounds": 3, "escalate_to": "none"}
    plan = build_plan(Look(found, named=True), Work(**given | more))
    with store.state() as state:
        return begin(state, plan)


def answer_all(store: Store) -> int:
    """Answer all that waits; what is said depends only on what is asked."""
    held = claim_all(store)
    for each in held:
        store.publish(said(store, each), source="test")
    return len(held)


def said(store: Store, asked: Request) -> Any:
    """The builder writes a line a round, validators reject until there are three.

    The second one dies in the second round.
    """
    file = store.place.project / "a"
    visit = asked.request_id.rsplit("-", 2)[1]
    if asked.agent_type == G:
        file.write_text("one\n" * int(visit))
        output: Any = {"status": "success", "summary": f"wrote {visit}"}
    elif (asked.agent_type, visit) == ("validator-security", "2"):
        return failed(asked, "host_gone", "gone", now_ms=asked.created_at)
    else:
        output = APPROVED if visit == "3" else REJECTED
    raw = json.dumps(output)
    parsed = judge(asked, raw).parsed
    return answered(
        asked, raw=raw, parsed=parsed, now_ms=asked.created_at, route="host"
    )


def ended(store: Store) -> list[str]:
    """What is left once all is done that there was to do."""
    for _ in range(60):
        go_on(store)
        if not answer_all(store) and view_of(store).status != "running":
            break
    return left(store)


def view_of(store: Store) -> Any:
    return build_of_run(store, only_run(store))


def left(store: Store) -> list[str]:
    """The end without times: who was asked what, and what was said to each round."""
    store.sweep(everything=True)
    done, run = view_of(store), only_run(store)
    found: dict[str, Any] = {
        "end": (done.status, done.why, done.is_approved, done.summary, done.asked)
    }
    for number, each in enumerate(done.rounds):
        reports = [(r.validator, r.verdict, r.code) for r in each.reports]
        found[f"round {number}"] = (each.verdict, each.files, reports)
    for folder in ("requests", "processing", "done"):
        for file in store.place.state.glob(f"{folder}/[!.]*"):
            record = json.loads(file.read_text())
            change = record.get("context", {}).get("change", "")
            change = change.partition("\nindex ")[0]
            found[file.stem] = folder, record["prompt"], change, record["status"]
    return plain(found, run)


def test_the_quiet_run_is_what_these_tests_think(tmp_path):
    store = store_in(tmp_path)
    begun(store)

    ended(store)

    done = view_of(store)
    verdicts = [str(each.verdict) for each in done.rounds]
    assert (done.status, done.is_approved) == ("completed", True)
    assert verdicts == ["REJECTED", "REJECTED", "APPROVED"]
    assert done.rounds[1].reports[1].code == "host_gone"
    assert done.rounds[0].reports[0].issues[0].message == ISSUE["message"]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.full)])
def test_killed_again_and_again_a_build_comes_to_the_same_end(tmp_path, seed):
    dice = random.Random(seed)  # noqa: S311 - no secret
    quiet, crowd = (store_in(tmp_path / name) for name in ("quiet", "crowd"))
    begun(quiet)
    expected = ended(quiet)

    begun(crowd)
    for number in range(100):
        # Reading a change takes a while: some die in it, some behind it. They live ever
        # longer, so that it ends on a slow machine, too.
        longest_s = 0.6 * (1 + number / 10)
        two_at_once(partial(go_on, crowd), kill_after_s=dice.random() * longest_s)
        if not answer_all(crowd) and view_of(crowd).status != "running":
            break

    assert left(crowd) == expected


def rejected(store: Store) -> None:
    """Both validators of the first round have answered, and nobody has heard."""
    begun(store)
    for _ in range(2):
        go_on(store)
        go_on(store)
        answer_all(store)


@pytest.mark.slow
def test_a_kill_at_any_change_of_a_verdict_changes_nothing():
    """The verdict, the jump back, what the builder is told, its request."""
    operation = Operation("verdict", rejected, go_on)
    with prepared(operation) as state:
        expected = told_builder(state.whole())
        for kill, store, _outcome in state.killed():
            go_on(store)
            assert told_builder(store) == expected, kill
    tell(f"verdict: {state.cases} kill points")


def told_builder(store: Store) -> list[str]:
    """What the builder is asked in the second round, and nobody else."""
    run = only_run(store)
    found = [
        json.loads(f.read_text()) for f in store.place.state.glob("requests/[!.]*")
    ]
    return sorted(
        f"{each['requestId']} {each['prompt']}".replace(run, "RUN") for each in found
    )
