"""What the coordinator's agents made comes into the branch, or waits for a person."""

from pathlib import Path

import pytest
from coordinatorworld import (
    ROUND,
    Agents,
    reason_of_escalation,
    run,
    statuses,
    worktrees,
)
from gitworld import git

pytestmark = [pytest.mark.usefixtures("beside", "epic"), pytest.mark.slow]


class Conflicts(Agents):
    """Somebody else changes the same file while the first subtask is worked on."""

    def write(self, request):
        folder = Path(request.folder)
        (folder / "shop.py").write_text(f"# task {request.task_id}\n")
        if request.agent_type == "developer" and request.task_id == "#2":
            (self.project.folder / "shop.py").write_text("# meanwhile\n")
            git(self.project.folder, "commit", "-qam", "Meanwhile")
        return "shop.py"


def test_a_conflict_is_made_again_on_top_of_the_others(project, host):
    agents = Conflicts(project, host)

    ran = run(project, host, agents)

    assert ran.code == 0, ran
    assert agents.asked_for("#2") == [*ROUND, "merge"]
    asked = next(p for p in agents.prompts if "does not merge into" in p)
    assert "shop.py" in asked
    assert "+# task #2" in asked
    assert (project.folder / "shop.py").read_text() == "# task #3\n"
    # The change as it was made first is still there.
    (kept,) = worktrees(project)
    assert (kept / "shop.py").read_text() == "# task #2\n"


def test_a_conflict_that_nobody_takes_out_is_named_and_nothing_is_lost(project, host):
    class Stuck(Conflicts):
        def merge(self, request):
            done = super().merge(request)
            return done | {"status": "blocked", "summary": "both exclude each other"}

    reason = reason_of_escalation(project, host, Stuck(project, host))

    assert "both exclude each other" in reason
    assert "shop.py" in reason
    assert "does not merge into 'main'" in reason
    kept = {folder.name: folder / "shop.py" for folder in worktrees(project)}
    assert kept["2"].read_text() == "# task #2\n"
    branches = git(project.folder, "branch", "--format=%(refname:short)").split()
    assert [each for each in branches if each.endswith("/2")]


def test_a_change_that_is_not_made_again_is_not_closed(project, host):
    """Its agent says success; what the developer did is in its worktree still."""

    class Idle(Conflicts):
        def write(self, request):
            if request.agent_type == "merge":
                return "shop.py"
            return super().write(request)

    reason = reason_of_escalation(project, host, Idle(project, host))

    assert reason.splitlines()[0] == "Nothing was merged: no file was changed."
    assert "does not merge into 'main'" in reason
    kept = {folder.name: folder / "shop.py" for folder in worktrees(project)}
    assert kept["2"].read_text() == "# task #2\n"


class Quicker(Conflicts):
    """And while the change is made again, for so many times."""

    times = 1

    def merge(self, request):
        done = super().merge(request)
        count = self.asked_for(request.task_id).count("merge")
        if count <= self.times:
            (self.project.folder / "shop.py").write_text(f"# {count}\n")
            git(self.project.folder, "commit", "-qam", "Meanwhile, again")
        return done


def test_a_second_conflict_is_made_again_too(project, host):
    agents = Quicker(project, host)

    ran = run(project, host, agents)

    assert ran.code == 0, ran
    assert agents.asked_for("#2") == [*ROUND, "merge", "merge"]
    assert git(project.folder, "show", "main:shop.py") == "# task #3\n"
    assert git(project.folder, "show", "main~1:shop.py") == "# task #2\n"
    (kept,) = worktrees(project)
    assert (kept / "shop.py").read_text() == "# task #2\n"


def test_who_is_never_quick_enough_is_a_persons(project, host):
    agents = Quicker(project, host)
    agents.times = 99

    reason = reason_of_escalation(project, host, agents)

    assert agents.asked_for("#2") == [*ROUND, *["merge"] * 5]
    assert "does not merge into 'main'" in reason
    (kept,) = worktrees(project)
    assert (kept / "shop.py").read_text() == "# task #2\n"


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("part2.py", "would overwrite what is not committed: part2.py"),
        (".claude/settings.json", "changes what governs sessions here"),
    ],
)
def test_what_no_agent_can_mend_is_a_persons_at_once(project, host, file, words):
    """It has passed its validation, which closed it: it is open again."""

    class Writes(Agents):
        def write(self, request):
            if request.task_id != "#2":
                return super().write(request)
            for folder in (Path(request.folder), project.folder):
                (folder / file).parent.mkdir(exist_ok=True)
                (folder / file).write_text(f"in {folder.name}")
            return file

    agents = Writes(project, host)
    reason = reason_of_escalation(project, host, agents)

    assert agents.asked_for("#2") == ROUND
    (kept,) = worktrees(project)
    assert words in reason
    assert "not passed" not in reason
    assert str(kept) in reason
    assert (kept / file).read_text() == "in 2"
    assert (project.folder / file).read_text() == "in project"


def test_a_branch_that_is_switched_between_two_tasks(project, host):
    """Both come into the branch that the run began on."""

    class Switches(Agents):
        def task_validator(self, request):
            git(project.folder, "switch", "-qC", "mine")
            return super().task_validator(request)

    ran = run(project, host, Switches(project, host))

    assert ran.code == 0, ran
    assert git(project.folder, "branch", "--show-current") == "mine\n"
    assert git(project.folder, "ls-files") == "shop.py\n"
    there = git(project.folder, "ls-tree", "--name-only", "main").split()
    assert there == ["part2.py", "part3.py", "shop.py"]


def test_error_no_branch_to_merge_into(project, host):
    git(project.folder, "switch", "-q", "--detach")
    agents = Agents(project, host)

    ran = run(project, host, agents)

    assert ran.code == 1
    assert "is on no branch (its HEAD is detached)" in ran.json["why"]
    assert agents.asked == []
    assert statuses(project) == dict.fromkeys(("#1", "#2", "#3"), "open")
