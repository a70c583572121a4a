"""A step leads on from what has ended, whatever the order in which it is heard of."""

from collections import Counter

import pytest
from engine.playing import Play
from flow.simulation import Run, plan_of
from flow.test_properties import ANSWERS, BODIES, CAUGHT, QUESTIONS, numbered
from hypothesis import given
from hypothesis import strategies as st

from bridge.flow import syntax_tree as tree
from bridge.flow.compiler import compile_flow

pytestmark = pytest.mark.slow


@st.composite
def loops(draw):
    """A flow in which a body is gone through again, and once more around that."""
    body = draw(BODIES)
    for label in draw(st.sampled_from([[], ["inner"], ["inner", "outer"]])):
        again = tree.Segment(
            (tree.Mark(label, bound=draw(st.integers(1, 2))),), draw(QUESTIONS)
        )
        first = tree.Segment((tree.Mark(label), tree.Group(body)))
        after = tree.Segment((tree.Call("x"),), draw(QUESTIONS))
        body = tree.Sequence((first, again, after))
    return numbered(body)


def played(plan, said, data, **fields):
    """A run to its end; each time any of those that are open have answered."""
    play = Play(plan, {name: [*each] for name, each in said.items()}, **fields)
    for _ in range(10_000):
        if play.run["status"] != "running":
            return play
        count = data.draw(st.integers(1, len(play.run["open"])))
        chosen = data.draw(st.permutations(play.run["open"]))[:count]
        play.step(chosen)
    raise AssertionError("it does not end")


@given(body=loops(), answers=ANSWERS, data=st.data())
def test_a_run_asks_whom_the_reference_asks(body, answers, data):
    """One that decides a node after the other, and waits for each answer at once."""
    whole = tree.Sequence((tree.Segment((tree.Group(body),)), CAUGHT))
    plan = compile_flow(tree.Flow(whole))
    said = {f"agent{n}": answers[n % 7 : n % 7 + 6] for n in range(1_000)}
    reference = Run(plan, {name: [*each] for name, each in said.items()})
    reference.go()

    play = played(plan, said, data)

    assert (play.run["status"] == "failed") == bool(reference.failed)
    if not reference.failed:
        assert Counter(play.agents()) == Counter(reference.asked)
        ends = {name: e["state"] for name, e in play.run["nodes"].items()}
        assert ends == {name: STATES[end] for name, end in reference.ended.items()}
    assert len(set(play.asked)) == len(play.asked)


STATES = {
    "ok": "ok", "issues": "ok", "failed": "failed", "error": "error",
    "passing": "passed", "skipped": "skipped",
}  # fmt: skip


def test_failures_heard_of_at_once_stop_a_run_once():
    """Two branches fail between two looks; what the third answered is kept."""
    play = Play(plan_of("[a || b || c || d]"), {"a": ["error"], "b": ["failed"]})

    play.step(["node-0", "node-1", "node-2"])

    assert play.run["status"] == "failed"
    assert play.last_due == [("cancel", "r-node-3-1-1", "node-3"), ("tell", "r", "")]
    ends = [entry["state"] for entry in play.run["nodes"].values()]
    assert ends == ["stopped", "stopped", "ok", "cancelled"]


def test_loops_in_loops_that_ask_nobody_end():
    """A thousand times a thousand rounds would take the hook's time, and the lock."""
    play = Play(plan_of("a -> @x -> @y -> @z -> @z(999) -> @y(999) -> @x(999)"), {})

    play.step(["node-0"])

    why = "node-4: it jumps back again and again, and asks no agent"
    assert (play.run["status"], play.run["why"]) == ("failed", why)


def test_a_run_by_itself_may_ask_as_many_as_its_budget_says():
    play = Play(plan_of("a -> b"), {}, agents=1, tokens=1)
    assert play.agents() == ["a"]

    play.step(["node-0"])

    assert (play.run["status"], play.run["asked"]) == ("paused", 1)
