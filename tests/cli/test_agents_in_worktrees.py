"""An agent of a run in a worktree: where it works, what it has there, what it asks."""

import json
import sys
from pathlib import Path

import pytest
from fakeclaude import OBEDIENT, fake_claude, trust_folder
from gitworld import Repository
from scripted_server import say

pytestmark = pytest.mark.slow

PIPELINE = """\
name: apart
type: pipeline
steps:
- {id: tree, worktree: create, arguments: {name: apart}}
- {id: work, agent: AGENT, prompt: Do it., worktree: "${{ steps.tree.output.folder }}"}
outputs: {folder: "${{ steps.tree.output.folder }}"}
"""


@pytest.fixture
def apart(project):
    """Runs an agent in a worktree; the folder of that, and what came of it."""
    Repository(project.folder)

    def run(agent, route):
        file = project.folder.with_name("apart.yaml")
        file.write_text(PIPELINE.replace("AGENT", agent))
        ran = project.run("run", str(file), "--route", route, "--json")
        assert ran.code == 0, ran
        return Path(ran.json["answers"][0]["folder"])

    return run


@pytest.mark.parametrize("asked_from", ["the worktree", "the project"])
def test_its_own_agents_work_where_it_works(project, apart, tmp_path, asked_from):
    """Also from the project itself, where a `cd` may have led; the state is that's."""
    project.bridge.tasks.create("It greets")
    go = ":" if asked_from == "the worktree" else f"cd {project.folder}"
    bridge = f"{sys.executable} -m bridge"
    program = fake_claude(
        tmp_path / "bin",
        f'if grep -q "Ask again" "$here/stdin"; then pwd >"$here/below"; else\n'
        f"{go}\n"
        f'{bridge} ask --route claude "Ask again." >"$here/said" 2>&1\n'
        f'cp "$here/stdin" "$here/first"\n'
        f'{bridge} task list >"$here/tasks"; fi\n{OBEDIENT}',
    )
    project.env["BRIDGE_CLAUDE"] = str(program)
    trust_folder(tmp_path / "home", project.folder)

    folder = apart("general-purpose", "claude")

    here = tmp_path / "bin"
    assert (here / "below").read_text() == f"{folder}\n", (here / "said").read_text()
    assert "It greets" in (here / "tasks").read_text()
    kept = [json.loads(file.read_text()) for file in project.state.glob("done/*")]
    assert [request["folder"] for request in kept] == [str(folder)] * 2


def test_a_model_in_our_loop_writes_there_and_has_the_projects_tasks(
    endpoint, server, apart
):
    """The routes endpoint and local have the same loop."""
    endpoint.bridge.tasks.create("It greets", description="in greet.py")
    report = {"status": "success", "summary": "Done.", "files": [], "evidence": []}
    calls = [
        {"tool": "mcp__hostbridge__get_task", "arguments": {"task_id": "#1"}},
        {"tool": "write_file", "arguments": {"path": "greet.py", "content": "x = 1\n"}},
        {"tool": "submit_result", "arguments": report},
    ]
    server.acts = [say(json.dumps(call)) for call in calls]

    folder = apart("developer", "endpoint")

    assert (folder / "greet.py").read_text() == "x = 1\n"
    assert not (endpoint.folder / "greet.py").exists()
    assert "in greet.py" in json.dumps(server.asked[1]["messages"])
