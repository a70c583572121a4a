"""The tools of an agent: what its definition allows, and what its scripts check."""

import pytest
from runworld import call, definition, runs, script_tool, submit

from bridge.agents.definition import ScriptTool
from bridge.policy.rule_decision import Ruling
from bridge.protocol.trace_context import span_of

WRITING = ["write_file", "edit_file"]
READING = ["read_file", "list_files", "search_text"]


@pytest.mark.parametrize(
    ("fields", "tools"),
    [
        ({}, READING),
        ({"tools": ()}, []),
        ({"tools": ("Read", "Grep", "Edit")}, ["read_file", "search_text"]),
        ({"blocked_tools": ("Grep", "Glob")}, ["read_file"]),
        ({"blocked_tools": ("Gl*",)}, ["read_file", "search_text"]),
        ({"allow": ("Bash(ls)",)}, [*READING, "run_command"]),
        ({"allow": ("Bash(ls)",), "tools": ("Read",)}, ["read_file"]),
        ({"allow": ("Bash(ls)",), "tools": ("Bash",)}, ["run_command"]),
        ({"tools": ("run_command",)}, []),
        ({"tools": ("Edit", "Write")}, []),
        ({"allow": ("Edit",)}, [*READING, *WRITING]),
        ({"allow": ("Write(docs/**)",)}, [*READING, *WRITING]),
        ({"allow": ("Edit",), "tools": ("Read",)}, ["read_file"]),
        ({"allow": ("Edit",), "blocked_tools": ("Edit", "Write")}, READING),
    ],
    ids=[
        *("default", "none", "client-names", "blocked", "pattern"),
        *("granted", "not-listed", "listed", "not-granted", "edit-listed"),
        *("edit-granted", "part", "edit-not-listed", "edit-blocked"),
    ],
)
def test_only_the_definition_decides_on_tools(world, fields, tools):
    """It runs no command and writes no file unless the definition grants that."""
    world.run(submit(), agent=definition(**fields))

    shape = world.model.shapes[0]
    offered = shape.get("anyOf", [shape])
    names = [option["properties"]["tool"]["const"] for option in offered]
    assert names == [*tools, "submit_result"]


def submit_script(code: str) -> ScriptTool:
    parameters = {"type": "object", "properties": {"issues": {"type": "integer"}}}
    parameters["required"] = ["issues"]
    return script_tool("submit_result", code, parameters=parameters)


def test_the_script_of_submit_result_may_refuse_an_answer(world):
    code = "assert issues < 10, 'too many issues'\n'kept'"
    agent = definition(script_tools=(submit_script(code),))

    outcome = world.run(
        call("submit_result", issues=99), call("submit_result", issues=1), agent=agent
    )

    assert outcome.verdict.parsed == {"issues": 1}
    assert "AssertionError: too many issues" in world.model.results()[0]


@pytest.mark.parametrize(
    ("code", "verdict", "how"),
    [
        ("issues + ''", "bad_definition", "failed"),
        ("isues", "bad_definition", "failed"),
        ("{}['x']", "bad_definition", "failed"),
        ("assert False, 'x'", "check_failed", "refused it"),
        ("raise ValueError('x')", "check_failed", "refused it"),
    ],
)
def test_error_a_broken_script_is_no_schema_mismatch(world, code, verdict, how):
    """Its author would otherwise look for the mistake in the answer."""
    said = [call("submit_result", issues=n) for n in range(3)]

    outcome = world.run(*said, agent=definition(script_tools=(submit_script(code),)))

    assert outcome.verdict.code == verdict
    assert f"script of submit_result {how}: error: " in outcome.verdict.complaint


def environment(world, **request):
    """What a command of such a request finds in its environment."""
    agent = definition(allow=("Bash(env)",))
    world.run(runs("env"), submit(), agent=agent, request=request)
    return world.model.results()[0].splitlines()


def test_a_request_that_a_command_makes_is_a_child(world):
    """Otherwise an agent that may run `hostbridge ask` could ask itself for ever."""
    lines = environment(world, depth=1)

    assert {"BRIDGE_PARENT=r1", "BRIDGE_DEPTH=1"} <= set(lines)


TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize(
    ("asker", "given"),
    [(f"00-{TRACE}-00f067aa0ba902b7-01", f"00-{TRACE}-{span_of('r1')}-01"), (None, "")],
    ids=["traced", "untraced"],
)
def test_a_command_is_in_the_trace_of_the_request(world, monkeypatch, asker, given):
    """And in no other, such as that of the process which serves it."""
    monkeypatch.setenv("TRACEPARENT", f"00-{TRACE[::-1]}-00f067aa0ba902b7-01")
    lines = environment(world, traceparent=asker)

    assert f"TRACEPARENT={given}" in lines


@pytest.mark.parametrize(
    ("code", "tool", "tool_input"),
    [
        ("read_file('a.env')", "Read", {"file_path": "a.env"}),
        ("read_file(path='a.env')", "Read", {"file_path": "a.env"}),
        ("list_files('.')", "Glob", {"path": "."}),
        ("search_text('k', '.')", "Grep", {"pattern": "k", "path": "."}),
        ("run_command('cat a.env')", "Bash", {"command": "cat a.env"}),
    ],
)
def test_rules_are_asked_about_what_a_script_reads_and_runs(
    world, code, tool, tool_input
):
    (world.project / "a.env").write_text("key")
    if "file_path" in tool_input:
        tool_input = {"file_path": str(world.project / "a.env")}
    asked = []

    def ask(event, **fields):
        if event != "PreToolUse" or fields["tool_name"] == "peek":
            return Ruling()
        asked.append((fields["tool_name"], fields["tool_input"]))
        return Ruling("It is secret.")

    peek = script_tool("peek", code)
    agent = definition(script_tools=(peek,), allow=("Bash(cat *)",))

    world.run(call("peek"), submit(), agent=agent, ask_rules=ask)

    assert asked == [(tool, tool_input)]
    assert "It is secret." in world.model.results()[0]
