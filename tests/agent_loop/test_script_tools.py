"""Scripts see only their inputs; whatever they do, the run goes on."""

import sys

import pytest
from runworld import call, definition, script_tool, submit

from bridge.agents.definition import Source
from bridge.extras import how_to_add

PATH = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "deep": {"type": "boolean"}},
    "required": ["path"],
    "additionalProperties": False,
}


NODE = {
    "file": "a.py",
    "name": "f",
    "type": "function",
    "line": 1,
    "text": "def f(): pass",
}


@pytest.fixture
def result_of(world):
    """The result of a script that the model calls as the tool `lint`."""

    def result_of(code: str, *, file="", providers: tuple[str, ...] = (), **agent):
        pym = world.write("tools/lint.pym", file or code)
        paths = [
            world.write(f"tools/about{n}.pym", text) for n, text in enumerate(providers)
        ]
        more = {"context_providers": paths, "provider_codes": providers}
        tool = script_tool("lint", code, pym=pym, parameters=PATH, **more)
        world.outcome = world.run(
            call("lint", path="a.py"),
            submit(),
            agent=definition(script_tools=(tool,), **agent),
            request={"node": NODE},
        )
        return world.model.results()[0].partition("\n")[2]

    return result_of


@pytest.mark.parametrize(
    ("code", "result"),
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
def test_the_result_is_the_last_value(world, result_of, code, result):
    world.write("a.py", "x = 1\n")
    world.write("long", "one\n" * 300)
    world.write("empty", "")
    world.write("huge", "x" * (1024 * 1024 + 1))

    assert result_of(code, allow=("Bash(echo *)",)) == result


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
def test_error_in_a_script_is_a_result(world, result_of, code, ends):
    """The model sees the traceback, and nothing of the machine."""
    result = result_of(code, allow=("Bash(echo *)",))

    assert result.startswith("error: ")
    assert result.splitlines()[-1].removeprefix("error: ") == ends
    assert world.outcome.verdict.code is None


@pytest.mark.parametrize("folder", [".", "elsewhere"])
def test_error_in_a_script_names_its_file(world, result_of, folder):
    """As the definition names it, or with the whole path if it lies elsewhere."""
    file = world.project / folder / "checker.yaml"
    source = Source(file=file, layer="user", spelling="subagent", digest="0")

    result = result_of("def f():\n  1 / 0\nf()", source=source)

    named = "tools/lint.pym" if folder == "." else f"{world.project}/tools/lint.pym"
    assert f'  File "{named}", line 3, in <module>\n' in result
    assert f'  File "{named}", line 2, in f\n' in result
    assert "python-input" not in result


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("{(1, 2): 3}", "keys must be str, int, float, bool or None, not tuple"),
        ("10 ** 5000", "Exceeds the limit (4300 digits) for integer string conversion"),
        ("a = []\nfor n in range(5000):\n  a = [a]\na", "maximum recursion depth"),
    ],
    ids=["keys", "digits", "depth"],
)
def test_error_a_result_that_is_no_json(world, result_of, code, why):
    """That is the script's mistake, and no bug of ours."""
    result = result_of(code)

    assert result.startswith(f"error: the result of the script: {why}")
    assert world.outcome.verdict.code is None


def test_memory_is_bounded(result_of):
    result = result_of("x = [0]\nwhile True: x = x + x")

    assert "MemoryError: memory limit exceeded" in result


def test_time_is_bounded(result_of, monkeypatch):
    monkeypatch.setattr("bridge.agent_loop.script_tools.MAX_SECONDS", 0.2)

    assert "TimeoutError: feed time limit exceeded" in result_of("while True: pass")


def test_output_is_bounded(result_of):
    result = result_of("'x' * 1_000_000")

    assert len(result) < 5_000
    assert "characters left out" in result
    assert "MemoryError" in result_of("for n in range(200): print('x' * 1000)")


def test_host_calls_are_bounded(result_of):
    """A script cannot keep the loop busy for ever."""
    assert "RuntimeError" in result_of("while True: list_files()")


def test_context_comes_before_the_result(result_of):
    result = result_of("'linted'", providers=("'config: ' + path", "{'n': node_name}"))

    assert result == 'config: a.py\n{"n": "f"}\nlinted'


def test_a_failing_provider_stops_the_tool(world, result_of):
    result = result_of("run_command('touch made')", providers=("nothing",))

    assert result.endswith("NameError: name 'nothing' is not defined")
    assert not (world.project / "made").exists()


def test_the_code_that_was_trusted_is_what_runs(result_of):
    """A file that changes after its definition was trusted is not read again."""
    assert result_of("'trusted'", file="'swapped'") == "trusted"


def test_what_a_script_ran_is_evidence(world, result_of):
    result_of("run_command('echo hi')", allow=("Bash(echo *)",))

    evidence = world.outcome.run.evidence
    assert [(e.type, e.command, e.passed, e.tool_use_id) for e in evidence] == [
        ("command", "echo hi", True, "call-1"),
        ("script", None, True, "call-1"),
    ]


def test_error_no_sandbox(result_of, world, monkeypatch):
    """Without the extra, the message names the one command that helps."""
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)

    with pytest.raises(IndexError):
        result_of("1")

    verdict = world.outcome.verdict
    assert verdict.code == "extra_missing"
    assert verdict.complaint == (
        f"{world.project}/tools/lint.pym takes pydantic-monty, which is not "
        f"installed; run: {how_to_add('local')}"
    )
