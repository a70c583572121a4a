"""What those who were asked have answered: facts, values, and what conditions see."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.engine.last_steps import words_of
from bridge.engine.run_files import UnknownRun, folder_of, read
from bridge.engine.run_ids import child_id, request_id
from bridge.engine.step import REFUSED
from bridge.errors import BridgeError, NewerSchema
from bridge.flow.filling import as_text
from bridge.policy.condition import decide
from bridge.store.live_runs import RUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.engine.run import Linked, Run, State
    from bridge.engine.step import Fact
    from bridge.flow.plan import Code
    from bridge.protocol.response import Response
    from bridge.store.state import State as StoreState

# A valid answer that reports failure.
_FAILED = ("agent_failed", "agent_blocked")
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

    def follow(self, run: Run) -> None:
        """Be about the run as it is now."""
        self._run = run

    def is_any(self) -> bool:
        """Whether anything may have ended; a look at names, for the many who ask."""
        state = self._state
        return any(
            asked in self._run["said"]
            or state["responses"].has(f"{asked}.json")
            or state[RUNS].has(child_id(asked))
            for asked in (request_id(self._run, name) for name in self._run["open"])
        )

    def facts(self, plan: Linked) -> dict[str, Fact]:
        """What has ended of what the run has open."""
        found: dict[str, Fact] = {}
        for name in self._run["open"]:
            asked = request_id(self._run, name)
            fact = ENDS[plan["nodes"][name]["kind"]](self, asked)
            if fact is not None:
                found[asked] = fact
        return found

    def of_agent(self, asked: str) -> Fact | None:
        """How a request has ended; None if it has not."""
        response = self.response(asked)
        return fact_of(response) if response else None

    def of_person(self, asked: str) -> Fact | None:
        """What a person has said."""
        said = self._run["said"].get(asked)
        if said is None:
            return None
        return ("ok", "") if said["agreed"] else ("failed", REFUSED)

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
            called = self._child(child_id(asked))
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
            child = self._child(asked)
            of_child = Answers(self._state, child)
            last = [of_child.whole(each) for each in child["out"]]
            return last[0] if len(last) == 1 else last
        response = self.response(asked)
        if response is None:
            return None
        parsed = response.parsed_output
        return response.raw_output if parsed is None else parsed

    def value(self, asked: str) -> Any:
        """An answer as texts get it: the summary of a report, or all of it."""
        whole = self.whole(asked)
        if "-" not in asked and isinstance(whole, list):
            return "\n\n".join(as_text(_summary(each)) for each in whole)
        return _summary(whole)

    def variables(self, names: Mapping[str, str]) -> Mapping[str, Any]:
        """The variables of these names, as texts get them."""
        return _Lazy(names, self.value)

    def wholes(self, names: Mapping[str, str]) -> Mapping[str, Any]:
        """The whole answers behind the variables of these names."""
        return _Lazy(names, self.whole)

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
            "variables": _Lazy(names, lambda asked: _plain(self.value(asked))),
            "answers": self.wholes(names),
        }
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
}


class _Lazy(dict[str, Any]):
    """A mapping whose values are read when somebody wants them."""

    def __init__(self, names: Mapping[str, str], load: Callable[[str], Any]) -> None:
        super().__init__()
        self._names = names
        self._load = load

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name."""
        asked = self._names.get(key)
        return default if asked is None else self._load(asked)


def fact_of(response: Response) -> Fact:
    """How a request has ended."""
    if response.error is None:
        return "ok", ""
    why = f"{response.error.code}: {response.error.message}"
    return ("failed" if response.error.code in _FAILED else "error"), why


def _summary(whole: Any) -> Any:
    is_report = isinstance(whole, dict) and {"status", "summary"} <= whole.keys()
    return whole["summary"] if is_report else whole


def _plain(value: Any) -> Any:
    """As conditions get it: numbers, true and false as they are, the rest as texts."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return as_text(value)
