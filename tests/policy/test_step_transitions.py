"""What events do to a step workflow, step by step."""

from typing import Any

import pytest
from stepflows import LOOP, Deeds, after, compiled, prompt

from bridge.policy.rule_set import Whose
from bridge.policy.step_change import Change, introduction
from bridge.policy.step_transitions import begin, happen


class Pure(Deeds):
    """Deeds that fill in only plain names, and do nothing outside."""

    def render(self, text: str, scope: Any) -> str:
        for name, value in scope["variables"].items():
            text = text.replace(f"{{{{ {name} }}}}", str(value))
        return text


class World:
    """One workflow, and its variables, without any disk."""

    def __init__(self, text: str, **results: Any) -> None:
        self.deeds = Pure(results)
        code = compiled(text)
        self.variables: dict[str, Any] = dict.fromkeys(code["made"]) | code["variables"]
        self.record = {
            "code": code, "run": "s-1", "step": "", "visit": 0, "rev": 0,
            "status": "active", "untold": [], "applied": [],
        }  # fmt: skip
        self.last = self.take(begin(self.record, self.whose(), self.deeds, 1))

    def whose(self) -> Whose:
        return Whose(dict(self.variables))

    def take(self, change: Change) -> Change:
        self.record = change.record
        self.variables |= change.changes
        return change

    def event(self, fields: dict[str, Any]) -> Change:
        return self.take(happen(self.record, fields, self.whose(), self.deeds, 2))

    def said(self) -> list[str]:
        texts = [text for _rev, text in self.record["untold"]]
        self.record["untold"] = []
        return texts


def test_a_loop_escalates_exactly_at_its_bound():
    world = World(LOOP)
    rounds = 0
    while world.record["status"] == "active":
        rounds += 1
        world.event(after("check", {"is_valid": False}, call=f"c-{rounds}"))
        if world.record["step"] == "fix":
            world.variables["fixed"] = True
            world.event(prompt())
            assert world.record["step"] == "validate"

    assert rounds == 3
    assert world.record["step"] == "escalate"
    assert world.variables["validation_iteration"] == 3


def test_leaving_and_entering_speak_in_order():
    world = World(LOOP)
    world.event(after("check", {"is_valid": False}))
    world.said()
    world.variables["fixed"] = True
    world.event(prompt())

    left, entered = world.said()
    assert left == "Mended."
    assert entered.splitlines()[-1] == "Validate None."
    assert introduction(world.record) == entered


def test_each_step_is_entered_at_most_once_per_event():
    world = World("""
        steps:
          - {name: one, transitions: [{to: two}]}
          - {name: two, transitions: [{to: one}]}
        exit_condition: "false"
    """)

    assert world.last.moved == [("", "one"), ("one", "two"), ("two", "one")]
    world.event(prompt())
    assert world.record["visit"] == 5


def test_a_condition_that_cannot_be_asked_does_not_hold_and_is_told_of():
    world = World("""
        variables: {n: text}
        steps:
          - name: one
            transitions: [{to: two, when: n > 1}, {to: three, when: n == 'text'}]
          - {name: two}
          - {name: three}
        exit_condition: current_step == 'two'
    """)

    assert world.record["step"] == "three"
    (problem,) = world.last.problems
    assert problem.startswith("/w/one.yaml:4: the condition does not hold: '>' cannot")
    assert world.record["problems"] == [problem]


def test_outcomes_choose_what_is_done():
    world = World("""
        variables: {good: 0, bad: 0, any: 0}
        steps:
          - name: one
            on_tool:
              Bash:
                - increment_variable: good
                - {ok: false, increment_variable: bad}
                - {ok: any, increment_variable: any}
                - {when: tool_output.code == 3, set_variable: {good: 100}}
        exit_condition: "false"
    """)
    world.event(after("Bash", {"code": 0}))
    world.event(after("Bash", hook_event_name="PostToolUseFailure", error="no"))
    world.event(after("Edit", {"code": 3}))
    assert [*world.variables.values()] == [1, 1, 2]

    world.event(after("Bash", {"code": 3}))
    assert world.variables["good"] == 100


def test_results_of_tools_reach_later_actions():
    text = """
        variables: {task: "#1"}
        steps:
          - name: one
            on_enter:
              - call_tool:
                  {tool: get_task, arguments: {task_id: "${{ task }}"}, into: t}
              - {when: t.is_expanded, set_variable: {kind: old}}
              - {when: not t.is_expanded, set_variable: {kind: "new ${{ t.title }}"}}
        exit_condition: "false"
    """
    world = World(text, get_task={"is_expanded": False, "title": "x"})

    assert world.variables["kind"] == "new x"
    assert [*world.deeds.done.values()] == [("get_task", {"task_id": "#1"})]


def test_an_action_that_fails_is_told_of_and_the_next_is_done():
    text = """
        steps:
          - name: one
            on_enter:
              - call_tool: {tool: get_task, arguments: {task_id: "#9"}, into: found}
              - set_variable: {next: done}
            transitions: [{to: two, when: found.error}]
          - {name: two}
        exit_condition: "false"
    """
    world = World(text, get_task=ValueError("no task #9"))

    assert world.last.problems == ["/w/one.yaml:4: call_tool failed: no task #9"]
    assert (world.variables["next"], world.record["step"]) == ("done", "two")


def test_a_deed_has_one_key_however_often_it_is_begun():
    text = """
        steps:
          - name: one
            on_tool: {Bash: {do: [{call_tool: {tool: list_tasks}}]}}
        exit_condition: "false"
    """
    world = World(text)
    again = World(text)
    again.deeds = world.deeds
    for each in (world, again):
        each.event(after("Bash", call="t-1"))
    assert len(world.deeds.done) == 1
    world.event(after("Bash", call="t-2"))
    assert len(world.deeds.done) == 2


def test_a_counter_says_by_how_much_it_grew():
    world = World("""
        variables: {n: 0, m: 0}
        steps:
          - name: one
            on_tool:
              Bash:
                do: [{increment_variable: {n: 2}}, {increment_variable: n},
                     {set_variable: {m: 5}}, {increment_variable: m}]
        exit_condition: "false"
    """)
    change = world.event(after("Bash"))

    assert (change.changes, change.counted) == ({"n": 3, "m": 6}, {"n": 3})


@pytest.mark.parametrize("value", [True, "text", [1]])
def test_what_is_no_number_is_not_counted(value):
    world = World("""
        variables: {n: 0}
        steps: [{name: one, on_tool: {Bash: {increment_variable: n}}}]
        exit_condition: "false"
    """)
    world.variables["n"] = value
    change = world.event(after("Bash"))

    assert "cannot be counted" in change.problems[0]
    assert world.variables["n"] == value
