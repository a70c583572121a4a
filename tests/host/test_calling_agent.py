"""An agent's own requests are its children, from whatever folder it asks."""

import os
import subprocess
import sys
from pathlib import Path

import forkserver
import orjson
import pytest
from hookworld import HookWorld
from thoroughness import crossed

from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.host import dispatch
from bridge.protocol.request import Request
from bridge.store.variables import Holder, set_variables

pytestmark = pytest.mark.slow


@pytest.fixture
def client(tmp_path, monkeypatch):
    """A session whose client is this process: what it starts is below it."""
    world = HookWorld(tmp_path, monkeypatch, os.getpid())
    start = world.event("SessionStart", source="startup")
    dispatch.answer(orjson.dumps(start), "SessionStart", "local")
    return world


def asked(world: HookWorld, folder: Path, *before: str, env: dict[str, str]) -> Request:
    """What a command of the agent asks in a folder, as it is written down."""
    said = run(world, folder, "submit", "inner", before=before, env=env)
    settings = Settings.from_environment({"HOME": str(world.home)})
    found = Bridge(settings, folder).status(said.split()[-1]).request
    assert found is not None
    return found


def run(
    world: HookWorld,
    folder: Path,
    *words: str,
    before: tuple[str, ...],
    env: dict[str, str],
) -> str:
    """What our command says, below `before`, or else below this process."""
    env = {"HOME": str(world.home), "PATH": os.environ["PATH"], **env}
    if not before:
        ended = forkserver.run([*words], env=env | {"LANG": "C.UTF-8"}, cwd=folder)
        return (ended.out + ended.err).decode()
    done = subprocess.run(
        [*before, sys.executable, "-m", "bridge", *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("where", "how"),
    crossed(["project", "nested", "elsewhere"], ["as it is", "env -i", "setsid"]),
)
def test_a_request_of_an_agent_is_its_child(client, tmp_path, where, how):
    """In a nested repository or a folder of another project, with nothing inherited."""
    request, _ = client.working()
    client.note_command("t.bash", request)
    folders = {
        "project": client.project,
        "nested": client.project / "nested",
        "elsewhere": tmp_path / "elsewhere",
    }
    folder = folders[where]
    folder.mkdir(exist_ok=True)
    (folder / ".git").mkdir()
    env = {} if how == "env -i" else {"CLAUDE_PID": str(os.getpid())}

    inner = asked(client, folder, *(["setsid", "-w"] * (how == "setsid")), env=env)

    assert (inner.parent_request_id, inner.depth) == (request, 1)


def in_a_shell(command: str) -> tuple[str, ...]:
    """A shell as the client starts it for a command, and what that runs."""
    return ("bash", "-c", f"true && eval '{command}' && \"$@\"; exit", "bash")


def test_each_of_two_agents_has_its_own_child(client, tmp_path):
    """The deepest was the parent of both, and had its variables asked with."""
    client.begin()
    client.note_command("t1.bash", "first", 0, command=": 'of the first'")
    client.note_command("t2.bash", "second", 1, command=": of the second")
    env = {"CLAUDE_PID": str(os.getpid())}

    found = [
        asked(client, tmp_path, *in_a_shell(command), env=env)
        for command in (": of the first", ": of the second", ": of nobody")
    ]

    parents = [(each.parent_request_id, each.depth) for each in found]
    assert parents == [("first", 1), ("second", 2), ("second", 2)]


def test_a_command_in_the_background_is_the_agents_still(client, tmp_path):
    """What runs beside it, of the main thread, is not."""
    client.begin()
    client.note_command("t1.background", "first", 1, command=": of the first")
    env = {"CLAUDE_PID": str(os.getpid())}

    found = [
        asked(client, tmp_path, *before, env=env)
        for before in (in_a_shell(": of the first"), in_a_shell(": other"), ())
    ]

    parents = [(each.parent_request_id, each.depth) for each in found]
    assert parents == [("first", 2), (None, 0), (None, 0)]


def test_what_no_agent_runs_is_nobodys_child(client, tmp_path):
    """The same client, with no command of an agent running."""
    client.begin()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    inner = asked(client, elsewhere, env={"CLAUDE_PID": str(os.getpid())})

    assert (inner.parent_request_id, inner.depth) == (None, 0)


def test_an_environment_that_was_taken_away_is_known_above(client, tmp_path):
    """Of `claude -p`, whose agents are known by the environment alone."""
    outer = {"BRIDGE_PARENT": "outer-1", "BRIDGE_DEPTH": "1"}
    home = f"HOME={client.home}"
    command = ("env", "-i", home, f"PATH={os.environ['PATH']}")

    # The shell in between keeps what it was started with.
    shell = ("sh", "-c", '"$@"; exit', "sh", *command)
    inner = asked(client, tmp_path, *shell, env=outer)

    assert (inner.parent_request_id, inner.depth) == ("outer-1", 2)


def test_a_parent_that_is_not_there_takes_no_variable_away(client):
    """A model would set what a person has set, for an agent that it starts."""
    client.begin()
    env = {"CLAUDE_PID": str(os.getpid()), "BRIDGE_PARENT": "nobody"}
    whose = Holder.session(client.session)
    set_variables(client.store, whose, {"checked": "no"}, "person")

    refused = run(
        client, client.project, "submit", "x", "--var", "checked:=true",
        before=(), env=env,
    )  # fmt: skip

    assert "checked" in refused
    assert not client.bridge.overview().waiting


def vars_of_ours(world: HookWorld, *words: str, before: tuple[str, ...] = ()) -> str:
    """What `hostbridge vars` says, run by whom `before` stands for."""
    env = {"CLAUDE_PID": str(os.getpid())}
    return run(world, world.project, "vars", *words, before=before, env=env)


@pytest.fixture
def child(client):
    """An agent of ours at work, in a session whose model has set variables."""
    (client.bridge.settings.home / "rules.yaml").write_text("variables: {limit: 3}\n")
    client.define("child", "lifecycle_variables: {limit: null, mode: fast}\n")
    said = vars_of_ours(client, "set", "task=session", "mode=fast")
    assert said == 'task = "session"\nmode = "fast"\n'
    request = client.bridge.submit("Go.", agent="child")
    client.say("UserPromptSubmit", prompt="hello")
    agent = client.start(client.launch(request))
    client.use(agent, "Bash", tool_input={"command": ": of the agent"})
    return agent


AGENTS = in_a_shell(": of the agent")
SESSIONS = in_a_shell(": of the session")


def test_an_agents_command_sees_and_sets_the_agents_own_variables(client, child):
    """Not the session's, whose rules bind somebody else."""
    said = [
        vars_of_ours(client, "set", "task=mine", "new:=1", before=AGENTS),
        vars_of_ours(client, "get", "task", "new", "limit", before=AGENTS),
        vars_of_ours(client, "get", "task", "new", before=SESSIONS),
        vars_of_ours(client, "unset", "task", before=AGENTS),
        vars_of_ours(client, "get", "task", before=AGENTS),
    ]

    assert said == [
        'task = "mine"\nnew = 1\n',
        "mine\n1\nnull\n",
        "session\nnull\n",
        'task = "session"\n',
        "session\n",
    ]
    assert (client.store.place.state / "agents" / f"{child}.vars").exists()


@pytest.mark.usefixtures("child")
@pytest.mark.parametrize("name", ["limit", "mode", "require_task_before_edit"])
def test_an_agent_cannot_change_what_binds_it(client, name):
    """What a rules file or its definition says is a person's, whoever set the same."""
    said = vars_of_ours(client, "set", f"{name}:=1", before=AGENTS)

    assert f"{name} belongs to the person (" in said
    assert "): a model can change only what models have set" in said


@pytest.mark.usefixtures("child")
def test_a_child_of_an_agent_has_what_the_agent_has_set(client):
    """Parent ⊕ definition, also where the child has none."""
    vars_of_ours(client, "set", "task=mine", before=AGENTS)
    env = {"CLAUDE_PID": str(os.getpid())}

    inner = asked(client, client.project, *AGENTS, env=env)

    assert inner.variables == {"limit": None, "mode": "fast", "task": "mine"}
