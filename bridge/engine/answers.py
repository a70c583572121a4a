"""What those who were asked have answered: facts, values, and what conditions see."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from bridge.engine.last_steps import words_of
from bridge.engine.pipeline_scope import Lazy, plain, scope_of
from bridge.engine.reported import fact_of, is_report, question_in, said_by
from bridge.engine.results import has_result, read_result
from bridge.engine.run_files import UnknownRun, folder_of, read, read_plan
from bridge.engine.run_ids import child_id, node_of, request_id
from bridge.engine.step import MAX_QUESTIONS, REFUSED, UNANSWERED
from bridge.errors import BridgeError, NewerSchema
from bridge.flow.filling import as_text
from bridge.policy.condition import ConditionError, decide, evaluate
from bridge.store.live_runs import RUNS
from bridge.store.submit import FOLDERS_OF_IDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.engine.results import Result
    from bridge.engine.run import Entry, Linked, Run, State
    from bridge.engine.step import Fact
    from bridge.flow.plan import Code, Template
    from bridge.protocol.response import Response
    from bridge.store.state import State as StoreState

_STATUSES: Mapping[str, Callable[[str], Fact | None]] = {
    "running": lambda _: None,
    "paused": lambda why: ("paused", why),
    "completed": lambda _: ("ok", ""),
    "failed": lambda why: ("failed", f"the flow that it called failed: {why}"),
    "cancelled": lambda _: ("error", "the flow that it called was cancelled"),
}


class Answers:
    """The answers in a run; each is read once."""

    def __init__(self, state: StoreState, run: Run) -> None:
        self._state = state
        self._run = run
        self._known: dict[str, Any] = {}
        # Has the result of a step back that is not there any more, if that is possible.
        self.have_back: Callable[[str, str], None] = lambda _name, _asked: None

    def follow(self, run: Run) -> None:
        """Be about the run as it is now."""
        self._run = run

    def is_any(self) -> bool:
        """Whether anything may have ended; a look at names, for the many who ask."""
        state, run = self._state, self._run
        if "form" in run:
            return any(map(self._may_have_ended, run["open"]))
        return any(
            asked in run["said"]
            or state["responses"].has(f"{asked}.json")
            or state[RUNS].has(child_id(asked))
            for asked in (request_id(run, name) for name in run["open"])
        )

    def _may_have_ended(self, name: str) -> bool:
        """Whether an open step of a pipeline may have ended; a look at names."""
        state, run = self._state, self._run
        entry, asked = run["nodes"][name], request_id(run, name)
        if asked in run["said"] or self._is_past(entry, "deadline"):
            return True
        match entry.get("kind"):
            case "wait":
                awaits = entry.get("awaits", ())
                return self._is_past(entry, "until") or (
                    bool(awaits) and all(map(self._is_there, awaits))
                )
            case "call":
                return state[RUNS].has(child_id(asked))
            case "agent":
                return state["responses"].has(f"{asked}.json")
            case "background":
                return self._is_submitted(asked)
            case "tool" | "exec" | "worktree":
                return has_result(state, run["run"], asked)
        return False

    def facts(self, plan: Linked) -> dict[str, Fact]:
        """What has ended of what the run has open."""
        found: dict[str, Fact] = {}
        for name in self._run["open"]:
            asked = request_id(self._run, name)
            fact = ENDS[plan["nodes"][name]["kind"]](self, asked)
            if fact is not None:
                found[asked] = fact
        return found

    def _entry(self, asked: str) -> Entry:
        return self._run["nodes"].get(node_of(asked), {})

    def _is_past(self, entry: Entry, which: Literal["until", "deadline"]) -> bool:
        return which in entry and self._state.now_ms() >= entry[which]

    def _is_there(self, asked: str) -> bool:
        """Whether something may have ended that is waited for; a look at names."""
        state = self._state
        return (
            "-" not in asked
            or state["responses"].has(f"{asked}.json")
            or has_result(state, self._run["run"], asked)
        )

    def _is_submitted(self, asked: str) -> bool:
        file = f"{asked}.json"
        return any(self._state[folder].has(file) for folder in FOLDERS_OF_IDS)

    def of_agent(self, asked: str) -> Fact | None:
        """How a request has ended; None if it has not."""
        entry = self._entry(asked)
        if "waits" in entry:
            return ("answered", "") if asked in self._run["said"] else None
        if entry.get("kind") == "background":
            return ("ok", "") if self._is_submitted(asked) else None
        response = self.response(asked)
        if response is None:
            return None
        return ("asks", asked) if self._asks(asked) else fact_of(response)

    def _asks(self, asked: str) -> bool:
        """Whether an agent asks its person something, as often as it may."""
        entry = self._entry(asked)
        is_left = entry.get("questions", 0) < MAX_QUESTIONS
        return is_left and bool(self.question_of(asked))

    def question_of(self, asked: str) -> str:
        """What an agent that is blocked asks its person; empty if nothing."""
        response = self.response(asked)
        return question_in(response) if response else ""

    def of_person(self, asked: str) -> Fact | None:
        """What a person has said."""
        said = self._run["said"].get(asked)
        if said is not None:
            return ("ok", "") if said["agreed"] else ("failed", REFUSED)
        is_late = self._is_past(self._entry(asked), "deadline")
        return ("failed", UNANSWERED) if is_late else None

    def of_result(self, asked: str) -> Fact | None:
        """How a tool, a program or a worktree has ended."""
        result = self.result(asked)
        return (result["how"], result["why"]) if result else None

    def result(self, asked: str) -> Result | None:
        """What a tool, a program or a worktree gave, if that is there."""
        run = self._run["run"]
        if not has_result(self._state, run, asked):
            return None
        result: Result | None = self._once(
            f"{asked}.", lambda _: read_result(self._state, run, asked)
        )
        return result

    def of_wait(self, asked: str) -> Fact | None:
        """Whether what a wait waits for has ended, or its time is over."""
        entry = self._entry(asked)
        if awaits := entry.get("awaits"):
            ends = [self._ended(each) for each in awaits]
            known = [end for end in ends if end is not None]
            worst = [end for end in known if end[0] != "ok"]
            if asks := [end for end in known if end[0] == "asks"]:
                return asks[0]
            if len(known) == len(ends):
                return worst[0] if worst else ("ok", "")
        elif self._is_past(entry, "until"):
            return "ok", ""
        if self._is_past(entry, "deadline"):
            took_s = (entry["deadline"] - entry["at"]) / 1000
            return "error", f"it had not ended after {took_s:g} s"
        return None

    def _ended(self, asked: str) -> Fact | None:
        """How anything that a step has begun has ended."""
        if "-" not in asked:
            return self.of_flow(asked)
        response = self.response(asked)
        if response is None:
            return self.of_result(asked)
        if "waits" in self._entry(asked):
            return None
        return ("asks", asked) if self._asks(asked) else fact_of(response)

    def response(self, asked: str) -> Response | None:
        """The response to a request, if it is there."""
        if not self._state["responses"].has(f"{asked}.json"):
            return None
        with suppress(NewerSchema):
            response: Response | None = self._once(asked, self._read)
            return response
        return None

    def _read(self, asked: str) -> Response | None:
        """A response, without the words of an answer whose value is known."""
        response = self._state.response(asked)
        if response is None or response.parsed_output is None:
            return response
        return response.with_(raw_output="")

    def of_flow(self, asked: str) -> Fact | None:
        """How the run that was called has ended."""
        try:
            called = self._child(child_id(asked) if "-" in asked else asked)
        except UnknownRun:
            # It is still to be begun.
            return None
        except BridgeError as exc:
            return "error", str(exc)
        if called["resumed"] < self._run["resumed"]:
            # It has not heard yet that it goes on.
            return None
        return _STATUSES[called["status"]](called["why"])

    def _child(self, run_id: str) -> Run:
        with folder_of(self._state, run_id) as folder:
            return read(folder, run_id, self._state.key())

    def _once(self, name: str, load: Callable[[str], Any]) -> Any:
        if self._known.get(name) is None:
            self._known[name] = load(name)
        return self._known[name]

    def whole(self, asked: str) -> Any:
        """The whole answer to something that was asked; None if there is none."""
        if said := self._run["said"].get(asked):
            return said["text"]
        if "-" not in asked:
            last = Answers(self._state, self._child(asked)).of_run()
            return last[0] if len(last) == 1 else last
        response = self.response(asked)
        if response is None:
            return self._whole_here(asked) if "form" in self._run else None
        return said_by(response)

    def answer_of_agent(self, asked: str) -> Any:
        """What an agent answered, whatever a person said to that."""
        response = self.response(asked)
        return response and said_by(response)

    def _whole_here(self, asked: str) -> Any:
        """What a step gave that asks nobody."""
        awaits = self._entry(asked).get("awaits")
        if awaits is None:
            result = self.result(asked)
            return result["output"] if result else None
        if len(awaits) == 1:
            return self.whole(awaits[0])
        return {node_of(each) or each: self.whole(each) for each in awaits} or None

    def of_run(self) -> list[Any]:
        """The whole answers of the run: its last steps', or what it says it is."""
        run = self._run
        if run["status"] == "completed" and "form" in run:
            with folder_of(self._state, run["run"]) as folder:
                plan = read_plan(folder, run)
            if "outputs" in plan:
                return [self.evaluated(plan["outputs"])]
        return [self.whole(each) for each in run["out"]]

    def output(self, name: str) -> Any:
        """What a step of a pipeline gave; null if it has not, or has failed."""
        entry, run = self._run["nodes"].get(name, {}), self._run
        if entry.get("state") not in ("ok", "failed"):
            return None
        asked = request_id(run, name)
        match entry.get("kind"):
            case "background":
                return {"request_id": asked, "run_id": asked}
            case "call":
                asked = child_id(asked)
            case "tool" | "exec" | "worktree":
                return self._kept(name, asked)["output"]
        return self.whole(asked)

    def _kept(self, name: str, asked: str) -> Result:
        """The result of a step that has ended."""
        result = self.result(asked)
        if result is None:
            self.have_back(name, asked)
            result = self.result(asked)
        if result is None:
            raise ConditionError(0, f"the result of {name} is lost ({asked})")
        return result

    def evaluated(self, template: Template) -> Any:
        """The value of a template of a pipeline.

        Raises:
            ConditionError: it cannot be decided.
        """
        return plain(evaluate(template, scope_of(self._run, self.output)))

    def value(self, asked: str) -> Any:
        """An answer as texts get it: the summary of a report, or all of it."""
        whole = self.whole(asked)
        if "-" not in asked and isinstance(whole, list):
            return "\n\n".join(as_text(_summary(each)) for each in whole)
        return _summary(whole)

    def variables(self, names: Mapping[str, str]) -> Mapping[str, Any]:
        """The variables of these names, as texts get them."""
        return Lazy(names, self.value)

    def wholes(self, names: Mapping[str, str]) -> Mapping[str, Any]:
        """The whole answers behind the variables of these names."""
        return Lazy(names, self.whole)

    def truth(
        self, code: Code, steps: list[tuple[State, str]], names: Mapping[str, str]
    ) -> bool:
        """Whether a condition holds, of steps that ended so, and of these variables."""
        words = words_of(code)
        every = {word: all(self._is(word, *step) for step in steps) for word in words}
        some = {word: any(self._is(word, *step) for step in steps) for word in words}
        scope: dict[str, Any] = {
            **every,
            **{word: some[word] for word in words & {"failed", "issues"}},
            "all": every,
            "any": some,
            "variables": Lazy(names, lambda asked: _plain(self.value(asked))),
            "answers": self.wholes(names),
        }
        if "form" in self._run:
            scope |= scope_of(self._run, self.output)
        return decide(code, scope) == "yes"

    def _is(self, word: str, state: State, asked: str) -> bool:
        """Whether a step that ended so is what a word says."""
        if word == "issues":
            whole = self.whole(asked)
            return isinstance(whole, dict) and bool(whole.get("issues"))
        return state in (("failed", "error") if word == "failed" else ("ok",))


# How what a node of a kind has asked has ended, by its id.
ENDS: Mapping[str, Callable[[Answers, str], Fact | None]] = {
    "agent": Answers.of_agent,
    "call": Answers.of_flow,
    "approval": Answers.of_person,
    "tool": Answers.of_result,
    "exec": Answers.of_result,
    "worktree": Answers.of_result,
    "wait": Answers.of_wait,
}


def _summary(whole: Any) -> Any:
    return whole["summary"] if is_report(whole) else whole


def _plain(value: Any) -> Any:
    """As conditions get it: numbers, true and false as they are, the rest as texts."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return as_text(value)
