"""Files of step workflows: what they mean, and each mistake at its place."""

import re
from pathlib import Path

import pytest
from stepflows import LOOP, compiled, read

GOLDEN = Path(__file__).with_name("mistakes.txt")


def problems(text: str, **more) -> list[str]:
    found = read(text, **more).problems
    return [str(each).removeprefix("/w/one.yaml:") for each in found]


def cases() -> list[tuple[str, list[str]]]:
    """Files, and what is wrong with them, from `mistakes.txt`."""
    found = []
    for part in GOLDEN.read_text().split("======\n")[1:]:
        text, _, said = part.partition("------\n")
        found.append((text, re.split(r"\n(?=\d)", said.removesuffix("\n"))))
    return found


CASES = cases()


def test_a_whole_workflow_has_no_problem():
    found = read(LOOP)

    assert found.errors == ()
    assert (found.name, found.layer) == ("validate-and-fix", "user")
    assert found.step_names == ("validate", "fix", "passed", "escalate")
    names = ("validation_iteration", "validation_passed", "max_iterations")
    assert found.compiled()["owners"] == dict.fromkeys(names, "tool")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0][:60])
def test_every_mistake_is_shown_at_its_place(case):
    """`mistakes.txt` has a file, or one step of one, and what is wrong with it."""
    text, said = case

    assert problems(text) == said


def test_a_workflow_with_an_error_is_not_compiled():
    assert read("steps: [{name: one, transitions: [{to: two}]}]").code is None


def test_unknown_agents_are_named():
    text = "steps: [{name: one, on_enter: [{spawn_agent: {agent: reseacher}}]}]"
    found = problems(text, check_agent=lambda name: f"no agent is called {name!r}")

    assert any("agent: no agent is called 'reseacher'" in each for each in found)


def test_both_spellings_are_the_same():
    short = compiled("""
        variables: {a: 0}
        steps:
          - name: one
            allowed_tools: [Read]
            on_enter:
              - inject_message: "x"
              - set_variable: {a: 1}
              - increment_variable: a
              - call_tool: {tool: get_task, arguments: {task_id: "${{ a }}"}, into: t}
            on_tool: {claim_task: {set_variable: {b: true}}}
        exit_condition: t
    """)["steps"]["one"]
    public = compiled("""
        variables: {a: 0}
        steps:
          - name: one
            allowed_tools: [Read]
            on_enter:
              - action: inject_message
                content: "x"
              - {action: set_variable, name: a, value: 1}
              - {action: increment_variable, variable: a}
              - action: call_mcp_tool
                server_name: x-tasks
                tool_name: get_task
                arguments: {task_id: "{{ a }}"}
                output_as: t
            on_mcp_success:
              - server: x-tasks
                tool: claim_task
                action: set_variable
                variable: b
                value: true
        exit_condition: t
    """)["steps"]["one"]

    def plain(value):
        if isinstance(value, dict):
            return {k: plain(v) for k, v in value.items() if k != "at"}
        return [plain(each) for each in value] if isinstance(value, list) else value

    for part in ("gate", "enter", "onTool"):
        assert plain(short[part]) == plain(public[part])


def test_spawning_by_call_mcp_tool_is_spawning():
    step = compiled("""
        steps:
          - name: one
            on_enter:
              - action: call_mcp_tool
                server_name: x-agents
                tool_name: spawn_agent
                arguments: {agent: researcher, prompt: "Look at {{ cwd }}"}
                output_as: found
        exit_condition: found
    """)["steps"]["one"]

    (action,) = step["enter"]
    assert (action["do"], action["agent"]) == ("spawn_agent", "researcher")
    assert (action["prompt"], action["into"]) == ("Look at {{ cwd }}", "found")


def test_exit_when_leads_to_the_step_written_next():
    steps = compiled("""
        variables: {ready: false}
        steps: [{name: one, exit_when: ready}, {name: two}]
        exit_condition: current_step == 'two'
    """)["steps"]

    assert [t["to"] for t in steps["one"]["transitions"]] == ["two"]


def test_tools_of_ours_are_refused_by_their_bare_names():
    code = compiled("""
        steps:
          - name: one
            allowed_tools: [Read, get_task]
            blocked_tools: [close_task, spawn_agent]
    """)

    gate, ours = code["steps"]["one"]["gate"], "mcp__hostbridge__"
    assert gate["tools"] == ["Read", f"{ours}get_task"]
    assert gate["blocked"] == [f"{ours}close_task", f"{ours}start_agent"]


def test_tools_of_ours_by_others_names():
    """Who refuses what is a part of a tool of ours refuses that one."""
    step = compiled("""
        steps:
          - name: one
            allowed_mcp_tools: ["x-agents:spawn_agent", "y:spawn_agent"]
            blocked_mcp_tools:
              - x-agents:kill_agent
              - x-tasks:mark_task_review_approved
            on_mcp_success:
              - {server: x-agents, tool: spawn_agent, set_variable: {asked: true}}
    """)["steps"]["one"]
    gate = step["gate"]

    assert step["onTool"][0]["mcp"] == ["hostbridge:start_agent"]
    assert gate["mcp"] == ["hostbridge:start_agent", "y:spawn_agent"]
    assert gate["blockedMcp"] == [
        "hostbridge:cancel_agent",
        "hostbridge:mark_task_review_approved",
        "hostbridge:close_task",
    ]
