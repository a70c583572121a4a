"""Joins on the first that succeeds: for pipelines, which compile to the same plans."""

from __future__ import annotations

from engine.playing import Play
from hypothesis import given
from hypothesis import strategies as st


def plan(count, **node):
    """So many agents side by side, and one that waits for any of them."""
    nodes = {
        f"n{i}": {"kind": "agent", "in": [], "caught": "any"} for i in range(count)
    }
    ends = [(name, ["not", 0, ["name", 0, "failed"]]) for name in nodes]
    nodes["join"] = {"kind": "agent", "in": ends, "any": True, **node}
    details = {name: {"agent": name} for name in nodes}
    return {
        "nodes": nodes, "out": [("join", None)], "details": details, "agents": {},
        "flows": {}, "name": "", "params": {}, "vars": {},
    }  # fmt: skip


@given(
    said=st.lists(st.sampled_from(["ok", "failed", "error"]), min_size=1, max_size=4),
    data=st.data(),
)
def test_the_first_success_goes_on_and_cancels_the_rest(said, data):
    play = Play(plan(len(said)), {f"n{i}": [how] for i, how in enumerate(said)})
    order = data.draw(st.permutations([f"n{i}" for i in range(len(said))]))
    done = []
    for name in order:
        if "join" in play.run["open"]:
            break
        play.step([name])
        done.append(name)

    first = next((n for n in order if said[int(n[1:])] == "ok"), None)
    states = {name: entry["state"] for name, entry in play.run["nodes"].items()}
    if first is None:
        assert states["join"] == "skipped"
        assert play.run["status"] == "completed"
    else:
        assert done == order[: order.index(first) + 1]
        assert play.run["open"] == ["join"]
        left = set(order) - set(done)
        assert {name for name, state in states.items() if state == "skipped"} == left
        assert {name for act, _, name in play.last_due if act == "cancel"} == left


def test_a_step_whose_condition_does_not_hold_is_skipped_or_passed():
    """`if` and `skip`, of pipelines."""
    never = ["name", 0, "failed"]
    for skip, state in (("dead", "skipped"), ("pass", "passed")):
        made = plan(1, **{"if": never, "skip": skip})
        play = Play(made, {"n0": ["ok"]})
        play.step(["n0"])
        assert play.run["nodes"]["join"]["state"] == state
        assert play.run["status"] == "completed"


def test_what_nothing_leads_to_is_named():
    made = plan(1)
    made["nodes"]["join"]["in"].append(("join", None))
    made["nodes"]["join"].pop("any")
    play = Play(made, {})
    play.step(["n0"])

    assert (play.run["status"], play.run["why"]) == (
        "failed",
        "join: nothing leads to it",
    )
