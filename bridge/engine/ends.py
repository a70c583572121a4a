"""What has ended of what a run has asked, begun or waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.engine.facts import MAX_QUESTIONS, UNANSWERED, fact_of, fact_of_run, refused
from bridge.engine.marks import is_asked
from bridge.engine.results import has_result
from bridge.engine.run_files import UnknownRun
from bridge.engine.run_ids import child_id, request_id
from bridge.engine.waiting import is_at_work
from bridge.errors import BridgeError
from bridge.store.live_runs import RUNS
from bridge.store.submit import is_submitted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.engine.answers import Answers
    from bridge.engine.facts import Fact
    from bridge.engine.run import Entry, Linked, Time


class Ends:
    """What has ended in the run that these answers are about."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def is_any(self) -> bool:
        """Whether anything may have ended; a look at names, for the many who ask."""
        return any(map(self._may_have_ended, self._answers.run["open"]))

    def _may_have_ended(self, name: str) -> bool:
        """Whether an open step may have ended; a look at names."""
        state, run = self._answers.state, self._answers.run
        entry, asked = run["nodes"][name], request_id(run, name)
        if asked in run["said"] or self._is_past(entry, "deadline"):
            return True
        match entry.get("kind"):
            case "wait":
                awaits = entry.get("awaits", ())
                return self._is_over(entry) or (
                    bool(awaits) and all(map(self._is_there, awaits))
                )
            case "background":
                return is_submitted(state, asked)
            case "tool" | "exec" | "worktree" | "change":
                return has_result(state, run["run"], asked)
        # Of a flow that an older version began, no kind is known.
        answer, child = f"{asked}.json", child_id(asked)
        return state["responses"].has(answer) or state[RUNS].has(child)

    def facts(self, plan: Linked) -> dict[str, Fact]:
        """What has ended of what the run has open."""
        found: dict[str, Fact] = {}
        for name in self._answers.run["open"]:
            asked = request_id(self._answers.run, name)
            fact = ENDS[plan["nodes"][name]["kind"]](self, asked)
            if fact is not None:
                found[asked] = fact
        return found | self._in_background()

    def _in_background(self) -> dict[str, Fact]:
        """How agents have ended whose steps had ended before."""
        found: dict[str, Fact] = {}
        run = self._answers.run
        for name, entry in run["nodes"].items():
            if is_at_work(entry):
                asked = request_id(run, name)
                fact = self._ended(asked)
                if fact is not None:
                    found[asked] = fact
        return found

    def _is_past(self, entry: Entry, which: Time) -> bool:
        return which in entry and self._answers.state.now_ms() >= entry[which]

    def _is_over(self, entry: Entry) -> bool:
        """Whether the time that a wait waits for has come."""
        return self._is_past(entry, "until") or self._is_past(entry, "moment")

    def _is_there(self, asked: str) -> bool:
        """Whether something may have ended that is waited for; a look at names."""
        state = self._answers.state
        return (
            "-" not in asked
            or state["responses"].has(f"{asked}.json")
            or has_result(state, self._answers.run["run"], asked)
        )

    def of_agent(self, asked: str) -> Fact | None:
        """How a request has ended; None if it has not."""
        answers = self._answers
        entry = answers.entry(asked)
        if "waits" in entry:
            return ("answered", "") if asked in answers.run["said"] else None
        if entry.get("kind") == "background":
            is_begun = is_asked(answers.state, answers.run["run"], asked)
            return ("ok", "") if is_begun else None
        response = answers.response(asked)
        if response is None:
            return None
        return ("asks", asked) if self._asks(asked) else fact_of(response)

    def _asks(self, asked: str) -> bool:
        """Whether an agent asks its person something, as often as it may."""
        entry = self._answers.entry(asked)
        is_left = entry.get("questions", 0) < MAX_QUESTIONS
        return is_left and bool(self._answers.question_of(asked))

    def of_person(self, asked: str) -> Fact | None:
        """What a person has said."""
        said = self._answers.run["said"].get(asked)
        if said is not None:
            return ("ok", "") if said["agreed"] else refused(said["text"])
        is_late = self._is_past(self._answers.entry(asked), "deadline")
        return ("failed", UNANSWERED) if is_late else None

    def of_result(self, asked: str) -> Fact | None:
        """How a tool, a program, a worktree or a reading has ended."""
        result = self._answers.result(asked)
        return (result["how"], result["why"]) if result else None

    def of_wait(self, asked: str) -> Fact | None:
        """Whether what a wait waits for has ended, or its time is over."""
        entry = self._answers.entry(asked)
        if awaits := entry.get("awaits"):
            ends = [self._ended(each) for each in awaits]
            known = [end for end in ends if end is not None]
            worst = [end for end in known if end[0] != "ok"]
            if asks := [end for end in known if end[0] == "asks"]:
                return asks[0]
            if len(known) == len(ends):
                return worst[0] if worst else ("ok", "")
        elif self._is_over(entry):
            return "ok", ""
        if self._is_past(entry, "deadline"):
            took_s = (entry["deadline"] - entry["at"]) / 1000
            return "error", f"it had not ended after {took_s:g} s"
        return None

    def _ended(self, asked: str) -> Fact | None:
        """How anything that a step has begun has ended."""
        if "-" not in asked:
            return self.of_flow(asked)
        response = self._answers.response(asked)
        if response is None:
            return self.of_result(asked)
        if "waits" in self._answers.entry(asked):
            return None
        return ("asks", asked) if self._asks(asked) else fact_of(response)

    def of_flow(self, asked: str) -> Fact | None:
        """How the run that was called has ended."""
        try:
            called = self._answers.child(child_id(asked) if "-" in asked else asked)
        except UnknownRun:
            # It is still to be begun.
            return None
        except BridgeError as exc:
            return "error", str(exc)
        if called["resumed"] < self._answers.run["resumed"]:
            # It has not heard yet that it goes on.
            return None
        return fact_of_run(called)


# How what a node of a kind has asked has ended, by its id.
ENDS: Mapping[str, Callable[[Ends, str], Fact | None]] = {
    "agent": Ends.of_agent,
    "call": Ends.of_flow,
    "approval": Ends.of_person,
    "tool": Ends.of_result,
    "exec": Ends.of_result,
    "worktree": Ends.of_result,
    "change": Ends.of_result,
    "wait": Ends.of_wait,
}
