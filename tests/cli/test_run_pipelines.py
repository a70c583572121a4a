"""A pipeline of agents, tools, waits and worktrees over real tasks and worktrees.

The agents answer as an open session would; what they write lies in the worktrees that
the pipeline made for them.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

PIPELINE = Path(__file__).parents[1] / "pipelines" / "samples" / "subtasks.yaml"
pytestmark = pytest.mark.usefixtures("beside")


def git(folder, *words):
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    env |= {
        f"GIT_{who}_{what}": "x@x"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    done = subprocess.run(
        ["git", *words], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture
def epic(project):
    """A repository, and a task with two subtasks."""
    git(project.folder, "init", "-q", "-b", "main")
    (project.folder / "shop.py").write_text("def price(): return 1\n")
    git(project.folder, "add", "shop.py")
    git(project.folder, "commit", "-qm", "Begin")
    tasks = project.bridge.tasks
    whole = tasks.create("A shop that adds up")
    for title in ("Round prices", "Add a discount"):
        tasks.create(title, parent=whole.ref)
    return whole


class Agents:
    """What each agent does when it is asked; `asked` has whom, for which task."""

    def __init__(self, project, *, approves=True, conflicts=False):
        self.project = project
        self.approves = approves
        self.conflicts = conflicts
        self.asked = []

    def __call__(self, request):
        self.asked.append((request.agent_type, request.task_id))
        return json.dumps(getattr(self, request.agent_type.replace("-", "_"))(request))

    def developer(self, request):
        folder = Path(request.folder)
        assert folder != self.project.folder
        name = "shop.py" if self.conflicts else f"part{request.task_id[1:]}.py"
        (folder / name).write_text(f"# task {request.task_id}\n")
        if self.conflicts:
            (self.project.folder / name).write_text(f"# not {request.task_id}\n")
            git(self.project.folder, "commit", "-qam", "Meanwhile")
        return {"status": "success", "summary": "done", "files": [name], "evidence": []}

    def qa_reviewer(self, request):
        assert request.variables["report"]["summary"] == "done"
        feedback = [] if self.approves else ["part.py: say why"]
        return {
            "approved": self.approves,
            "feedback": feedback,
            "summary": "seen",
            "evidence": [],
        }

    def task_ops(self, _request):
        return {"status": "success", "summary": "validated"}


def run(project, host, agents, task, *words):
    with host.serving(agents):
        return project.run(
            "run", str(PIPELINE), "--param", f"session_task={task}", "--json", *words
        )


def test_every_subtask_is_done_merged_and_closed(project, host, epic):
    agents = Agents(project)

    ran = run(project, host, agents, epic.ref)

    assert ran.code == 0, ran
    assert ran.json["answers"] == [{"task": "#1", "closed": 2, "of": 2, "left": False}]
    done = project.bridge.tasks.list()
    assert {(each.ref, str(each.status)) for each in done} == {
        ("#1", "closed"), ("#2", "closed"), ("#3", "closed"),
    }  # fmt: skip
    order = ["developer", "qa-reviewer", "task-ops"]
    assert agents.asked == [(who, f"#{n}") for n in (2, 3) for who in order]
    assert {"part2.py", "part3.py"} <= {f.name for f in project.folder.iterdir()}
    assert git(project.folder, "status", "--porcelain", "-uno") == ""
    log = git(project.folder, "log", "--format=%s")
    assert "#2: Round prices" in log
    assert "#3: Add a discount" in log
    assert git(project.folder, "branch", "--format=%(refname:short)") == "main\n"
    assert not [*(project.state / "worktrees").glob("*/*/")]


def test_what_the_reviewer_sends_back_is_mended(project, host, epic):
    agents = Agents(project, approves=False)

    ran = run(project, host, agents, epic.ref)

    assert ran.json["answers"][0]["closed"] == 2
    order = ["developer", "qa-reviewer", "developer", "task-ops"]
    assert [who for who, task in agents.asked if task == "#2"] == order


def test_a_conflict_is_named_and_nothing_is_lost(project, host, epic):
    ran = run(project, host, Agents(project, conflicts=True), epic.ref)

    assert ran.json["answers"] == [{"task": "#1", "closed": 0, "of": 2, "left": True}]
    for task in project.bridge.tasks.list(parent=epic.ref):
        assert str(task.status) == "escalated"
        assert "shop.py" in task.reason
        assert "does not merge into 'main'" in task.reason
    kept = [*(project.state / "worktrees").glob("*/*/shop.py")]
    assert sorted(file.read_text() for file in kept) == ["# task #2\n", "# task #3\n"]
    branches = git(project.folder, "branch", "--format=%(refname:short)").split()
    assert len(branches) == 3


@pytest.mark.usefixtures("epic")
def test_a_task_that_nobody_divided_is_divided_first(project, host):
    tasks = project.bridge.tasks
    whole = tasks.create("Not divided yet")

    class Divides(Agents):
        def task_ops(self, request):
            if request.task_id == whole.ref:
                assert request.workflow == "expansion"
                tasks.create("The only part", parent=whole.ref)
            return super().task_ops(request)

    agents = Divides(project)
    ran = run(project, host, agents, whole.ref)

    assert ran.json["answers"] == [
        {"task": whole.ref, "closed": 1, "of": 1, "left": False}
    ]
    assert agents.asked[0] == ("task-ops", whole.ref)
    assert str(tasks.get(whole.ref).status) == "closed"
