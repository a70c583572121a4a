"""The plugin's files say what the package says."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

from programs import ran

from bridge.host.hook_table import HOOKS, KINDS, kind_of, plugin_file
from bridge.protocol.names import CARRIER
from bridge.shipped import hooks_folder

ROOT = Path(__file__).parents[2]
MANIFEST = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())


def test_the_plugin_has_the_packages_name_and_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    same = ("name", "version", "description", "license")
    assert {key: MANIFEST[key] for key in same} == {key: project[key] for key in same}


def test_the_repository_is_its_own_marketplace():
    file = ROOT / ".claude-plugin" / "marketplace.json"
    [entry] = json.loads(file.read_text())["plugins"]

    assert entry.pop("source") == "./"
    assert entry == {key: MANIFEST[key] for key in entry}


def test_hooks_json_is_made_from_the_table():
    """Make it with: python -m bridge.host.hook_table > hooks/hooks.json."""
    made = ran(sys.executable, "-m", "bridge.host.hook_table").stdout

    kept = (ROOT / "hooks" / "hooks.json").read_text()

    assert kept == made == plugin_file()
    commands = [
        command
        for groups in json.loads(kept)["hooks"].values()
        for group in groups
        for command in group["hooks"]
    ]
    assert len(commands) == len(HOOKS)
    assert {kind_of(command) for command in commands} == {"plugin"}
    assert "plugin" in KINDS


def test_mcp_json_is_made_from_the_table():
    """At the top, as .mcp.json, it would be offered to whoever works on hostbridge."""
    made = ran(sys.executable, "-m", "bridge.host.mcp_registration").stdout

    assert (ROOT / "hooks" / "mcp.json").read_text() == made
    assert not (ROOT / ".mcp.json").exists()
    assert kind_of(json.loads(made)["mcpServers"]["hostbridge"]) == "plugin"
    assert MANIFEST["mcpServers"] == "./hooks/mcp.json"


def test_every_script_of_the_table_is_there_and_is_shell():
    scripts = {hook.script for hook in HOOKS} | {"mcp-server"}

    for script in scripts:
        path = hooks_folder() / script
        assert path.read_text().startswith("#!/bin/sh\n"), script
        assert path.stat().st_mode & 0o111, script
        subprocess.run(["/bin/sh", "-n", path], check=True)


def test_one_agent_comes_with_the_plugin():
    """The client takes every Markdown file there for one."""
    found = [file.name for file in (ROOT / "agents").rglob("*.md")]

    assert found == [f"{CARRIER}.md"]
