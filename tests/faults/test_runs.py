"""Runs of flows under kills and errors at system calls, and by two at once.

Each time: the same end, the same requests, each answer used once, nothing left over.
"""

import json
import random
import re
from functools import partial
from typing import Any

import pytest
from faultlab import Operation, same_after_faults, two_at_once
from flow.simulation import plan_of
from storeworld import answer, claim_all, store_in
from systemcalls import ERRORS

from bridge.config import Settings
from bridge.engine import by_hand
from bridge.engine.advance import advance, advance_all
from bridge.engine.begin import begin
from bridge.engine.view import all_runs, view
from bridge.errors import InvalidRequest
from bridge.flow.compiler import compile_flow
from bridge.flow.parser import parse_flow
from bridge.protocol.response import failed
from bridge.store.live_runs import live_runs
from bridge.store.store import Store

pytestmark = pytest.mark.faults

# So many of one call and error: the first ones tell the most.
MOST = 8
G = "general-purpose"
MAIN = f"""
@top -> {G}:"one {{x?}}":x -> [{G}:"two {{x}}":y || @call:inner(what="{{x}}"):z]
(if issues)~> @top(1) -> retry(1) {{ {G}:"three {{y}} {{z}}" }}
"""
INNER = f'{G}:"inner {{{{what}}}}" -> {G}:"inner end"'


def settings(store: Store) -> Settings:
    nowhere = store.place.state.parent / "nowhere"
    return Settings(home=nowhere, claude_dir=nowhere)


def begun(store: Store, **options: Any) -> str:
    plan = compile_flow(parse_flow(MAIN), lambda _: parse_flow(INNER))
    with store.state() as state:
        return begin(state, plan, **options)


def only_run(store: Store) -> str:
    (found,) = all_runs(store)
    if isinstance(found, tuple):
        raise found[1]
    return found["run"]


def go_on(store: Store) -> None:
    advance_all(store, settings(store))


def answer_all(store: Store) -> int:
    """Answer all that waits; what is said depends only on what is asked."""
    held = claim_all(store)
    for each in held:
        kind = each.prompt.split()[0]
        found = {"issues": ["one"]} if kind in ("two", "inner") else {}
        store.publish(said(each, f"<{each.prompt[:40]}>", **found), source="test")
    return len(held)


def said(asked, text, **fields):
    output = {"status": "success", "summary": text, **fields}
    return answer(asked, text).with_(
        parsed_output=output, raw_output=json.dumps(output)
    )


def fail_one(store: Store) -> None:
    """Of two that run, one fails."""
    first, *_ = claim_all(store)
    end = failed(first, "host_gone", "gone", now_ms=first.created_at)
    store.publish(end, source="test")


def rounds(count: int) -> Any:
    """A state in which so many rounds of answers were given; the last is not heard."""

    def prepare(store):
        begun(store)
        for _ in range(count):
            go_on(store)
            answer_all(store)

    return prepare


def failing(store: Store) -> None:
    plan = plan_of(f'[{G}:"one" || {G}:"two"] -> {G}:"three"')
    with store.state() as state:
        begin(state, plan)
    go_on(store)
    fail_one(store)


def running(store: Store) -> None:
    rounds(1)(store)
    go_on(store)


def failed_below(store: Store) -> None:
    """An agent of a called flow has failed, and the run with it."""
    running(store)
    for each in claim_all(store):
        if each.prompt.startswith("inner"):
            end = failed(each, "host_gone", "gone", now_ms=each.created_at)
            store.publish(end, source="test")
    go_on(store)


def cancel(store: Store) -> None:
    advance(store, settings(store), only_run(store), by_hand.cancel)


def pause(store: Store) -> None:
    advance(store, settings(store), only_run(store), by_hand.pause)


def resume(store: Store) -> None:
    advance(store, settings(store), only_run(store), by_hand.resume)


def jump(store: Store) -> None:
    """To the step that calls the flow; not once more if it is done."""
    run = view(store, only_run(store))
    (call,) = (
        node for node, each in run.plan["nodes"].items() if "call" in each["kind"]
    )
    if run.run["nodes"][call].get("visit", 1) > 1:
        raise InvalidRequest("it has jumped")
    advance(store, settings(store), run.run["run"], partial(by_hand.jump, node=call))


BY_HAND = (cancel, pause, resume, jump)

OPERATIONS = [
    *(Operation(f"round {n}", rounds(n), go_on) for n in (0, 1, 2, 3, 6, 7)),
    Operation("failure", failing, go_on),
    Operation("cancel", running, cancel),
    Operation("pause", running, pause),
    Operation("resume", failed_below, resume),
    Operation("jump", running, jump),
]


def ended(store: Store, operation: Operation) -> dict[str, Any]:
    """Everything that is left once all is done that there was to do."""
    if operation.act in BY_HAND:
        # Its user asks again if the first time was broken.
        try:
            operation.act(store)
        except InvalidRequest:
            go_on(store)
    if operation.act is pause:
        answer_all(store)
        go_on(store)
        resume(store)
    for _ in range(20):
        go_on(store)
        if not answer_all(store):
            break
    go_on(store)
    return left(store)


def left(store: Store) -> dict[str, Any]:
    # What a response that was linked has still to be followed by.
    store.sweep(everything=True)
    with store.state() as state:
        assert live_runs(state) == []
    found: dict[str, Any] = {}
    for file in store.place.state.glob("runs/*/*"):
        if file.name == "run.json":
            run = json.loads(file.read_text())
            kept = (
                "status", "why", "open", "nodes", "vars", "loops", "asked", "called",
                "resumed", "out",
            )  # fmt: skip
            found[file.parent.name] = {key: run[key] for key in kept}
        elif not file.name.startswith("."):
            found[f"{file.parent.name}/{file.name}"] = None
    for folder in ("requests", "processing", "done"):
        for file in store.place.state.glob(f"{folder}/[!.]*"):
            record = json.loads(file.read_text())
            found[file.stem] = folder, record["prompt"], record["status"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_a_kill_or_an_error_at_any_call_changes_nothing(operation):
    """A full disk, and others: whoever looks when it works again goes on."""
    end = partial(ended, operation=operation)
    same_after_faults(operation, end, ERRORS, MOST)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in (1, 2))]
)
def test_two_who_advance_at_once_and_are_killed_come_to_the_same_end(tmp_path, seed):
    dice = random.Random(seed)  # noqa: S311 - no secret
    quiet, crowd = (store_in(tmp_path / name) for name in ("quiet", "crowd"))
    ends = []
    for store in (quiet, crowd):
        run = begun(store)
        for _ in range(60):
            if store is crowd:
                two_at_once(partial(go_on, store), kill_after_s=dice.random() * 0.1)
            else:
                go_on(store)
            if not answer_all(store):
                break
        ends.append(plain(left(store), run))
    assert ends[1] == ends[0]


def plain(found: dict[str, Any], run: str) -> list[str]:
    """Without times, and without the ids that follow from that of the run."""
    lines = [f"{name}: {what}".replace(run, "RUN") for name, what in found.items()]
    lines = [re.sub(r"'at': \d+", "", line) for line in lines]
    return sorted(re.sub(r"\bf[0-9a-f]{15}\b", "CHILD", line) for line in lines)
