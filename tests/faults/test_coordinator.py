"""The shipped coordinator among faults: real processes, a real repository.

Its agents answer at once, in this process (`coordinatorworld`). Whatever happens, each
subtask is merged once or a person's, with the reason, and no change is lost.
"""

import random
import shutil
import signal
import time
from collections import Counter

import pytest
from cli.conftest import Host, Project
from coordinatorworld import ROUND, Agents, make_epic, statuses, worktrees
from faultlab import tell
from gitworld import git
from polling import wait_until
from sessionworld import started_as_a_client

from bridge.store.host_process import identify

pytestmark = pytest.mark.faults

CHANCE = random.Random(14)  # noqa: S311 - when to kill, no secret
COORDINATE = ("run", "coordinator", "--param", "session_task=#1", "--json")
KILLS = 12


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def host(project, tmp_path):
    """An open session; its client is no process above us."""
    host = Host(project)
    with started_as_a_client(tmp_path) as client:
        host.change(host=identify(client.pid))
        yield host
        client.kill()


def merged(project, branch="main"):
    """How often each task has come into a branch."""
    log = git(project.folder, "log", "--format=%s", branch).splitlines()
    return Counter(line.partition(":")[0] for line in log if line.startswith("#"))


def parts(project, branch="main"):
    """The tasks whose files are in a branch."""
    files = git(project.folder, "ls-tree", "--name-only", branch).split()
    return sorted(f"#{name[4:-3]}" for name in files if name.startswith("part"))


def is_whole(project):
    """The repository has no harm, and nothing of a run is left in it."""
    git(project.folder, "fsck", "--no-dangling")
    assert git(project.folder, "status", "--porcelain") == ""
    branches = git(project.folder, "branch", "--format=%(refname:short)")
    assert branches.split() == ["main"]
    assert worktrees(project) == []
    return True


def each_was_merged_once(project, agents, subtasks):
    assert statuses(project) == dict.fromkeys(["#1", *subtasks], "closed")
    for task in subtasks:
        assert agents.asked_for(task) == ROUND
    assert merged(project) == Counter(subtasks)
    assert parts(project) == subtasks
    assert is_whole(project)
    return True


def test_two_coordinators_share_an_epic(project, host):
    """Whoever comes second to a task takes the next; one may end before the other."""
    make_epic(project, *"abcd")
    subtasks = ["#2", "#3", "#4", "#5"]
    agents = Agents(project, host)

    with host.serving(agents):
        both = [project.start(*COORDINATE) for _ in range(2)]
        said = [each.communicate(timeout=300) for each in both]

    assert 0 in {each.returncode for each in both}, said
    for each, (out, err) in zip(both, said, strict=True):
        assert each.returncode == 0 or b"unfinished: " in out, (out, err)
    assert each_was_merged_once(project, agents, subtasks)


def test_who_is_killed_at_any_time_goes_on(project, host):
    """The run goes on by its id, at last by two at once."""
    make_epic(project, *"abcdef")
    subtasks = [f"#{number}" for number in range(2, 8)]
    agents = Agents(project, host)
    responses, runs = project.state / "responses", project.state / "runs"
    kills = 0

    def begun():
        return [file.parent.name for file in runs.glob("*/run.json")]

    def started():
        again = ("run", "--resume", begun()[0], "--json") if begun() else COORDINATE
        return project.start(*again)

    def answered():
        return len([*responses.glob("*.json")])

    with host.serving(agents):
        process = started()
        for _ in range(KILLS):
            count = answered() + CHANCE.randint(0, 2)
            wait_until(
                lambda count=count, process=process: (
                    process.poll() is not None or (begun() and answered() >= count)
                )
            )
            time.sleep(CHANCE.uniform(0, 0.15))
            process.kill()
            process.communicate()
            kills += process.returncode == -signal.SIGKILL
            process = started()
        beside = started()
        said = [each.communicate(timeout=300) for each in (process, beside)]

    for out, _ in said:
        assert b'"success":true' in out or b"is completed" in out, said
    assert len(begun()) == 1
    assert each_was_merged_once(project, agents, subtasks)
    tell(f"coordinator: {kills} kills")


@pytest.mark.parametrize("when", ROUND)
def test_a_worktree_that_is_removed(project, host, when):
    """While any of its agents works: the task is a person's, and can be done again."""
    make_epic(project, *"ab")

    class Removes(Agents):
        def __call__(self, request):
            said = super().__call__(request)
            if (request.agent_type, request.task_id) == (when, "#2"):
                for folder in worktrees(project):
                    shutil.rmtree(folder)
            return said

    with host.serving(Removes(project, host)):
        ran = project.run(*COORDINATE)

    assert ran.code == 1
    assert "unfinished: 1 of 2 subtasks of #1 are closed" in ran.json["why"]
    assert statuses(project) == {"#1": "open", "#2": "escalated", "#3": "closed"}
    reason = project.bridge.tasks.get("#2").reason
    folder = next((project.state / "worktrees").glob("*")) / "2"
    assert str(folder) in reason
    assert "gone" in reason or "must be an existing folder" in reason
    assert parts(project) == ["#3"]

    project.bridge.tasks.reopen("#2")
    with host.serving(Agents(project, host)):
        again = project.run(*COORDINATE)

    assert again.code == 0, again
    assert merged(project) == Counter(["#2", "#3"])
    assert statuses(project) == dict.fromkeys(["#1", "#2", "#3"], "closed")


def test_git_clean_whenever_somebody_is_asked(project, host):
    make_epic(project, *"ab")

    class Cleans(Agents):
        def __call__(self, request):
            (project.folder / "loose").touch()
            git(project.folder, "clean", "-ffdxq")
            return super().__call__(request)

    with host.serving(Cleans(project, host)):
        ran = project.run(*COORDINATE)

    assert ran.code == 0, ran
    assert merged(project) == Counter(["#2", "#3"])
    assert is_whole(project)


def test_a_branch_that_is_renamed_gets_nothing(project, host):
    """Its name is what the run knows it by: both tasks are a person's then."""
    make_epic(project, *"ab")

    class Renames(Agents):
        def qa_reviewer(self, request):
            if request.task_id == "#2":
                git(project.folder, "branch", "-m", "main", "mine")
            return super().qa_reviewer(request)

    agents = Renames(project, host)
    with host.serving(agents):
        ran = project.run(*COORDINATE)

    assert ran.code == 1
    assert agents.asked_for("#2") == ROUND
    assert agents.asked_for("#3") == []
    assert statuses(project) == {"#1": "open", "#2": "escalated", "#3": "escalated"}
    assert "has no branch 'main'" in project.bridge.tasks.get("#2").reason
    assert "'main' is no branch" in project.bridge.tasks.get("#3").reason
    assert parts(project, "mine") == []
    (kept,) = worktrees(project)
    assert (kept / "part2.py").exists()
    branches = git(project.folder, "branch", "--format=%(refname:short)").split()
    (branch,) = [each for each in branches if each.endswith("/2")]
    assert parts(project, branch) == ["#2"]


@pytest.mark.parametrize("looks", [1, 2])
def test_a_task_that_is_edited_while_it_is_validated(project, host, looks):
    """The verdict is void: it passes by a second look, or not at all."""
    make_epic(project, *"ab")

    class Edits(Agents):
        def task_validator(self, request):
            if len(self.asked_for(request.task_id)) == len(ROUND):
                self.bridge.tasks.update(request.task_id, description="And more")
            return super().task_validator(request)

        def validate(self, task):
            return [super(Edits, self).validate(task) for _ in range(looks)][-1]

    agents = Edits(project, host)
    with host.serving(agents):
        ran = project.run(*COORDINATE)

    is_done = looks > 1
    assert ran.code == (0 if is_done else 1), ran
    assert agents.asked_for("#2") == [*ROUND, *["task-validator"] * (looks - 1)]
    status = "closed" if is_done else "escalated"
    assert [statuses(project)[each] for each in ("#2", "#3")] == [status] * 2
    assert parts(project) == (["#2", "#3"] if is_done else [])
    if not is_done:
        assert "changed" in project.bridge.tasks.get("#2").reason
        assert len(worktrees(project)) == 2
