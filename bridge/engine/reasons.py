"""Why a step of a run is as it is: the values that a condition saw, what a person said.

{found.count} is 2          a condition with a variable
node-1 ok, node-2 failed    one about the last steps
node-4 says no              why a step was left out
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.engine.answers import Answers
from bridge.engine.by_hand import BY
from bridge.engine.run_ids import request_id
from bridge.engine.step import Step
from bridge.engine.waiting import awaited
from bridge.flow.condition import read_condition
from bridge.flow.drawing import bare
from bridge.flow.filling import as_text
from bridge.policy.condition import ConditionError
from bridge.protocol.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.engine.view import RunView
    from bridge.flow.details import Detail
    from bridge.flow.plan import Code
    from bridge.store.state import State

_MOST = 60


class Reasons:
    """The reasons in a run, as it is seen."""

    def __init__(self, state: State, seen: RunView) -> None:
        self._seen = seen
        self._run = seen.run
        self._answers = Answers(state, seen.run)
        run = {**seen.run, "look": False}
        self._step = Step(seen.plan, run, self._answers.truth)  # type: ignore[arg-type]

    def of(self, node: str) -> str:
        """Why a node is as it is; empty if there is nothing to say."""
        entry = self._run["nodes"].get(node, {})
        detail = self._seen.details["details"].get(node, {})
        if "waits" in entry:
            return self._answers.question_of(request_id(self._run, node))
        state, asked = entry.get("state"), request_id(self._run, node)
        said = self._run["said"].get(asked)
        if said and state != "stopped":
            by = BY.get(said["by"], said["by"])
            return f"{_short(said['text'])} ({by})"
        if why := entry.get("why"):
            return why
        if state == "skipped":
            return ", ".join(self._closed(node))
        if state == "passed" and self._seen.kind(node) != "pass":
            return self._left_out(node, detail)
        if state == "passed" and "condition" in detail:
            code = read_condition(detail["condition"]).code
            return ", ".join(dict.fromkeys(self._values(code, node)))
        return ""

    def _left_out(self, node: str, detail: Detail) -> str:
        """Why a step of a pipeline was left out."""
        if "condition" in detail:
            return "not so: " + bare(detail["condition"], r"\1")
        names = awaited(self._seen.plan["nodes"][node])
        return f"{', '.join(names)} began nothing" if names else ""

    def _closed(self, node: str) -> Iterator[str]:
        """The conditions that cut a node off."""
        for source in self._seen.plan["nodes"][node]["in"]:
            if node in self._run["nodes"].get(source, {}).get("dead", ()):
                yield f"{source} says no"

    def _values(self, code: Code, node: str) -> Iterator[str]:
        """What each word and each variable of a condition stood for."""
        match code:
            case ["get", _, ["get", _, ["name", _, "answers"], name], field]:
                whole = self._value(name, whole=True)
                value = whole.get(field) if isinstance(whole, dict) else None
                yield f"{{{name}.{field}}} is {_quoted(value)}"
            case ["get", _, ["name", _, "variables"], name]:
                yield f"{{{name}}} is {_quoted(self._value(name))}"
            case ["name", _, word] | ["get", _, ["name", _, "all" | "any"], word]:
                yield from self._steps(word, node)
            case [_, _, *parts]:
                for part in parts:
                    yield from self._values(part, node)

    def _value(self, name: str, *, whole: bool = False) -> Any:
        asked = self._run["vars"].get(name)
        if asked is None:
            return None
        with suppress(ConditionError):
            return self._answers.whole(asked) if whole else self._answers.value(asked)
        return None

    def _steps(self, word: str, node: str) -> Iterator[str]:
        for each in self._step.last_steps(node):
            if word == "issues":
                whole = self._answers.whole(request_id(self._run, each))
                issues = whole.get("issues") if isinstance(whole, dict) else None
                is_list = isinstance(issues, list) or not issues
                count = len(issues or ()) if is_list else _short(issues)
                yield f"{each}: {count} issues"
            else:
                yield f"{each} {self._run['nodes'][each]['state']}"


def _quoted(value: Any) -> str:
    return f'"{_short(value)}"' if isinstance(value, str) else _short(value)


def _short(value: Any) -> str:
    return one_line("nothing" if value is None else as_text(value), _MOST)
