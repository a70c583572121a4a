"""A plan run as its page says it runs, in the plainest way: one node after the other.

`went` gives the agents in the order in which they ran. Answers are `ok`, `failed`,
`issues` or `error`; an agent with several gives one at each call, the last for ever.
"""

from dataclasses import dataclass, field
from typing import Any

from bridge.flow.checks import check_flow
from bridge.flow.compiler import compile_flow
from bridge.flow.parser import parse_flow
from bridge.flow.plan import Code, Plan
from bridge.policy.condition import decide

WORDS = ("passed", "success", "failed", "issues")


def plan_of(source: str) -> Plan:
    """The plan of a flow without errors."""
    flow = parse_flow(source)
    assert check_flow(flow).errors == []
    return compile_flow(flow)


def went(source: str, **answers: str) -> str:
    """Which agents ran, and how it ended, where that is not well."""
    run = Run(plan_of(source), {name: said.split() for name, said in answers.items()})
    run.go()
    return " ".join(run.asked + ([f"!{run.failed}"] if run.failed else []))


def holds(code: Code, ends: list[str], **scope: Any) -> bool:
    """Whether a condition holds of steps that ended so."""
    each = [
        {
            "passed": end in {"ok", "issues"},
            "success": end in {"ok", "issues"},
            "failed": end in {"failed", "error"},
            "issues": end == "issues",
        }
        for end in ends
    ]
    every = {word: all(said[word] for said in each) for word in WORDS}
    some = {word: any(said[word] for said in each) for word in WORDS}
    words = every | {"failed": some["failed"], "issues": some["issues"]}
    return decide(code, words | {"all": every, "any": some} | scope) == "yes"


@dataclass
class Run:
    """A run of a plan."""

    plan: Plan
    answers: dict[str, list[str]]
    values: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    failed: str = ""
    ended: dict[str, str] = field(default_factory=dict)
    tokens: dict[tuple[str, str, int], bool] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    forced: set[str] = field(default_factory=set)

    def go(self) -> None:
        """Decide nodes until there is none left, or the run has failed."""
        while not self.failed:
            for name in self.plan["nodes"]:
                if name not in self.ended and self.decide(name):
                    break
            else:
                return

    def decide(self, name: str) -> bool:
        """Run or skip a node; False if it has to wait."""
        edges = self.plan["nodes"][name]["in"]
        tokens = [self.tokens.get((s, name, i)) for i, (s, _) in enumerate(edges)]
        if name not in self.forced:
            if None in tokens:
                return False
            if edges and not any(tokens):
                self.end(name, "skipped")
                return True
        self.forced.discard(name)
        self.run(name)
        return True

    def run(self, name: str) -> None:
        node, detail = self.plan["nodes"][name], self.plan["details"][name]
        if node["kind"] == "pass":
            if self.is_last(node) and self.holds(node["last"]["when"], self.last(name)):
                self.failed = name
            elif not self.jump(name):
                how = "passing"
                if "fail" in node and self.holds(node["fail"], self.own(name)):
                    how = "failed"
                    if "caught" not in node:
                        self.failed = name
                self.end(name, how)
            return
        said = "error"
        for _ in range(1 + node.get("retry", 0)):
            who = detail.get("own") or detail.get("agent") or detail.get("flow")
            self.asked.append(who or f"@{detail['label']}")
            said = self.answer(self.asked[-1])
            if said in {"ok", "issues"}:
                break
        caught = {"failed": {"failed"}, "any": {"failed", "error"}}
        if said in {"failed", "error"} - caught.get(node.get("caught", ""), set()):
            self.failed = name
        self.end(name, said)

    def answer(self, who: str) -> str:
        left = self.answers.get(who, ["ok"])
        return left.pop(0) if len(left) > 1 else left[0]

    def jump(self, name: str) -> bool:
        for back in self.plan["nodes"][name].get("back", ()):
            when = back["when"]
            if when is not None and not self.holds(when, self.own(name)):
                continue
            count = self.counts.get(name, 0)
            if count == back["max"]:
                continue
            order = list(self.plan["nodes"])
            first, last = map(order.index, back["body"])
            for each in order[first : last + 1]:
                self.ended.pop(each, None)
                self.counts.pop(each, None)
                for token in [t for t in self.tokens if t[0] == each]:
                    del self.tokens[token]
            self.counts[name] = count + 1
            self.forced.add(back["to"])
            return True
        return False

    def is_last(self, node: Any) -> bool:
        """Whether the loop that a node is in may not go back once more."""
        if "last" not in node:
            return False
        jump = node["last"]["jump"]
        (back,) = self.plan["nodes"][jump]["back"]
        return self.counts.get(jump, 0) == back["max"]

    def end(self, name: str, how: str) -> None:
        """Decide a node's edges together."""
        self.ended[name] = how
        about = {name} if how != "passing" else self.last(name)
        for to, node in self.plan["nodes"].items():
            for i, (source, code) in enumerate(node["in"]):
                if source == name:
                    holds = code is None or (
                        how != "skipped" and self.holds(code, about)
                    )
                    self.tokens[name, to, i] = how != "skipped" and holds

    def last(self, name: str) -> set[str]:
        """The steps that the words of a `pass` are about."""
        node = self.plan["nodes"][name]
        found: set[str] = set()
        for i, (source, _) in enumerate(node["in"]):
            if self.tokens.get((source, name, i)):
                is_pass = self.plan["nodes"][source]["kind"] == "pass"
                if self.ended[source] != "passing":
                    found.add(source)
                found |= self.last(source) if is_pass else set()
        if "since" in node:
            found = self.own(name, found) or found
        return found

    def own(self, name: str, found: set[str] | None = None) -> set[str]:
        """Those of the last steps that do not stand before `since`."""
        found = self.last(name) if found is None else found
        order = list(self.plan["nodes"])
        since = order.index(self.plan["nodes"][name].get("since", order[0]))
        return {each for each in found if order.index(each) >= since}

    def holds(self, code: Code, about: set[str]) -> bool:
        ends = [self.ended[each] for each in about]
        return holds(code, ends, variables=self.values)
