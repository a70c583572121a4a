"""A run of a plan in memory, with known answers: nobody is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.engine.answers import Answers
from bridge.engine.asks import Texts
from bridge.engine.by_hand import takes_words, unclear
from bridge.engine.facts import called_failed, fact_in, refused, why_failed
from bridge.engine.link import link
from bridge.engine.run_ids import child_id, request_id
from bridge.engine.step import Step
from bridge.engine.waiting import awaited
from bridge.errors import InvalidRequest
from bridge.flow.filling import as_text, instruction_of
from bridge.flow.problems import near
from bridge.policy.condition import ConditionError
from bridge.protocol.consent import Consent, consent_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.engine.facts import Fact
    from bridge.engine.run import Run
    from bridge.flow.plan import Plan
    from bridge.store.state import State

_ENDS: dict[str, Fact] = {
    "failed": ("failed", "it says that it failed"),
    "blocked": ("failed", "it says that it is blocked"),
}


class RehearsedStep(NamedTuple):
    """One who would be asked, what, and what the file says that comes back."""

    node: str
    who: str
    text: str
    answer: Any


class _Known(Answers):
    """Answers that a file has given."""

    def __init__(self, run: Run) -> None:
        state: State = None  # type: ignore[assignment]  # nothing of it is on disk
        super().__init__(state, run)
        self.given: dict[str, Any] = {}

    def whole(self, asked: str) -> Any:
        """The whole answer to something that was asked."""
        return self.given.get(asked)

    def needed(self, asked: str) -> Any:
        """As `whole`: nothing of it can be lost."""
        return self.whole(asked)

    def output(self, name: str) -> Any:
        """What a step of a pipeline gave; null if it has not, or has failed."""
        entry = self.run["nodes"].get(name, {})
        if entry.get("state") not in ("ok", "failed"):
            return None
        asked = request_id(self.run, name)
        if entry.get("kind") == "background":
            return {"request_id": asked, "run_id": asked}
        return self.given.get(child_id(asked) if entry["kind"] == "call" else asked)

    def awaited(self, asked: str) -> Any:
        """What a wait comes to: what is known of the agents that it waits for."""
        found = [self.given.get(each) for each in self.entry(asked).get("awaits", ())]
        return found[0] if len(found) == 1 else found or None


class Rehearsal:
    """A run that asks nobody.

    `answers` are by the name of an agent, a checkpoint, a called flow or a node: one,
    or a list of which each call takes the next, the last for ever. Without one it went
    well, and nothing is known of it. `language` is that of whoever wrote them.
    """

    def __init__(
        self, plan: Plan, run: Run, answers: Mapping[str, Any], language: str = ""
    ) -> None:
        self.plan, self.details = link(plan)
        # No file has the prompts of its temporary agents.
        self.details["details"] = {
            name: {**detail, "prompt": instruction_of(plan, detail)}
            for name, detail in plan["details"].items()
        }
        self.run = run
        self._language = language
        self._known = _Known(run)
        self._answers = {
            k: [*v] if isinstance(v, list) else [v] for k, v in answers.items()
        }
        known = {*self.plan["nodes"], *map(self._who, self.plan["nodes"])}
        if unknown := answers.keys() - known:
            name = min(unknown)
            hint = near(name, sorted(known - {""}))
            raise InvalidRequest(f"no agent is called {name!r} in this flow{hint}")

    def go(self) -> Iterator[RehearsedStep]:
        """Whom it would ask, in order, until it ends.

        Raises:
            UnclearAnswer: a checkpoint's answer is neither a yes nor a no.
        """
        facts: dict[str, Fact] = {}
        while True:
            known = self._known
            made = Step(self.plan, self.run, known.truth, value=known.evaluated)
            known.follow(made.run)
            made.hear(facts)
            made.lead_on()
            self.run = made.run
            self.run["due"] = []
            facts = {}
            if self.run["status"] != "running":
                return
            for node in self.run["open"]:
                try:
                    asked = self._asked(node)
                except ConditionError as exc:
                    facts[request_id(self.run, node)] = ("error", exc.message)
                    continue
                yield asked
                facts[request_id(self.run, node)] = self._heard(node, asked.answer)

    def _who(self, node: str) -> str:
        detail = self.details["details"][node]
        return (
            detail.get("own") or detail.get("agent") or detail.get("flow")
            or detail.get("label") or self._in_pipeline(node)
        )  # fmt: skip

    def _in_pipeline(self, node: str) -> str:
        """Who does a step of a pipeline, as far as that is written."""
        detail = self.details["details"][node]
        agent = detail.get("call", {}).get("agent")
        if isinstance(agent, str):
            return agent
        return detail["tool"]["name"] if "tool" in detail else detail.get("says", "")

    def _asked(self, node: str) -> RehearsedStep:
        left = self._answers.get(node) or self._answers.get(self._who(node)) or [None]
        answer = left.pop(0) if len(left) > 1 else left[0]
        texts = Texts(self.run, self.details, self._known)
        match self.plan["nodes"][node]["kind"]:
            case "agent":
                text = texts.prompt(node)
            case "call":
                given = texts.given(node).items()
                text = "\n".join(f"{name}={value}" for name, value in given)
            case "tool" | "exec" | "worktree" as kind:
                detail: Any = self.details["details"][node][kind]
                code = detail["argv"] if kind == "exec" else detail["arguments"]
                value = self._known.evaluated(code)
                text = as_text(value)
                is_set = kind == "tool" and detail["name"] == "set"
                answer = value if is_set and answer is None else answer
            case "wait":
                text = ", ".join(awaited(self.plan["nodes"][node]))
                if answer is None:
                    answer = self._known.awaited(request_id(self.run, node))
            case _:
                text = texts.question(node)
        return RehearsedStep(node, self._who(node), text, answer)

    def _heard(self, node: str, answer: Any) -> Fact:
        asked = request_id(self.run, node)
        kind = self.plan["nodes"][node]["kind"]
        self._known.given[child_id(asked) if kind == "call" else asked] = answer
        if "background" in self.plan["nodes"][node]:
            return "ok", ""
        if kind == "tool" and self._who(node) == "fail":
            tool = self.details["details"][node]["tool"]
            return "error", why_failed(self._known.evaluated(tool["arguments"]))
        if kind == "approval" and not isinstance(answer, dict | None):
            return self._consent(node, answer)
        report = answer if isinstance(answer, dict) else {}
        status, summary = str(report.get("status")), as_text(report.get("summary"))
        if status == "error":
            return "error", summary or "it did not answer"
        if kind == "call" and status == "failed" and summary:
            return called_failed(summary)
        return fact_in(answer) or _ENDS.get(status, ("ok", ""))

    def _consent(self, node: str, answer: Any) -> Fact:
        """What an answer is to a checkpoint; true and false are a yes and a no."""
        said = "yes" if answer is True else "no" if answer is False else answer
        consent = consent_of(as_text(said), self._language)
        if consent is Consent.NO:
            return refused(as_text(said))
        takes = takes_words(self.plan["nodes"], self.run, node)
        if consent is Consent.UNCLEAR and not takes:
            raise unclear(as_text(answer), node)
        return "ok", ""
