"""Agents of the shipped coordinator, as an open session would have them answer.

What they write lies in the worktrees that the coordinator made for them. A validation
goes its real way: a validator is asked, and its verdict is the task's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitworld import git

from bridge.host.hook_table import form_of
from bridge.host.mcp_registration import NAME, entry
from bridge.shipped import hooks_folder

if TYPE_CHECKING:
    from cli.conftest import Host, Project, Ran

    from bridge.protocol.request import Request

ROUND = ["developer", "qa-reviewer", "task-ops", "task-validator"]


def make_repository(folder: Path) -> None:
    """A repository with one file."""
    git(folder, "init", "-q", "-b", "main")
    (folder / "shop.py").write_text("def price(): return 1\n")
    git(folder, "add", "shop.py")
    git(folder, "commit", "-qm", "Begin")


def make_epic(project: Project, *titles: str) -> None:
    """A repository, and the task #1 with subtasks."""
    make_repository(project.folder)
    register_server(project)
    whole = project.bridge.tasks.create("A shop that adds up")
    for title in titles:
        project.bridge.tasks.create(title, parent=whole.ref)


def register_server(project: Project) -> None:
    """Give sessions our MCP server, as `hostbridge install --mcp` does."""
    server = entry(form_of("local", hooks_folder(), sys.executable))
    known = {str(project.folder): {"mcpServers": {NAME: server}}}
    record = Path(project.env["HOME"]) / ".claude.json"
    record.parent.mkdir(exist_ok=True)
    record.write_text(json.dumps({"projects": known}))


def run(project: Project, host: Host, agents: Agents) -> Ran:
    """Run the coordinator on the task #1, with these agents in the session."""
    register_server(project)
    with host.serving(agents):
        return project.run("run", "coordinator", "--param", "task=#1", "--json")


def statuses(project: Project) -> dict[str, str]:
    """The status of each task."""
    return {each.ref: str(each.status) for each in project.bridge.tasks.list()}


def reason_of_escalation(project: Project, host: Host, agents: Agents) -> str:
    """Run it; the task #2 ends as a person's, for this reason, and #3 is closed."""
    assert run(project, host, agents).code == 1
    assert statuses(project) == {"#1": "open", "#2": "escalated", "#3": "closed"}
    return project.bridge.tasks.get("#2").reason


def worktrees(project: Project) -> list[Path]:
    """The worktrees of all runs."""
    return [*(project.state / "worktrees").glob("*/*/")]


class Agents:
    """What each agent does when it is asked; `asked` has whom, for which task."""

    def __init__(self, project: Project, host: Host) -> None:
        self.project = project
        self.host = host
        self.bridge = project.bridge
        self.asked: list[tuple[str, str]] = []
        self.prompts: list[str] = []

    def __call__(self, request: Request) -> str:
        self.asked.append((request.agent_type, request.task_id or ""))
        self.prompts.append(f"{request.prompt}\n{request.variables}")
        return json.dumps(getattr(self, request.agent_type.replace("-", "_"))(request))

    def asked_for(self, task: str) -> list[str]:
        """Who was asked for a task."""
        return [who for who, for_task in self.asked if for_task == task]

    def developer(self, request: Request) -> dict[str, Any]:
        name = self.write(request)
        return {"status": "success", "summary": "done", "files": [name], "evidence": []}

    def write(self, request: Request) -> str:
        """Write what the task asks for, into its worktree."""
        folder = Path(request.folder or "")
        assert folder != self.project.folder
        task = request.task_id or ""
        name = f"part{task[1:]}.py"
        (folder / name).write_text(f"# task {task}\n")
        return name

    def qa_reviewer(self, _request: Request) -> dict[str, Any]:
        return review()

    def task_ops(self, request: Request) -> dict[str, Any]:
        assert request.workflow == "validation"
        state = self.validate(request.task_id or "")
        if state == "passed":
            self.bridge.tasks.close(request.task_id or "", reason="validated")
        return {"status": "success", "summary": state}

    def validate(self, task: str) -> str:
        """Have a task validated, as the workflow has it done; the verdict."""
        said = self.bridge.call_tool("validate_task", {"task_id": task})
        while said["state"] == "running":
            for request in self.host.claim():
                self.host.answer(request, self(request))
            said = self.bridge.call_tool("get_validation_status", {"task_id": task})
        return str(said["state"])

    def task_validator(self, _request: Request) -> dict[str, Any]:
        return {"passed": True, "feedback": []}

    def merge(self, request: Request) -> dict[str, Any]:
        return self.developer(request)


def review(*feedback: str) -> dict[str, Any]:
    """What a reviewer answers: approved where nothing is wanted."""
    return {
        "approved": not feedback,
        "feedback": [*feedback],
        "summary": "seen",
        "evidence": [],
    }
