"""The quick half of the hooks, with rules: as processes, as the client starts them."""

import json
import subprocess
import sys

import pytest
from hookprocesses import ROOT, copy_plugin, run_hook
from rulehooks import put_in_force

from bridge.bound import first_look
from bridge.host.hook_table import HOOKS

pytestmark = pytest.mark.slow

PUSH = """
on_before_tool:
  - name: no-push
    when: runs(command, "git push")
    block: Ask first.
"""
START = {h.tools: h for h in HOOKS if h.script == "tool-start"}


@pytest.fixture
def world(world):
    """A session for which an install acts."""
    run_hook(next(h for h in HOOKS if h.event == "Stop"), world.event("Stop"))
    return world


def write(world, text):
    (world.bridge.settings.home / "rules.yaml").write_text(text)


def call(world, command, tools="bash", **fields):
    event = world.event(
        "PreToolUse", tool_name="Bash", tool_input={"command": command}, **fields
    )
    code, out, err = run_hook(START[tools], event)
    assert (code, err) == (0, b"")
    return json.loads(out)["hookSpecificOutput"] if out else {}


def test_the_first_call_after_a_change_obeys_the_new_rules(world):
    """No command compiles them: the shell half sees that the file is another."""
    assert call(world, "git push") == {}
    write(world, PUSH)
    assert call(world, "git push")["permissionDecision"] == "deny"
    assert call(world, "git pull") == {}
    write(world, PUSH.replace("git push", "git pull"))
    assert call(world, "git push") == {}
    assert call(world, "git pull")["permissionDecision"] == "deny"
    (world.bridge.settings.home / "rules.yaml").unlink()
    assert call(world, "git pull") == {}


def test_only_tools_that_a_rule_is_about_have_a_sign(world):
    """The shell starts nothing where there is none."""
    put_in_force(world, PUSH)

    signs = {file.name for file in (world.store.place.state / "rules").iterdir()}
    ours = sorted(name for name in signs if name.startswith("PreToolUse"))
    assert ours == ["PreToolUse", "PreToolUse.bash"]


DEEP = '{"hook_event_name": "PreToolUse", "tool_name": "mcp__x", "tool_input": %s%s}'


@pytest.mark.parametrize("block", [True, False])
def test_a_call_that_cannot_be_read_passes_no_blocking_rule(world, block):
    effect = "block: no way" if block else "inject_context: x"
    put_in_force(world, f"on_before_tool: [{{{effect}}}]")
    data = DEEP % ('{"a":' * 100_000, "}" * 100_000)

    code, out, err = run_hook(START["other"], data.encode())

    assert (code, err) == (0, b"")
    assert (b'"deny"' in out) is block


@pytest.mark.parametrize(
    "command",
    ["git push" + "\x00" * 1000, "x" * 10_000_000 + " && git push", "'" * 99_999],
    ids=["NUL", "10 MB", "quotes"],
)
def test_hostile_commands_end_in_time(world, command):
    """What cannot be read counts as yes in a rule that blocks."""
    put_in_force(world, PUSH)

    said = call(world, command)

    assert ("git push" in command) is (said.get("permissionDecision") == "deny")


def test_the_gate_with_rules_loads_the_standard_library_only():
    code = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "import bridge.bound.gate, bridge.bound.first_look\n"
        "import bridge.policy.shell_functions, bridge.bound.answer_wait\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(ROOT)],
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = set(done.stdout.split())
    heavy = {"typing", "dataclasses", "inspect", "pathlib", "logging", "subprocess"}
    assert not loaded & heavy
    others = {n.partition(".")[0] for n in loaded if not n.startswith("bridge")}
    assert others - {"__main__"} <= sys.stdlib_module_names


def test_a_plugin_obeys_rules_too(world, tmp_path):
    """Its hooks have no interpreter in their arguments, and the class behind that."""
    form = copy_plugin(tmp_path / "a plugin", acts_for=world)
    write(world, PUSH)
    event = world.event(
        "PreToolUse", tool_name="Bash", tool_input={"command": "git push"}
    )

    _, out, _ = run_hook(START["bash"], event, form)

    assert b"Ask first." in out


NO_LS = "on_before_tool: [{when: command == 'ls', block: Not this.}]\n"


def test_a_rule_set_that_changes_alone_is_in_force_at_the_next_call(world):
    """Also a new one: the agent that it binds is launched after it was written."""
    file = world.bridge.settings.home / "rules" / "strict.yaml"
    file.parent.mkdir()
    world.define("child", "lifecycle_workflow: strict\n")
    file.write_text(NO_LS)
    _, _, agent = world.begin(agent="child")

    def allowed(number):
        fields = {"agent_id": agent, "tool_use_id": f"toolu_{number}"}
        return "permissionDecision" not in call(world, "ls", **fields)

    said = [allowed(0)]
    for text in (NO_LS.replace("ls", "cat"), NO_LS):
        file.write_text(text)
        said.append(allowed(len(said)))
    file.unlink()
    said.append(allowed(3))

    assert said == [False, True, False, True]
    assert not (world.store.place.state / "rules" / "sets.json").exists()


SETS = {"user": None}
RUN = {"variables": {"a": 1}, "above": ["x", "y"], "depth": 1, "ruleSets": SETS}


@pytest.mark.parametrize(
    ("fields", "run", "expected"),
    [
        ({"session_id": "s"}, None, ({"a": 0, "b": 2}, None, 0, (), {})),
        ({"session_id": "../s"}, None, ({"a": 0}, None, 0, (), {})),
        ({"session_id": "s"}, RUN, ({"a": 0, "b": 2}, None, 0, (), {})),
        (
            {"session_id": "s", "agent_id": "b1", "agent_type": "Plan"},
            None,
            ({"a": 0, "b": 2}, "Plan", 1, ("Plan",), {}),
        ),
        (
            {"session_id": "s", "agent_id": "a1"},
            RUN,
            ({"a": 1, "c": 3}, "x", 2, ["x", "y"], SETS),
        ),
        (
            {"session_id": "s", "agent_id": "a2"},
            {"replacesVariables": True},
            ({}, None, 1, (), {}),
        ),
    ],
)
def test_in_whose_name_an_event_happens(tmp_path, fields, run, expected):
    """A session's variables, or an agent's own: never those of another."""
    for file, name, value in (
        ("sessions/s.vars.json", "b", 2),
        ("s.vars.json", "b", 4),
        ("agents/a1.vars", "c", 3),
    ):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            json.dumps({"variables": {name: {"value": value, "owner": "rule"}}})
        )

    whose = first_look.whose_of(str(tmp_path), fields, run, {"a": 0})

    found = (whose.variables, whose.agent, whose.depth, whose.above, whose.sets)
    assert found == expected


@pytest.mark.parametrize("owner", [{}, {"owner": None}, {"owner": "root"}])
def test_a_variable_without_an_owner_is_none(world, owner):
    """No writer of ours makes one; `vars` shows that the rule's switch is on."""
    write(
        world,
        "variables: {strict: true}\n" + PUSH.replace("when: ", "when: strict and "),
    )
    text = json.dumps({"variables": {"strict": {"value": None, **owner}}})
    name = f"{world.event('Stop')['session_id']}.vars.json"
    (world.store.place.state / "sessions" / name).write_text(text)

    assert call(world, "git push")["permissionDecision"] == "deny"
