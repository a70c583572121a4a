"""What runs below a session obeys its limits, whatever its environment says."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import needs
import orjson
import pytest
from fakeclaude import OBEDIENT, fake_claude
from hookworld import HookWorld
from thoroughness import crossed

from bridge.bound.session_above import open_clients
from bridge.config import HOME_FOLDER, Settings
from bridge.host import dispatch
from bridge.store.location import Place
from bridge.store.store import Store

pytestmark = pytest.mark.slow

PYTHON = (sys.executable, "-m", "bridge")


@pytest.fixture
def client(tmp_path, monkeypatch):
    """A session whose client is this process: what it starts is below it."""
    world = HookWorld(tmp_path, monkeypatch, os.getpid())
    monkeypatch.setenv("BRIDGE_AGENTS_PER_HOUR", "0")
    monkeypatch.setenv("BRIDGE_FAN_OUT", "1")
    start = world.event("SessionStart", source="startup")
    dispatch.answer(orjson.dumps(start), "SessionStart", "local")
    return world


def run(
    world: HookWorld, *words: str, folder: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """A command in a shell that the client has started, which changes variables."""
    changed = [f"{name}={value}" for name, value in env.items()]
    return subprocess.run(
        ["sh", "-c", '"$@"; exit', "sh", "env", *changed, *PYTHON, *words],
        cwd=folder or world.project,
        env={"HOME": str(world.home), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("where", "name"),
    crossed(
        ["project", "elsewhere"], ["BRIDGE_AGENTS_PER_HOUR", "BRIDGE_HOME", "HOME"]
    ),
)
def test_an_agent_beside_the_session_is_charged_to_it(client, tmp_path, where, name):
    program = fake_claude(tmp_path / "bin", OBEDIENT)
    folder = {"project": client.project, "elsewhere": tmp_path / "elsewhere"}[where]
    folder.mkdir(exist_ok=True)
    value = "9" if name == "BRIDGE_AGENTS_PER_HOUR" else str(tmp_path / "new")

    done = run(
        client, "ask", "go", "--route", "claude", folder=folder,
        **{"BRIDGE_CLAUDE": str(program), name: value},
    )  # fmt: skip

    assert done.returncode != 0
    assert "agents_per_hour is 0, so it may start no agent" in done.stderr


def test_a_name_of_its_own_is_no_other_asker(client):
    for number in range(3):
        done = run(
            client, "submit", f"number {number}", BRIDGE_FAN_OUT="9",
            BRIDGE_REQUESTER=f"r{number}", BRIDGE_PARENT=f"p{number}", BRIDGE_DEPTH="1",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    held = client.store.held_requests()

    assert [each.requester for each in held] == ["r1", "r2"]
    assert {each.asker for each in held} == {client.session}


def test_a_variable_does_not_let_agents_ask_more_deeply(client):
    done = run(client, "submit", "go", BRIDGE_MAX_DEPTH="9", BRIDGE_PARENT="p",
               BRIDGE_DEPTH="2")  # fmt: skip

    assert "3 agents stand above this request; 2 is the limit" in done.stderr


BY_HAND = """
import sys
from pathlib import Path
from bridge.api.bridge import Bridge
from bridge.bound.session_above import only_by_hand
bridge = Bridge.open(Path(sys.argv[1]))
only_by_hand(bridge.settings, bridge.store, "hostbridge trust")
"""


@pytest.mark.parametrize("where", ["project", "elsewhere"])
def test_error_by_hand_in_a_pid_namespace_below_a_session(client, tmp_path, where):
    """There no client is an ancestor, and the start of none can be read."""
    namespace = (needs.tool("unshare"), "-Urpf", "--mount-proc")
    if subprocess.run(
        [*namespace, "true"], capture_output=True, check=False
    ).returncode:
        pytest.skip("no namespaces for this user")
    folder = {"project": client.project, "elsewhere": tmp_path / "elsewhere"}[where]
    folder.mkdir(exist_ok=True)

    done = subprocess.run(
        [*namespace, sys.executable, "-c", BY_HAND, folder],
        env={"HOME": str(client.home), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "in another PID namespace" in done.stderr


@pytest.mark.parametrize("where", ["the account's home", "around the state"])
def test_another_home_hides_no_open_session(client, tmp_path, monkeypatch, where):
    """A model may start a command with HOME and BRIDGE_STATE_DIR of its choice."""
    hidden = Settings(tmp_path / "empty")
    if where == "the account's home":
        account = SimpleNamespace(pw_dir=str(client.home))
        monkeypatch.setattr("pwd.getpwuid", lambda _: account)
    else:
        hidden = Settings(
            hidden.home, state_dir=client.home / HOME_FOLDER / "state" / "x"
        )
    store = Store(Place(tmp_path, tmp_path / "none", tmp_path / "none", ""))

    assert os.getpid() in open_clients(hidden, store)
