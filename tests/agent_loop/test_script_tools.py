"""Scripts see what they are given and no more; whatever they do, the run goes on."""

from __future__ import annotations

import sys

import pytest
from runworld import call, definition, submit

from bridge.agents.definition import ScriptTool, Source

PATH = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "deep": {"type": "boolean"}},
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.fixture
def give(world):
    """What a script gives when the model calls it as the tool `lint`."""

    def give(code: str, *, providers: tuple[str, ...] = (), **agent):
        pym = world.write("tools/lint.pym", code)
        paths = tuple(
            world.write(f"tools/about{n}.pym", text) for n, text in enumerate(providers)
        )
        tool = ScriptTool(
            name="lint",
            pym=pym,
            description="Lint a file.",
            parameters=PATH,
            context_providers=paths,
            code=code,
            provider_codes=providers,
        )
        world.outcome = world.run(
            call("lint", path="a.py"),
            submit(),
            agent=definition(script_tools=(tool,), **agent),
            request={
                "node": {
                    "file": "a.py", "name": "f", "type": "function",
                    "line": 1, "text": "def f(): pass",
                }
            },
        )  # fmt: skip
        return world.model.results()[0].partition("\n")[2]

    return give


@pytest.mark.parametrize(
    ("code", "gives"),
    [
        ("f'{path} {deep}'", "a.py None"),
        ("[node_text, node_name, node_type, file_path]",
         '["def f(): pass", "f", "function", "a.py"]'),
        ("{'issues': [1]}", '{"issues": [1]}'),
        ("print('seen')", "seen\n"),
        ("x = 1", "(no result)"),
        ("read_file('a.py')", "x = 1\n"),
        ("len(read_file('long').splitlines())", "300"),
        ("len(read_file('empty').splitlines())", "0"),
        ("try:\n  read_file('huge')\nexcept ValueError as e:\n  r = str(e)\nr",
         "'huge' is too large: 1,048,577 bytes, over 1,048,576"),
        ("list_files('.', '*.py')", '["a.py"]'),
        ("search_text('x =', '.', 'a*')", '["a.py:1: x = 1"]'),
        ("run_command('echo hi')", '{"exit_code": 0, "output": "hi\\n"}'),
        ("try:\n  read_file('/etc/passwd')\nexcept ValueError as e:\n  r = str(e)\nr",
         "'/etc/passwd' lies outside the project"),
    ],
)  # fmt: skip
def test_gives_its_last_value(world, give, code, gives):
    world.write("a.py", "x = 1\n")
    world.write("long", "one\n" * 300)
    world.write("empty", "")
    world.write("huge", "x" * (1024 * 1024 + 1))

    assert give(code, allow=("Bash(echo *)",)) == gives


@pytest.mark.parametrize(
    ("code", "ends"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("a = (", "SyntaxError: unexpected EOF while parsing"),
        ("open('/etc/passwd').read()",
         "PermissionError: Permission denied: '/etc/passwd'"),
        ("import subprocess", "ModuleNotFoundError: No module named 'subprocess'"),
        ("import os\nos.environ['HOME']",
         "RuntimeError: 'os.environ' is not supported in this environment"),
        ("def f(): f()\nf()", "RecursionError: maximum recursion depth exceeded"),
        ("run_command('rm x')",
         "ValueError: 'rm x' is not granted; granted: `echo *`"),
        ("run_command('ls; rm y')",
         "ValueError: ';' is never granted: one program and its arguments, no shell"),
        ("import time\ntime.sleep(9)", "TimeoutError: sleep limit exceeded: 9s > 0ns"),
    ],
)  # fmt: skip
def test_error_in_a_script_is_a_result(world, give, code, ends):
    """The model sees the traceback; nothing of the machine comes through."""
    given = give(code, allow=("Bash(echo *)",))

    assert given.startswith("error: ")
    assert given.splitlines()[-1].removeprefix("error: ") == ends
    assert world.outcome.verdict.code is None


@pytest.mark.parametrize("folder", [".", "elsewhere"])
def test_error_in_a_script_names_its_file(world, give, folder):
    """As the definition names it; the whole path where that lies elsewhere."""
    file = world.project / folder / "checker.yaml"
    source = Source(file=file, layer="user", spelling="subagent", digest="0")

    given = give("def f():\n  1 / 0\nf()", source=source)

    named = "tools/lint.pym" if folder == "." else f"{world.project}/tools/lint.pym"
    assert f'  File "{named}", line 3, in <module>\n' in given
    assert f'  File "{named}", line 2, in f\n' in given
    assert "python-input" not in given


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("{(1, 2): 3}", "keys must be str, int, float, bool or None, not tuple"),
        ("10 ** 5000", "Exceeds the limit (4300 digits) for integer string conversion"),
        ("a = []\nfor n in range(5000):\n  a = [a]\na", "maximum recursion depth"),
    ],
    ids=["keys", "digits", "depth"],
)
def test_error_what_a_script_gives_has_no_json(world, give, code, why):
    """A value of Python that cannot be said is the script's mistake, and no bug."""
    given = give(code)

    assert given.startswith(f"error: what the script gave: {why}")
    assert world.outcome.verdict.code is None


def test_memory_is_bounded(give):
    given = give("x = [0]\nwhile True: x = x + x")

    assert "MemoryError: memory limit exceeded" in given


def test_time_is_bounded(give, monkeypatch):
    monkeypatch.setattr("bridge.agent_loop.script_tools.MAX_SECONDS", 0.2)

    assert "TimeoutError: feed time limit exceeded" in give("while True: pass")


def test_output_is_bounded(give):
    given = give("'x' * 1_000_000")

    assert len(given) < 5_000
    assert "characters left out" in given
    assert "MemoryError" in give("for n in range(200): print('x' * 1000)")


def test_host_calls_are_bounded(give):
    """A script may not make the loop work for ever on its behalf."""
    given = give("while True: list_files()")

    assert "RuntimeError" in given


def test_context_comes_before_the_result(give):
    given = give("'linted'", providers=("'config: ' + path", "{'n': node_name}"))

    assert given == 'config: a.py\n{"n": "f"}\nlinted'


def test_a_failing_provider_stops_the_tool(world, give):
    given = give("run_command('touch made')", providers=("nothing",))

    assert given.endswith("NameError: name 'nothing' is not defined")
    assert not (world.project / "made").exists()


def test_what_runs_is_what_was_looked_at(world):
    """A script that changes after its definition was trusted does not run."""
    tool = ScriptTool(
        name="lint",
        pym=world.write("tools/lint.pym", "'swapped'"),
        description="",
        parameters=PATH,
        code="'trusted'",
    )

    world.run(call("lint", path="b"), submit(), agent=definition(script_tools=(tool,)))

    assert world.model.results()[0].partition("\n")[2] == "trusted"


def test_what_a_script_ran_is_evidence(world, give):
    give("run_command('echo hi')", allow=("Bash(echo *)",))

    evidence = world.outcome.run.evidence
    assert [(e.type, e.command, e.passed, e.tool_use_id) for e in evidence] == [
        ("command", "echo hi", True, "call-1"),
        ("script", None, True, "call-1"),
    ]


def test_error_no_sandbox(give, world, monkeypatch):
    """Without the extra, the way out is one command."""
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)

    with pytest.raises(IndexError):
        give("1")

    verdict = world.outcome.verdict
    assert verdict.code == "AGENT_001"
    assert verdict.complaint == (
        f"{world.project}/tools/lint.pym takes pydantic-monty, which is not "
        "installed; run: pip install 'hostbridge[local]'"
    )
