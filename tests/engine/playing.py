"""A run played in memory: answers come when a test says, in any order."""

from collections.abc import Iterable
from typing import Any

from flow.simulation import holds

from bridge.engine.begin import new_run
from bridge.engine.link import link
from bridge.engine.run_ids import child_id, request_id
from bridge.engine.step import step
from bridge.flow.plan import Plan

_FACTS = {"ok": "ok", "issues": "ok", "failed": "failed", "error": "error"}


class Play:
    """A run, and what those who are asked will say: a list for each, in turn."""

    def __init__(self, plan: Plan, answers: dict[str, list[str]], **fields: Any):
        self.linked, self.details = link(plan)
        self.answers = answers
        self.asked: list[str] = []
        self.said: dict[str, str] = {}
        self.run = {**new_run("r", plan, {}, now_ms=0), **fields}
        self.step([])

    def step(self, ended: Iterable[str]) -> None:
        """What these open nodes were asked is answered."""
        facts = {}
        for name in ended:
            self.said[request_id(self.run, name)] = said = self._answer(name)
            facts[request_id(self.run, name)] = (_FACTS[said], said)
        before = repr(self.run)
        after = step(self.linked, self.run, facts, self.truth)
        assert repr(self.run) == before, "a step changes nothing in place"
        # Who was killed before it could write does the same again.
        assert step(self.linked, self.run, facts, self.truth) == after
        self.run = after
        self.last_due = due = [*after["due"]]
        self.run["due"] = []
        for act, id_, name in due:
            if act in ("ask", "call"):
                wanted = request_id(self.run, name)
                assert id_ == (child_id(wanted) if act == "call" else wanted)
                self.asked.append(id_)

    def _answer(self, name: str) -> str:
        detail = self.details["details"][name]
        left = self.answers.get(detail.get("agent", detail.get("label", "")), ["ok"])
        return left.pop(0) if len(left) > 1 else left[0]

    def truth(self, code, steps, _variables):
        return holds(code, [self.said.get(id_, state) for state, id_ in steps])

    def states(self) -> dict[str, str]:
        """How far each agent is of which anything is known."""
        nodes, known = self.linked["nodes"], self.run["nodes"]
        return {n: known[n]["state"] for n in known if nodes[n]["kind"] == "agent"}

    def agents(self) -> list[str]:
        """Who was asked, in order."""
        nodes = [asked.split("-", 1)[1].rsplit("-", 2)[0] for asked in self.asked]
        return [self.details["details"][node]["agent"] for node in nodes]
