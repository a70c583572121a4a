"""The hook of our own `claude -p` decides by rules that name their options."""

from __future__ import annotations

import json

import pytest

from bridge.claude_cli.agent_hook import decision

RULES = ["Bash(cat [-n] *)"]


@pytest.mark.parametrize(
    ("command", "cwd", "decided"),
    [
        ("cat -n a.txt", ".", "allow"),
        ("cat ../a.txt", "src", "allow"),
        ("cat ../a.txt", ".", "deny"),
        ("cat link", ".", "deny"),
        ("cat -v a.txt", ".", "deny"),
        ("ls", ".", None),
    ],
)
def test_paths_must_stay_in_the_project(tmp_path, command, cwd, decided):
    """From the folder that the shell is in, and with links followed."""
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "link").symlink_to("/etc/hostname")
    call = {"tool_name": "Bash", "tool_input": {"command": command}}

    said = decision({**call, "cwd": str(project / cwd)}, str(project), RULES)

    output = json.loads(said)["hookSpecificOutput"] if said else {}
    assert output.get("permissionDecision") == decided
