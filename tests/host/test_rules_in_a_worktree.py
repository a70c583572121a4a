"""The rules of a project hold in its linked worktrees: real Git, real hooks."""

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import forkserver
import pytest
from hookprocesses import run_hook
from trustworld import agree

from bridge.host.hook_table import HOOKS

pytestmark = pytest.mark.slow

RULES = """\
on_before_tool:
  - {name: no-push, when: 'runs(command, "git push")', block: Ask first.}
"""


class Checkouts:
    """A repository with rules, a linked worktree, and a session in that."""

    def __init__(self, root: Path, client: int) -> None:
        self.main = root / "main"
        self.tree = root / "a tree"
        self.home = root / "home"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "COLUMNS": "999",
        }
        who = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        who |= {"GIT_AUTHOR_NAME": "x", "GIT_COMMITTER_NAME": "x", "EMAIL": "x@x.org"}
        define(self.main, RULES)
        for words in (
            ["init", "-q"],
            ["add", ".bridge"],
            ["commit", "-qm", "x"],
            ["worktree", "add", "-qb", "b", str(self.tree)],
        ):
            subprocess.run(
                ["git", *words], cwd=self.main, env=self.env | who, check=True
            )
        define(self.tree, RULES.replace("git push", "ls"))
        self.session = self.env | {
            "CLAUDE_PROJECT_DIR": str(self.tree),
            "CLAUDE_PID": str(client),
            "CLAUDE_CODE_SESSION_ID": "session-1",
        }

    def say(self, name: str, **fields: Any) -> dict[str, Any]:
        """Run the hook of an event in the worktree; the JSON that it prints."""
        event = {
            "hook_event_name": name,
            "session_id": "session-1",
            "transcript_path": str(self.tree / "t.jsonl"),
            "cwd": str(self.tree),
            "permission_mode": "default",
            **fields,
        }
        hook = next(
            each
            for each in HOOKS
            if each.event == name
            and each.matcher in (None, "", "Bash|Monitor|PowerShell")
        )
        code, out, err = run_hook(hook, event, env=self.session, cwd=self.tree)
        assert (code, err) == (0, b"")
        return json.loads(out) if out else {}

    def asked(self, command: str) -> str | None:
        """Why a command is refused in the worktree."""
        call = {"tool_name": "Bash", "tool_input": {"command": command}}
        said = self.say("PreToolUse", **call, tool_use_id=f"toolu_{len(command)}")
        reason = said.get("hookSpecificOutput", {}).get("permissionDecisionReason")
        return reason and str(reason)

    def run(self, *words: str) -> str:
        """What the command line says in the worktree."""
        ran = forkserver.run([*words], env=self.env, cwd=self.tree)
        return (ran.out + ran.err).decode()


def define(project: Path, text: str) -> None:
    (project / ".bridge").mkdir(parents=True, exist_ok=True)
    (project / ".bridge/rules.yaml").write_text(text)


@pytest.fixture
def checkouts(tmp_path):
    client = subprocess.Popen(["sleep", "600"])
    try:
        yield Checkouts(tmp_path, client.pid)
    finally:
        client.kill()
        client.wait()


def test_rules_of_the_main_worktree_hold_in_a_linked_one(checkouts):
    """They are trusted in the main one, and every screen leads there."""
    cure = f"cd {checkouts.main} && hostbridge trust"
    begun = checkouts.say("SessionStart", source="startup")
    before = checkouts.asked("git push")
    doctor = checkouts.run("doctor")
    here = checkouts.run("trust")

    assert f"`hostbridge trust` in {checkouts.main}: " in begun["systemMessage"]
    assert before is None
    assert cure in doctor
    assert f"those of {checkouts.main}: trust them there" in here

    agree(SimpleNamespace(folder=checkouts.main, env=checkouts.env))

    refused = checkouts.asked("git push -f")
    assert refused.startswith("Ask first.\n[rule no-push (")
    assert f"{checkouts.main}/.bridge/rules.yaml:2" in refused
    assert checkouts.asked("ls") is None
    assert cure not in checkouts.run("doctor")
    shown = checkouts.run("rules")
    assert "no-push" in shown
    assert "not trusted" not in shown
