"""Imports point one way, pure modules stay pure, hooks load no more than they need."""

from __future__ import annotations

import ast
import itertools
import re
import sys
from functools import cache
from pathlib import Path

import figures
import pytest
from programs import loaded_by

import bridge
from bridge.cli.commands import module_of
from bridge.protocol import names

PACKAGE = Path(bridge.__file__).parent

# A room may import from rooms further down, and from itself.
ROOMS = (
    "testing", "__main__", "cli", "doctor", "mcp", "__init__", "api", "host",
    "worker", "remote", "claude_cli", "llama", "endpoint", "agent_loop", "nodes",
    "bound", "rules", "workflows", "pipelines", "engine", "validation", "worktrees",
    "tasks", "flow", "agents", "report", "metrics", "freshness", "change", "tracing",
    "store", "operation", "policy", "protocol", "process", "config", "setting",
    "shipped", "routes", "own_files", "ring", "hints", "errors", "extras",
)  # fmt: skip

# Pure as a whole; anywhere else a module that is says so in its docstring.
PURE_ROOMS = {"protocol", "policy"}
# How many rooms stand on each other, at most. May fall, and rises for no reason.
FLOORS = 18
IMPURE_MODULES = {"os", "io", "subprocess", "time", "socket", "pathlib", "shutil"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a module's syntax tree."""
    return tuple(ast.walk(ast.parse(path.read_text())))


def _for_types(path: Path) -> set[ast.AST]:
    """The nodes below `if TYPE_CHECKING:`."""
    return {
        below
        for node in nodes_of(path)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for below in ast.walk(statement)
    }


@cache
def imported(path: Path, *, at_run_time: bool = False) -> set[str]:
    """Dotted names a module imports; with `at_run_time`, without those for types."""
    left_out = _for_types(path) if at_run_time else set()
    found: set[str] = set()
    for node in nodes_of(path):
        if node in left_out:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_imports_point_one_way():
    """A room that imports from above it cannot be understood, or moved, alone."""
    upwards = {}
    for path in modules():
        names = imported(path, at_run_time=True)
        used = {name.split(".")[1] for name in names if name.startswith("bridge.")}
        above = used & set(ROOMS[: ROOMS.index(room_of(path))])
        upwards |= {named(path): above} if above else {}

    assert upwards == {}
    assert [named(path) for path in modules() if "bridge" in imported(path)] == []


def test_nothing_that_runs_imports_what_tests_with():
    """Not even late: it is for the tests of others, and takes an extra."""
    found = {
        room_of(path)
        for path in modules()
        if any(name.startswith("bridge.testing") for name in imported(path))
    }

    assert found <= {"testing"}


def test_no_module_imports_itself_through_others():
    """Not even for types: modules in a circle are read, and moved, together."""
    assert figures.circles(figures.modules(PACKAGE.parent, PACKAGE.name)) == []


def test_the_house_has_no_more_floors():
    """Whoever changes a room low down has all that stand on it in mind."""
    below: dict[str, set[str]] = {room: set() for room in ROOMS}
    for path in modules():
        names = imported(path, at_run_time=True)
        used = {name.split(".")[1] for name in names if name.startswith("bridge.")}
        below[room_of(path)] |= used - {room_of(path)}
    height = dict.fromkeys(ROOMS, 0)
    for room in reversed(ROOMS):
        height[room] = 1 + max((height[each] for each in below[room]), default=0)

    assert max(height.values()) == FLOORS


def test_every_room_has_its_place():
    """A new room must be put into the order above, and a room that went taken out."""
    assert {room_of(path) for path in modules()} - {"_shipped"} == set(ROOMS)


def test_a_circle_is_found_however_long():
    wanted = {"a": "b", "b": "c", "c": "a", "d": "a"}
    found = [figures.Module(name, f"import {one}") for name, one in wanted.items()]

    assert figures.circles(found) == [{"a", "b", "c"}]


def test_the_page_names_every_room():
    """The map that a stranger finds the way by."""
    told = (PACKAGE.parent / "docs" / "internals.md").read_text()

    rooms = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
    assert [room for room in rooms if f"`{room}`" not in told] == []


def is_pure(path: Path) -> bool:
    said = ast.get_docstring(ast.parse(path.read_text())) or ""
    return room_of(path) in PURE_ROOMS or re.search(r"\bPure\b", said) is not None


def test_pure_modules_do_no_io():
    """Decisions take values and return values; the edges touch the world."""
    pure = [*filter(is_pure, modules())]
    reach = {named(each): imported(each, at_run_time=True) for each in pure}

    assert [name for name, used in reach.items() if used & IMPURE_MODULES] == []
    assert len(pure) > len([*(PACKAGE / "policy").iterdir()])


def test_only_the_settings_read_the_environment():
    """What can be set from outside is seen in one place, and tests can set it."""
    read = {"environ", "environb", "getenv", "getenvb"}
    imports = {
        named(path)
        for path in modules()
        if {name.rpartition(".")[2] for name in imported(path)} & read
    }
    uses = {
        named(path)
        for path in modules()
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute) and node.attr in read
    }

    assert imports | uses == {"config.py"}


# A command up to the path, or the branch, that it names.
_NAMES_A_PATH = re.compile(
    r"(?:^|[\s`])(?:cd|rm|mv|chmod \S+|(?:git|hostbridge) -C|git worktree remove"
    r"(?: -f)?|git branch -[dD]|git config .*|hostbridge (?:run|flow check)) [\"'#]?$"
)


def test_what_a_printed_command_names_is_quoted():
    """A person pastes it: a path may have blanks and `$` in it, a task's id has `#`."""
    unquoted = [
        f"{named(path)}:{before.lineno}: {before.value}"
        for path in modules()
        for text in nodes_of(path)
        if isinstance(text, ast.JoinedStr)
        for before, value in itertools.pairwise(text.values)
        if isinstance(before, ast.Constant) and isinstance(value, ast.FormattedValue)
        if _NAMES_A_PATH.search(before.value)
    ]

    assert unquoted == [], "print it by bridge.protocol.wording.in_shell"


# Their signatures are what people read of the library.
SPELT_OUT = {"api/bridge.py", "api/aio.py"}


def test_names_of_models_and_agents_have_one_place():
    """A model that the client learns is added once, and every route takes it."""
    told = {names.GENERAL, names.OF_CLIENT, names.OF_SERVER, names.MODEL_FILE}
    told |= set(names.MODEL_NAMES)
    found = {
        named(path)
        for path in modules()
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and node.value in told
    }

    assert found - SPELT_OUT == {"protocol/names.py"}


def test_the_gate_loads_the_standard_library_only():
    """It runs at every tool call of our agents, with nothing else on its path."""
    path = f"sys.path.append({str(PACKAGE.parent)!r})"

    loaded = loaded_by(f"{path}\nimport bridge.bound.gate", "-I", "-S")

    ours = {name for name in loaded if name.startswith("bridge")}
    heavy = {"typing", "dataclasses", "inspect", "pathlib", "logging", "subprocess"}
    gate = {"bridge.bound.gate", "bridge.bound.call_notes"}
    assert ours == {"bridge", "bridge.bound", *gate}
    assert not loaded & heavy
    others = {name.partition(".")[0] for name in loaded - ours} - {"__main__"}
    assert others <= sys.stdlib_module_names


def test_who_waits_for_a_ring_loads_next_to_nothing():
    """It stays in memory while its session is idle."""
    path = f"sys.path.append({str(PACKAGE.parent)!r})"
    bare = loaded_by("import os, select, fcntl, stat", "-I", "-S")

    loaded = loaded_by(f"{path}\nimport bridge.ring, select, fcntl", "-I", "-S")

    assert loaded - bare <= {"bridge", "bridge.ring", "__future__"}


@pytest.mark.parametrize("command", ["status", "submit", "where"])
def test_commands_load_no_definitions(command, tmp_path):
    """To ask one of the client's own agents takes no YAML and no templates."""
    words = ["submit", "Explore", "hi"] if command == "submit" else [command]
    project = str(tmp_path / "project")
    code = (
        f"import os\nos.environ['BRIDGE_HOME'] = {str(tmp_path / 'home')!r}\n"
        f"os.mkdir({project!r})\nos.chdir({project!r})\n"
        f"from bridge.cli.main import run\nassert run({words!r}) == 0\n"
    )

    loaded = loaded_by(code)

    assert module_of(command) in loaded
    assert not loaded & {"yaml", "jinja2", "bridge.agents.definition"}
    assert not loaded & {"rich", "shutil", "difflib", "textwrap", "tomllib", "sqlite3"}
    # Each takes as long as all that is read and written.
    assert not loaded & {"orjson", "dataclasses", "inspect", "datetime", "uuid"}
    # What argparse says is not translated.
    assert "locale" not in loaded
    # OpenSSL is for what was answered.
    assert not loaded & {"hashlib", "hmac"}
    # Nobody waits for a session, since none is open.
    assert "bridge.bound.budgets" not in loaded


def test_tasks_are_looked_at_without_what_checks_calls():
    """What tools take, and how it is checked, is for those that call them."""
    loaded = loaded_by(
        "import bridge.cli.tasks.task\n"
        "import bridge.cli.common.parser, bridge.cli.common.verbs\n"
    )

    assert not loaded & {"pydantic", "jinja2", "bridge.tasks.tool_table"}


def test_the_gate_loads_for_rules_only_what_reads_plain_conditions():
    """Ten rules that look at names and words cost little more than Python itself."""
    event = {"session_id": "s"}
    asked = f"fires('Stop', '', {event}, None) or whose_of('', {event}, None, {{}})"

    assert _policy_loaded_by_a_look(f"assert {asked}") == {
        "condition", "condition_globs", "rule_set", "tool_classes", "variable_record",
    }  # fmt: skip


def test_the_gate_loads_for_steps_no_rules():
    """A step without conditions is one file, and what says which tools it allows."""
    asked = "Binding('/none', {}, None).record() is None"

    loaded = _policy_loaded_by_a_look(f"assert {asked}")
    assert loaded == {"step_workflow", "tool_classes"}


def _policy_loaded_by_a_look(asked: str) -> set[str]:
    path = f"sys.path.append({str(PACKAGE.parent)!r})"
    code = f"{path}\nfrom bridge.bound.first_look import *\n{asked}"
    loaded = loaded_by(code, "-I", "-S")
    policy = "bridge.policy."
    return {name.removeprefix(policy) for name in loaded if name.startswith(policy)}


def test_a_flow_without_agents_of_its_own_loads_no_definitions():
    """A hook takes it on, in a session that waits for the hook."""
    loaded = loaded_by("import bridge.engine.advance, bridge.engine.asks")

    assert not loaded & {"yaml", "jinja2", "bridge.agents.definition"}


def test_the_list_of_commands_loads_no_parser():
    """The first thing that a new user types, and what the Tab key reads."""
    loaded = loaded_by("from bridge.cli.main import run\nassert run(['--help']) == 0")

    assert "bridge.cli.common.help_text" in loaded
    assert not loaded & {"argparse", "rich", "shutil", "textwrap"}


def test_a_launch_loads_no_definitions_but_its_own():
    """Nor does a hook that fills in the prompt of any other agent."""
    loaded = loaded_by("import bridge.host.agent_calls, bridge.agents.registry")

    assert not loaded & {"yaml", "jinja2", "bridge.agents.definition"}


def test_a_hook_that_takes_a_run_on_loads_no_yaml():
    """Only a temporary agent has a file that is read; no other step waits for it."""
    loaded = loaded_by("import bridge.host.flow_runs, bridge.engine.asks")

    assert not loaded & {"yaml", "jinja2", "bridge.agents.definition"}


def test_hooks_load_no_command_line():
    """What a claim or an answer costs is a promise: no rich, no jsonschema."""
    loaded = loaded_by(
        "import bridge.host.hook, bridge.host.session_events, bridge.host.tool_events\n"
        "import bridge.host.turn_events, bridge.store.store\n"
        "from bridge.protocol.judge import judge\n"
        "from bridge.protocol.request import Request\n"
        'said = \'{"status": "success", "summary": "done"}\'\n'
        "assert judge(Request(request_id='a', prompt='?'), said).is_valid\n"
    )

    heavy = {"typer", "rich", "jsonschema", "jsonschema_rs", "asyncio"}
    heavy |= {"pydantic", "pydantic_core", "logging", "subprocess", "shutil", "secrets"}
    assert not loaded & heavy


def test_hooks_load_no_engine():
    """A session without a flow does not pay for flows; nor does who only asks."""
    loaded = loaded_by(
        "import bridge.host.hook, bridge.host.session_events, bridge.host.tool_events\n"
        "import bridge.host.turn_events, bridge.host.after_hook\n"
        "import bridge.cli.asking.submit\n"
    )

    assert not {name for name in loaded if name.startswith("bridge.engine")}


def test_an_offer_loads_nothing_that_judges():
    """A session that is woken only claims: what answers and launches is not needed."""
    loaded = loaded_by("import bridge.host.hook, bridge.host.offer_events")

    assert not loaded & {"bridge.protocol.judge", "bridge.host.launch", "pydantic"}


def test_asking_loads_nothing_that_serves():
    """`submit` and `status` start as fast as before there were other routes."""
    loaded = loaded_by("import bridge.cli.asking.submit, bridge.cli.records.status")

    rooms = {".".join(name.split(".")[:2]) for name in loaded}
    assert not loaded & {"bridge.worker.worker", "bridge.worker.executors"}
    assert not rooms & {"bridge.claude_cli", "bridge.process", "bridge.agent_loop"}


def test_only_the_server_imports_the_sdk():
    """It takes more than a second: no hook and no other command pays for it."""
    sdk = {"mcp", "mcp_types"}
    found = {
        room_of(path)
        for path in modules()
        if sdk & {name.partition(".")[0] for name in imported(path)}
    }

    assert found == {"mcp"}


def test_only_the_room_of_the_queue_imports_redis():
    """Importing it takes longer than a whole hook may; only what uses a queue pays."""
    found = {
        room_of(path)
        for path in modules()
        if "redis" in {name.partition(".")[0] for name in imported(path)}
    }
    loaded = loaded_by(
        "import bridge.remote.forward, bridge.remote.here, bridge.remote.take\n"
        "import bridge.worker.executors, bridge.doctor.queue, bridge.api.bridge\n"
        "import bridge.cli.setup.serve, bridge.cli.records.status"
    )

    assert found == {"remote"}
    assert "redis" not in loaded


def test_nothing_of_an_extra_is_loaded_before_it_is_used():
    """Without the extras the rest works; what is missing is named where it is used."""
    loaded = loaded_by(
        "import bridge.agent_loop.loop, bridge.nodes.lookup\n"
        "import bridge.endpoint.endpoint_model, bridge.llama.local_model\n"
        "import bridge.llama.selftest, bridge.cli.setup.models"
    )

    extras = {"openai", "pydantic_monty", "tree_sitter", "llama_cpp", "llguidance"}
    assert not loaded & {*extras, "numpy"}
