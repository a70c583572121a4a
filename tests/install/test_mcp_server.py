"""The registered server starts, wherever its Python and its scripts are found."""

import subprocess
import sys
from pathlib import Path

import pytest
from installed import copy_of_repository, make_environment
from programs import ran

from bridge.doctor.mcp import tools_of
from bridge.host.hook_table import Kind, form_of
from bridge.host.install_records import InstallRecords
from bridge.host.mcp_registration import entry
from bridge.shipped import hooks_folder

pytestmark = pytest.mark.slow


class Client:
    """What starts a server: its folder, and the variables that it sets and fills in."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "ho me"
        self.env: dict[str, str] = {}

    def argv(self, kind: Kind, python: str = sys.executable) -> list[str]:
        words = entry(form_of(kind, hooks_folder(), python))["args"]
        known = {**self.env, "BRIDGE_HOME:-$HOME/.hostbridge": str(self.home)}
        for name, value in known.items():
            words = [word.replace(f"${{{name}}}", value) for word in words]
        return ["/bin/sh", *words]

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.root), **self.env}


@pytest.fixture
def client(tmp_path, monkeypatch):
    monkeypatch.setattr("bridge.doctor.mcp._TIMEOUT_S", 300)
    return Client(tmp_path)


def tools(client: Client, kind: Kind, python: str = sys.executable) -> list[str]:
    argv = client.argv(kind, python)
    return tools_of(argv, client.root, client.environment)


def test_it_starts_where_the_project_names_no_path(client):
    """By the pointer that the install of this machine wrote; without one, never."""
    assert tools(client, "project") == []

    client.home.mkdir(mode=0o700)
    InstallRecords(client.home).write_pointer(hooks_folder(), sys.executable)

    assert "start_agent" in tools(client, "project")


def test_the_plugins_server_runs_in_the_plugins_environment(client):
    """And with the plugin's own code: an update replaces the one and not the other."""
    plugin, data = client.root / "the plug'in", client.root / "data"
    copy_of_repository(plugin)
    make_environment(data / "venv")
    client.env = {"CLAUDE_PLUGIN_ROOT": str(plugin), "CLAUDE_PLUGIN_DATA": str(data)}

    assert "start_agent" in tools(client, "plugin")

    (plugin / "bridge" / "cli" / "setup" / "mcp.py").write_text("raise SystemExit")
    assert tools(client, "plugin") == []
    (data / "venv").rename(data / "gone")
    done = ran(*client.argv("plugin"), env=client.environment, stdin=subprocess.DEVNULL)
    assert done.stderr == "hostbridge: no Python here has it; see: hostbridge doctor\n"


def test_nothing_of_the_folder_is_run(client):
    """The server starts in the project, which may be a stranger's."""
    for name in ("bridge.py", "mcp.py", "json.py"):
        (client.root / name).write_text("open('ran', 'w')\n")

    assert "start_agent" in tools(client, "local")
    assert not (client.root / "ran").exists()
