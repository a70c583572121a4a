"""What those who were asked have answered: values, and what conditions see."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.engine.facts import is_report, question_in, said_by
from bridge.engine.link import words_of
from bridge.engine.marks import answer_to
from bridge.engine.results import has_result, read_result
from bridge.engine.run_files import folder_of, read, read_plan
from bridge.engine.run_ids import child_id, node_of, request_id
from bridge.engine.run_scope import Lazy, filled_in, plain, scope_of
from bridge.errors import NewerSchema
from bridge.flow.filling import as_text
from bridge.policy.condition import ConditionError, decide, evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.engine.results import StepResult
    from bridge.engine.run import Entry, Run, State
    from bridge.flow.details import Detail, Template
    from bridge.flow.plan import Code
    from bridge.protocol.response import Response
    from bridge.store.state import State as StoreState


class Answers:
    """The answers in a run; each is read once."""

    def __init__(self, state: StoreState, run: Run) -> None:
        self.state = state
        self.run = run
        self._known: dict[str, Any] = {}
        # Gets back the result of a step that is no longer there, if that is possible.
        self.have_back: Callable[[str, str], None] = lambda _asked, _name: None

    def follow(self, run: Run) -> None:
        """Be about the run as it is now."""
        self.run = run

    def entry(self, asked: str) -> Entry:
        """What the run knows of the node that has asked this."""
        return self.run["nodes"].get(node_of(asked), {})

    def question_of(self, asked: str) -> str:
        """What an agent that is blocked asks its person; empty if nothing."""
        response = self.response(asked)
        return question_in(response) if response else ""

    def result(self, asked: str) -> StepResult | None:
        """What a tool, a program or a worktree gave, if that is there."""
        run = self.run["run"]
        if not has_result(self.state, run, asked):
            return None
        result: StepResult | None = self._once(
            f"{asked}.", lambda _: read_result(self.state, run, asked)
        )
        return result

    def response(self, asked: str) -> Response | None:
        """The response to a request, if it is there."""
        if not self.state["responses"].has(f"{asked}.json"):
            return None
        with suppress(NewerSchema):
            response: Response | None = self._once(asked, self._read)
            return response
        return None

    def _read(self, asked: str) -> Response | None:
        """A response, without the words of an answer whose value is known."""
        response = self.state.response(asked)
        if response is not None and asked.partition("-")[0] == self.run["run"]:
            response = answer_to(self.state, self.run["run"], response)
        if response is None or response.parsed_output is None:
            return response
        return response.with_(raw_output="")

    def child(self, run_id: str) -> Run:
        """A run that was called."""
        with folder_of(self.state, run_id) as folder:
            return read(folder, run_id, self.state.key())

    def _once(self, name: str, load: Callable[[str], Any]) -> Any:
        if self._known.get(name) is None:
            self._known[name] = load(name)
        return self._known[name]

    def whole(self, asked: str) -> Any:
        """The whole answer to something that was asked; None if there is none."""
        if said := self.run["said"].get(asked):
            return said["text"]
        if "-" not in asked:
            last = Answers(self.state, self.child(asked)).of_run()
            return last[0] if len(last) == 1 else last
        response = self.response(asked)
        if response is None:
            return self._whole_here(asked)
        return said_by(response)

    def needed(self, asked: str) -> Any:
        """As `whole`, where something rests on it.

        Raises:
            ConditionError: an agent has answered, and the answer is not there any more,
                or cannot be read.
        """
        whole = self.whole(asked)
        if whole is None and (lost := self._lost(asked)):
            raise ConditionError(0, f"the answer of {node_of(lost)} is lost ({lost})")
        return whole

    def _lost(self, asked: str) -> str | None:
        """What a step has had answered, and has no response any more."""
        entry, node = self.entry(asked), node_of(asked)
        state = entry.get("state") if asked == request_id(self.run, node) else None
        if entry.get("kind") == "agent":
            has_ended = state in ("ok", "failed") or asked in self.run["vars"].values()
            ids = [asked]
        else:
            has_ended, ids = state == "ok", entry.get("awaits", [])
        missing = (i for i in ids if "-" in i and self.response(i) is None)
        return next(missing, None) if has_ended else None

    def answer_of_agent(self, asked: str) -> Any:
        """What an agent answered, whatever a person said to that."""
        response = self.response(asked)
        return response and said_by(response)

    def _whole_here(self, asked: str) -> Any:
        """What a step gave that asks nobody."""
        awaits = self.entry(asked).get("awaits")
        if awaits is None:
            result = self.result(asked)
            return result["output"] if result else None
        if len(awaits) == 1:
            return self.whole(awaits[0])
        return {node_of(each) or each: self.whole(each) for each in awaits} or None

    def of_run(self) -> list[Any]:
        """The whole answers of the run: its last steps', or what it says it is."""
        run = self.run
        if run["status"] == "completed":
            with folder_of(self.state, run["run"]) as folder:
                plan = read_plan(folder, run)
            if "outputs" in plan:
                return [self.evaluated(plan["outputs"])]
        return [self.needed(each) for each in run["out"]]

    def output(self, name: str) -> Any:
        """What a step of a pipeline gave; null if it has not, or has failed."""
        entry, run = self.run["nodes"].get(name, {}), self.run
        if entry.get("state") not in ("ok", "failed"):
            return None
        asked = request_id(run, name)
        match entry.get("kind"):
            case "background":
                return {"request_id": asked, "run_id": asked}
            case "call":
                asked = child_id(asked)
            case "tool" | "exec" | "worktree" | "change":
                return self._kept(name, asked)["output"]
        return self.needed(asked)

    def _kept(self, name: str, asked: str) -> StepResult:
        """The result of a step that has ended."""
        result = self.result(asked)
        if result is None:
            self.have_back(asked, name)
            result = self.result(asked)
        if result is None:
            raise ConditionError(0, f"the result of {name} is lost ({asked})")
        return result

    def evaluated(self, template: Template) -> Any:
        """The value of a template.

        Raises:
            ConditionError: it cannot be decided.
        """
        return plain(evaluate(template, self._scope()))

    def _scope(self) -> dict[str, Any]:
        return scope_of(self.run, self.output, self._said)

    def _said(self, reference: str) -> str:
        """What a text of a flow gets for `name` or `name.field`."""
        name, *path = reference.split(".")
        asked = self.run["vars"].get(name)
        if asked is None:
            return ""
        value = self.needed(asked) if path else self.value(asked)
        for key in path:
            if isinstance(value, list) and key in map(str, range(len(value))):
                value = value[int(key)]
            else:
                value = value.get(key) if isinstance(value, dict) else None
        return as_text(value)

    def shown(self, detail: Detail, entry: Entry) -> Detail:
        """What a step does, with the values that are known, for people.

        Of one that has begun without its condition, which has held.
        """
        if "says" not in detail:
            return detail
        shown: Detail = {**detail}
        with suppress(ConditionError):  # what it rests on is lost
            shown["says"] = filled_in(detail["says"], self._scope())
        if entry.get("state", "passed") != "passed":
            shown.pop("condition", None)
        return shown

    def value(self, asked: str) -> Any:
        """An answer as texts get it: the summary of a report, or all of it."""
        whole = self.needed(asked)
        if "-" not in asked and isinstance(whole, list):
            return "\n\n".join(as_text(_summary(each)) for each in whole)
        return _summary(whole)

    def truth(
        self, code: Code, steps: list[tuple[State, str]], names: Mapping[str, str]
    ) -> bool:
        """Whether a condition holds, of steps that ended so, and of these variables."""
        words = words_of(code)
        every = {word: all(self._is(word, *step) for step in steps) for word in words}
        some = {word: any(self._is(word, *step) for step in steps) for word in words}
        scope: dict[str, Any] = {
            **self._scope(),
            **every,
            **{word: some[word] for word in words & {"failed", "issues"}},
            "all": every,
            "any": some,
            "variables": Lazy(names, lambda asked: _plain(self.value(asked))),
            "answers": Lazy(names, self.needed),
        }
        return decide(code, scope) == "yes"

    def _is(self, word: str, state: State, asked: str) -> bool:
        """Whether a step that ended so is what a word says."""
        if word == "issues":
            whole = self.needed(asked)
            return isinstance(whole, dict) and bool(whole.get("issues"))
        return state in (("failed", "error") if word == "failed" else ("ok",))


def _summary(whole: Any) -> Any:
    return whole["summary"] if is_report(whole) else whole


def _plain(value: Any) -> Any:
    """As conditions get it: numbers, true and false as they are, the rest as texts."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return as_text(value)
