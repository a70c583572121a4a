"""The real client: `claude -p` in a worktree of a run, with our tools and grants."""

import json
import re

import pytest
from claudeworld import command
from gitworld import Repository
from hostworld import host_world

from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

PIPELINE = """\
name: apart
type: pipeline
steps:
- {id: tree, worktree: create, arguments: {name: apart}}
- id: work
  agent: developer
  prompt: Do it.
  worktree: "${{ steps.tree.output.folder }}"
outputs: {folder: "${{ steps.tree.output.folder }}"}
"""
REPORT = {"status": "success", "summary": "Done.", "files": [], "evidence": []}


def test_it_writes_in_the_worktree_and_has_the_projects_tasks(tmp_path):
    """`--mcp-config` starts our server there; what lies outside is not granted."""
    results = {}

    def model(request):
        folder = re.search(r"Work in the folder (\S+), a worktree", request.prompt)
        if folder is None or "StructuredOutput" not in request.tools:
            return reply("ok")
        calls = [
            ("mcp__hostbridge__get_task", {"task_id": "#1"}),
            ("Write", {"file_path": f"{folder[1]}/greet.py", "content": "x = 1\n"}),
            ("Write", {"file_path": f"{outside}/greet.py", "content": "x = 1\n"}),
            ("mcp__hostbridge__create_task", {"title": "More"}),
            ("StructuredOutput", REPORT),
        ]
        said = sum(item.get("role") == "assistant" for item in request.messages)
        results[said] = request.tool_results
        return reply(tool_use(*calls[said]) if said < len(calls) else "done")

    with host_world(tmp_path, model) as world:
        outside = world.stage.project
        Repository(outside)
        world.bridge.tasks.create("It greets", description="In greet.py.")
        (tmp_path / "apart.yaml").write_text(PIPELINE)
        words = ("run", str(tmp_path / "apart.yaml"), "--route", "claude", "--json")
        ran = command(world, *words)
        tasks = world.bridge.tasks.list()

    done = json.loads(ran.stdout)
    assert done["success"], ran
    told = [results[turn][-1] for turn in (1, 2, 3, 4)]
    assert [each.is_error for each in told] == [False, False, True, True], told
    assert "In greet.py." in told[0].text
    assert f"{done['answers'][0]['folder']}/greet.py" in told[1].text
    assert not (outside / "greet.py").exists()
    assert len(tasks) == 1
