"""Random workflows and events, beside a second, plain way to go through them."""

import json
from typing import Any, ClassVar

import yaml
from hypothesis import given
from hypothesis import strategies as st
from stepflows import after, prompt, read

from bridge.policy.rule_set import Whose
from bridge.policy.step_transitions import begin, happen
from bridge.policy.step_workflow import concerns, step_of

NAMES = ("a", "b", "c", "d")
FLAGS = ("x", "y", "z")
CONDITIONS = (
    *FLAGS,
    *(f"not {flag}" for flag in FLAGS),
    "n >= 2", "n < 3", "x and n > 1", "tool_name == 'Bash'", "prompt == 'go'",
    "tool_output.ok == true", "n > y", "true",
)  # fmt: skip


def plain(condition: str, seen: dict[str, Any]) -> bool:
    """What a condition comes to, by Python itself."""
    scope = {"true": True, **seen}
    text = condition.replace("tool_output.ok", "(tool_output or {}).get('ok')")
    try:
        return bool(eval(text, {"__builtins__": {}}, scope))  # noqa: S307 - ours
    except TypeError:
        return False


actions = st.one_of(
    st.builds(
        lambda flag, value: {"set_variable": {flag: value}},
        st.sampled_from(FLAGS),
        st.booleans(),
    ),
    st.builds(lambda by: {"increment_variable": {"n": by}}, st.integers(1, 2)),
    st.builds(lambda word: {"inject_message": f"says {word}"}, st.sampled_from(NAMES)),
)
transitions = st.lists(
    st.builds(
        lambda to, when, do: {"to": to, "when": when, "on_transition": do},
        st.sampled_from(NAMES),
        st.sampled_from(CONDITIONS),
        st.lists(actions, max_size=1),
    ),
    max_size=3,
)
steps = st.tuples(
    *(
        st.builds(
            lambda enter, leave, ways, on_bash, name=name: {
                "name": name,
                "on_enter": enter,
                "on_exit": leave,
                "transitions": ways,
                **({"on_tool": {"Bash": {"do": on_bash}}} if on_bash else {}),
            },
            st.lists(actions, max_size=2),
            st.lists(actions, max_size=1),
            transitions,
            st.lists(actions, max_size=2),
        )
        for name in NAMES
    )
)
events = st.lists(
    st.one_of(
        st.builds(prompt, st.sampled_from(["go", "stay"])),
        st.builds(
            lambda tool, ok, call: after(tool, {"ok": ok}, call=call),
            st.sampled_from(["Bash", "Read"]),
            st.booleans(),
            st.sampled_from(["1", "2", "3", "4", ""]),
        ),
    ),
    max_size=6,
)


class Reference:
    """The same, as one would write it down without any of it."""

    def __init__(self, written: tuple[dict[str, Any], ...], end: str) -> None:
        self.steps = {step["name"]: step for step in written}
        self.end = end
        self.values: dict[str, Any] = {"x": False, "y": False, "z": False, "n": 0}
        self.path: list[str] = []
        self.said: list[str] = []
        self.seen: set[str] = set()
        self.is_over = False
        self.event: dict[str, Any] = {}
        self.enter(NAMES[0])
        self.settle()

    def do(self, listed: list[dict[str, Any]]) -> None:
        for action in listed:
            ((kind, what),) = action.items()
            if kind == "set_variable":
                self.values |= what
            elif kind == "increment_variable":
                self.values["n"] += what["n"]
            else:
                self.said.append(what)

    def enter(self, name: str) -> None:
        self.path.append(name)
        self.do(self.steps[name]["on_enter"])

    def holds(self, condition: str) -> bool:
        event = self.event
        response = event.get("tool_response")
        facts = {
            "tool_name": event.get("tool_name"), "prompt": event.get("prompt"),
            "tool_output": response, "current_step": self.path[-1],
        }  # fmt: skip
        if condition == "n > y":
            return self.values["n"] > self.values["y"]
        return plain(condition, {**self.values, **facts})

    def settle(self) -> None:
        entered: set[str] = set()
        while True:
            step = self.steps[self.path[-1]]
            ways = (
                each
                for each in step["transitions"]
                if each["to"] not in entered and self.holds(each["when"])
            )
            found = next(ways, None)
            if found is None:
                break
            self.do(step["on_exit"])
            self.do(found["on_transition"])
            entered.add(found["to"])
            self.enter(found["to"])
        self.is_over = self.holds(self.end)

    def happen(self, event: dict[str, Any]) -> None:
        call = event.get("tool_use_id")
        if self.is_over or (call and call in self.seen):
            return
        before = json.dumps([self.values, self.path, self.said])
        self.event = event
        on_tool = self.steps[self.path[-1]].get("on_tool", {})
        if event.get("tool_name") == "Bash" and on_tool:
            self.do(on_tool["Bash"]["do"])
        self.settle()
        if call and (json.dumps([self.values, self.path, self.said]) != before):
            self.seen.add(call)


class Plain:
    """Texts are said as they are."""

    theirs: ClassVar[dict[str, str]] = {}

    def render(self, text: str, _scope: Any) -> str:
        return text

    def act(self, *_: Any) -> Any:
        raise AssertionError("no deed is asked for")


@given(steps, st.sampled_from(["current_step == 'd'", "n > 4", "x and y"]), events)
def test_any_workflow_goes_as_one_would_go_through_it(written, end, happened):
    file = {
        "variables": {"x": False, "y": False, "z": False, "n": 0},
        "steps": list(written),
        "exit_condition": end,
    }
    found = read(yaml.safe_dump(file, sort_keys=False))
    if found.code is None:
        assert all("would never end" in str(each) for each in found.errors)
        return
    reference = Reference(written, end)
    values = dict(found.code["variables"])
    record = {
        "code": found.code, "run": "s", "step": "", "visit": 0, "rev": 0,
        "status": "active", "untold": [], "applied": [],
    }  # fmt: skip
    change = begin(record, Whose(dict(values)), Plain(), 1)
    path = [to for _, to in change.moved]
    values |= change.changes
    record = change.record
    for event in happened:
        whose = Whose(dict(values))
        is_quiet = step_of(record) is not None and not concerns(
            {**record, "untold": []}, event, lambda whose=whose: whose
        )
        reference.happen(event)
        change = happen(record, event, Whose(dict(values)), Plain(), 2)
        # What concerns nobody changes nothing: a hook would not even ask.
        assert not (is_quiet and change.is_changed)
        values |= change.changes
        path += [to for _, to in change.moved]
        record = json.loads(json.dumps(change.record))

    assert path == reference.path
    assert values == reference.values
    assert (step_of(record) is None) is reference.is_over
