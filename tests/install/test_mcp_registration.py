"""The MCP server in the client's own list: registered once, removed whole."""

import json
import os
import sys
from pathlib import Path

import needs
import pytest
from installed import ROOT

from bridge.cli.setup import install
from bridge.host.hook_table import form_of
from bridge.host.mcp_registration import entry
from bridge.shipped import hooks_folder

OTHERS = {"type": "stdio", "command": "/bin/true", "args": []}
SCOPES = ["local", "user", "project"]


@pytest.fixture
def client(monkeypatch):
    """The real client on PATH."""
    monkeypatch.setenv("PATH", f"{needs.client().parent}:{os.environ['PATH']}")


def known(world, scope: str) -> dict[str, object]:
    """The servers that the client keeps in a scope."""
    file = world.home / ".claude.json"
    if scope == "project":
        file = world.project / ".mcp.json"
    found = json.loads(file.read_text()) if file.exists() else {}
    if scope == "local":
        found = found.get("projects", {}).get(str(world.project), {})
    servers: dict[str, object] = found.get("mcpServers", {})
    return servers


def write(file: Path, scope: str, project: Path, servers: dict[str, object]) -> None:
    content: dict[str, object] = {"mcpServers": servers}
    if scope == "local":
        content = {"projects": {str(project): content}}
    file.write_text(json.dumps(content))


@pytest.mark.host
@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("scope", SCOPES)
def test_install_registers_the_server_and_uninstall_removes_it(world, scope):
    """Beside those of others, and once, however often it is installed."""
    file = world.project / ".mcp.json" if scope == "project" else None
    file = file or world.home / ".claude.json"
    write(file, scope, world.project, {"theirs": OTHERS})
    wanted = entry(form_of(scope, hooks_folder(), sys.executable))

    for _ in range(2):
        code, out, err = world.run("install", f"--{scope}", "--mcp")
        assert (code, err) == (0, "")
        assert f"  registered the MCP server, scope {scope}: new sessions have" in out
        assert known(world, scope) == {"theirs": OTHERS, "hostbridge": wanted}
    _, out, _ = world.run("uninstall", "--dry-run")
    assert f"would remove the MCP server, scope {scope}\n" in out
    code, out, err = world.run("uninstall")

    assert (code, err) == (0, "")
    assert f"removed the MCP server, scope {scope}\n" in out
    assert known(world, scope) == {"theirs": OTHERS}


@pytest.mark.host
@pytest.mark.usefixtures("client")
def test_an_install_renews_what_another_hostbridge_registered(world):
    """After a move its paths lead nowhere, whether --mcp is typed again or not."""
    old = entry(form_of("local", hooks_folder().parent / "gone", "/gone/python"))
    write(world.home / ".claude.json", "local", world.project, {"hostbridge": old})

    code, out, _ = world.run("install", "--dry-run")
    assert (code, "would register the MCP server, scope local" in out) == (0, True)
    assert known(world, "local") == {"hostbridge": old}
    world.run("install")

    wanted = entry(form_of("local", hooks_folder(), sys.executable))
    assert known(world, "local") == {"hostbridge": wanted}


@pytest.mark.host
@pytest.mark.usefixtures("client")
def test_a_server_of_somebody_else_stays(world):
    file = world.home / ".claude.json"
    write(file, "user", world.project, {"hostbridge": OTHERS})

    code, _, err = world.run("install", "--user", "--mcp")

    assert (code, known(world, "user")) == (1, {"hostbridge": OTHERS})
    assert err == (
        "hostbridge: another MCP server is called hostbridge in scope user; it stays\n"
        "  what to do: claude mcp remove --scope user hostbridge, then install again\n"
    )
    assert world.run("uninstall")[0] == 0
    assert known(world, "user") == {"hostbridge": OTHERS}


def test_without_the_client_the_command_to_type_is_named(world, monkeypatch):
    """The hooks are installed all the same."""
    monkeypatch.setenv("PATH", str(world.root))

    code, _, err = world.run("install", "--mcp")

    assert (code, world.local.exists()) == (1, True)
    assert err.startswith("hostbridge: no `claude` on PATH, which keeps the list")
    assert f"in {world.project}: claude mcp add-json --scope local hostbridge '" in err


def test_uninstall_without_the_client_says_what_is_left(world, monkeypatch):
    """The hooks are gone all the same."""
    monkeypatch.setenv("PATH", str(world.root))
    ours = entry(form_of("user", hooks_folder(), sys.executable))
    write(world.home / ".claude.json", "user", world.project, {"hostbridge": ours})
    world.run("install")

    code, _, err = world.run("uninstall")

    assert (code, world.local.exists()) == (1, False)
    assert f"in {world.project}: claude mcp remove --scope user hostbridge" in err


@pytest.mark.host
@pytest.mark.usefixtures("client")
def test_an_install_names_the_package_that_the_server_needs(world, monkeypatch):
    monkeypatch.setattr(install, "find_spec", lambda _: None)

    code, _, err = world.run("install", "--mcp")

    assert code == 0
    assert "the server needs the extra `mcp`: " in err


def test_what_the_client_answers_is_passed_on(world, monkeypatch):
    program = world.root / "claude"
    program.write_text("#!/bin/sh\necho 'No room\nleft' >&2\nexit 1\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{world.root}:/usr/bin:/bin")

    code, _, err = world.run("install", "--mcp")

    assert code == 1
    assert f"{program} says: No room left" in err


@pytest.mark.parametrize(
    "text", ["", "[", "[]", '{"projects": []}', '{"mcpServers": 7}']
)
def test_a_list_that_cannot_be_read_has_no_server(world, text):
    (world.home / ".claude.json").write_text(text)
    (world.project / ".mcp.json").write_text(text)

    assert world.run("uninstall")[0] == 0


def test_an_entry_of_the_project_names_no_path():
    """It is committed; a path of the user's own may have spaces."""
    text = json.dumps(entry(form_of("project", hooks_folder(), sys.executable)))

    assert str(ROOT) not in text
    assert sys.prefix not in text
    assert '\\"${BRIDGE_HOME:-$HOME/.hostbridge}\\"' in text
