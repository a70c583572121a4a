"""A pipeline's steps end as a reading of it from top to bottom says they do."""

from typing import Any

from engine.pipeworld import condition, pipeline, tool
from hypothesis import given
from hypothesis import strategies as st

from bridge.engine.begin import new_run
from bridge.engine.link import link
from bridge.engine.run_ids import request_id
from bridge.engine.run_scope import scope_of
from bridge.engine.step import Step
from bridge.policy.condition import ConditionError, decide, evaluate

OUTPUTS = [None, True, 3, "a text", {"is_expanded": True}, {"is_expanded": False}]
CONDITIONS = [
    "steps.{0}.output.is_expanded",
    "not steps.{0}.output.is_expanded",
    "steps.{0}.status == 'skipped'",
    "steps.{0}.status == 'failed' or steps.{0}.error",
    "len(steps.{0}.output) > 1",
    "steps.{0}.output > 2",
]


@st.composite
def lines(draw):
    """Steps in a line: what each gives, or that it fails, and when it runs."""
    steps: dict[str, Any] = {}
    for number in range(draw(st.integers(1, 6))):
        how = draw(st.sampled_from(["ok", "ok", "failed", "error"]))
        more = {}
        if number and draw(st.booleans()):
            before = f"s{draw(st.integers(0, number - 1))}"
            more["if"] = draw(st.sampled_from(CONDITIONS)).format(before)
        if draw(st.booleans()):
            more["on_failure"] = "skip"
        if draw(st.integers(0, 3)) == 0:
            more["retry"] = 1
        steps[f"s{number}"] = how, draw(st.sampled_from(OUTPUTS)), more
    return steps


def read_through(steps):
    """How each step ends, one after the other; and whether all of it stops there."""
    known: dict[str, Any] = {}
    outputs: dict[str, Any] = {}
    for name, (how, output, more) in steps.items():
        run: Any = {"nodes": known, "params": {}, "run": "r", "name": ""}
        scope = scope_of(run, outputs.get, str)
        try:
            holds = decide(condition(more.get("if", "true")), scope) == "yes"
        except ConditionError:
            known[name] = {"state": "stopped"}
            return known, "failed"
        if not holds:
            known[name] = {"state": "passed"}
        elif how == "ok" or "on_failure" in more:
            known[name] = {"state": how, "why": "" if how == "ok" else "so"}
            outputs[name] = None if how == "error" else output
        else:
            known[name] = {"state": "stopped"}
            return known, "failed"
    return known, "completed"


def played(steps):
    """The same by the engine, which hears of each end in a step of its own."""
    tools = {name: tool("set", **more) for name, (_, _, more) in steps.items()}
    plan = pipeline(**tools)
    linked, _ = link(plan)
    run = new_run("r", plan, {}, now_ms=0)
    facts: dict[str, Any] = {}
    for _ in range(100):
        made = one_step(steps, linked, run)
        made.hear(facts)
        made.lead_on()
        run = made.run
        if run["status"] != "running":
            break
        facts = {request_id(run, name): (steps[name][0], "so") for name in run["open"]}
    return run


def one_step(steps, linked, run):
    def output(name):
        state = made.run["nodes"].get(name, {}).get("state")
        return steps[name][1] if state in ("ok", "failed") else None

    def truth(code, _steps, _names):
        return decide(code, scope_of(made.run, output, str)) == "yes"

    made = Step(linked, run, truth, None, lambda code: evaluate(code, {}))
    return made


@given(steps=lines())
def test_each_step_ends_as_a_reader_expects(steps):
    expected, status = read_through(steps)

    run = played(steps)

    ends = {name: entry["state"] for name, entry in run["nodes"].items()}
    assert ends == {name: each["state"] for name, each in expected.items()}
    assert run["status"] == status
    tries = {name: entry.get("attempt", 0) for name, entry in run["nodes"].items()}
    for name, (how, _, more) in steps.items():
        if tries.get(name):
            assert tries[name] == 1 + (more.get("retry", 0) if how != "ok" else 0)
