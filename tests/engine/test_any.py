"""Joins on the first that succeeds: for pipelines, which compile to the same plans."""

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
        "flows": {}, "name": "", "inputs": {}, "vars": {},
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


ALIVE = ["not", 0, ["name", 0, "failed"]]


@st.composite
def graphs(draw):
    """Agents and passes; some wait for any of several that come before."""
    nodes, details = {}, {}
    for number in range(draw(st.integers(2, 12))):
        before = st.sampled_from([*nodes, "none"])
        sources = draw(st.sets(before, max_size=4)) - {"none"}
        # A pass may be left by the time that it could lead on: nobody asks what it saw.
        ways = {"agent": st.sampled_from([None, ALIVE]), "pass": st.none()}
        edges = [(each, draw(ways[nodes[each]["kind"]])) for each in sorted(sources)]
        kind = draw(st.sampled_from(["agent", "agent", "pass"]))
        node = {"kind": kind, "in": edges, "any": draw(st.booleans())}
        nodes[f"n{number}"] = node | ({"caught": "any"} if kind == "agent" else {})
        details[f"n{number}"] = {"agent": f"n{number}"}
    led = {source for node in nodes.values() for source, _ in node["in"]}
    out = [(name, None) for name in nodes if name not in led]
    return {
        "nodes": nodes, "out": out, "details": details, "agents": {}, "flows": {},
        "name": "", "inputs": {}, "vars": {},
    }  # fmt: skip


class Reference:
    """The same run by rules that hold anywhere at any time, until none applies."""

    def __init__(self, plan, said, dice):
        self.nodes, self.out = plan["nodes"], {name for name, _ in plan["out"]}
        self.said, self.dice = said, dice
        self.states = {}
        self.settle()

    def settle(self):
        while moves := [n for n in self.nodes if n not in self.states and self.next(n)]:
            name = self.dice.choice(moves)
            self.states[name] = self.next(name)
            self.leave()

    def next(self, name):
        """What becomes of a node now; None if it waits."""
        node = self.nodes[name]
        tokens = [self.token(*edge) for edge in node["in"]]
        starts = "passed" if node["kind"] == "pass" else "open"
        if not tokens or (True in tokens and (node["any"] or None not in tokens)):
            return starts
        return None if None in tokens else "skipped"

    def token(self, source, condition):
        state = self.states.get(source, "open")
        if state in ("open", "skipped"):
            return None if state == "open" else False
        return condition is None or state not in ("failed", "error")

    def leave(self):
        """Whatever is not on a way to the end is of no use any more."""
        useful, found = set(), {*self.out}
        while found:
            useful |= found
            undecided = [n for n in useful if n not in self.states]
            found = {s for n in undecided for s, _ in self.nodes[n]["in"]} - useful
        for name in self.nodes:
            if name not in useful and self.states.get(name, "open") == "open":
                self.states[name] = "skipped"

    def agents(self):
        kinds = {name: node["kind"] for name, node in self.nodes.items()}
        return {n: how for n, how in self.states.items() if kinds[n] == "agent"}

    def end(self, name):
        self.states[name] = self.said[name]
        self.settle()


@given(
    plan=graphs(),
    data=st.data(),
    dice=st.randoms(use_true_random=False),
    said=st.lists(st.sampled_from(["ok", "failed", "error"]), min_size=12, max_size=12),
)
def test_what_leads_only_to_a_join_that_runs_is_left(plan, data, dice, said):
    answers = {f"n{i}": how for i, how in enumerate(said)}
    reference = Reference(plan, answers, dice)
    play = Play(plan, {name: [how] for name, how in answers.items()})
    while True:
        assert play.states() == reference.agents()
        if not play.run["open"]:
            break
        name = data.draw(st.sampled_from(sorted(play.run["open"])))
        play.step([name])
        reference.end(name)

    assert play.run["status"] == "completed"
    assert len(set(play.asked)) == len(play.asked)


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

    expected = ("failed", "join: nothing leads to it")
    assert (play.run["status"], play.run["why"]) == expected
