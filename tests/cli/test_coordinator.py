"""The shipped coordinator over real tasks and real worktrees, with scripted agents."""

import shlex
from pathlib import Path

import pytest
from coordinatorworld import (
    ROUND,
    Agents,
    reason_of_escalation,
    review,
    run,
    statuses,
    worktrees,
)
from gitworld import git
from polling import wait_until
from screens import on_terminal

pytestmark = [pytest.mark.usefixtures("beside", "epic"), pytest.mark.slow]


def test_every_subtask_is_done_merged_and_closed(project, host):
    agents = Agents(project, host)

    ran = run(project, host, agents)

    assert ran.code == 0, ran
    answer = {"task": "#1", "status": "closed", "subtasks": 2, "closed": 2}
    assert ran.json["answers"] == [answer]
    assert statuses(project) == dict.fromkeys(("#1", "#2", "#3"), "closed")
    assert [*agents.asked_for("#2")] == [*agents.asked_for("#3")] == ROUND
    assert {"part2.py", "part3.py"} <= {f.name for f in project.folder.iterdir()}
    assert git(project.folder, "status", "--porcelain", "-uno") == ""
    log = git(project.folder, "log", "--format=%s")
    assert "#2: Round prices" in log
    assert "#3: Add a discount" in log
    assert git(project.folder, "branch", "--format=%(refname:short)") == "main\n"
    assert worktrees(project) == []


def test_on_a_terminal_one_sees_who_works_on_which_task(project, host):
    screen = bytearray()
    lines = ("developer: #2", "qa-reviewer: #3")

    class Watched(Agents):
        """The screen is drawn now and then: who answers at once may not be seen."""

        def __call__(self, request):
            line = f"{request.agent_type}: {request.task_id}"
            if line in lines:
                wait_until(lambda: line.encode() in screen)
            return super().__call__(request)

    with host.serving(Watched(project, host)):
        words = ("run", "coordinator", "--param", "task=1")
        shown = on_terminal(project, *words, columns=100, shown=screen)

    for line in (*lines, "steps, round 2"):
        assert line in shown
    assert "${{" not in shown
    assert shown.splitlines()[-1].endswith(
        '{"task": "#1", "status": "closed", "subtasks": 2, "closed": 2}'
    )


def test_what_the_reviewer_sends_back_is_done_again(project, host):
    class Once(Agents):
        def qa_reviewer(self, request):
            is_first = self.asked_for(request.task_id).count("qa-reviewer") == 1
            return review("say why") if is_first else review()

    agents = Once(project, host)
    assert run(project, host, agents).json["answers"][0]["closed"] == 2
    assert agents.asked_for("#2") == [*ROUND[:2], *ROUND]
    assert "say why" in agents.prompts[2]


def test_what_is_sent_back_three_times_is_a_persons(project, host):
    class Never(Agents):
        def qa_reviewer(self, request):
            return review("say why") if request.task_id == "#2" else review()

    agents = Never(project, host)
    reason = reason_of_escalation(project, host, agents)

    why = project.run("runs", "--json").json["why"]
    assert why.startswith(
        "unfinished: 1 of 2 subtasks of #1 are closed, and it is open"
    )
    assert agents.asked_for("#2") == ROUND[:2] * 3
    (kept,) = worktrees(project)
    assert "three times" in reason
    assert "say why" in reason
    assert str(kept) in reason
    assert (kept / "part2.py").exists()


def test_a_subtask_that_changes_no_file_is_not_closed(project, host):
    """Its developer says success, and whoever were asked would accept it."""

    class Idle(Agents):
        def write(self, request):
            if request.task_id == "#2":
                return "part2.py"
            return super().write(request)

    agents = Idle(project, host)
    reason = reason_of_escalation(project, host, agents)

    assert agents.asked_for("#2") == ["developer"] * 3
    assert "No file was changed in its worktree." in agents.prompts[1]
    (kept,) = worktrees(project)
    assert reason == (
        "It was sent back three times, at last for: no file was changed. "
        f"Its worktree: {kept}"
    )
    assert "#2:" not in git(project.folder, "log", "--format=%s")


def test_a_change_that_is_taken_back_after_its_review_is_not_closed(project, host):
    """The validation has closed the task before it comes to a merge of nothing."""

    class TakesBack(Agents):
        def task_ops(self, request):
            if request.task_id == "#2":
                (Path(request.folder) / "part2.py").unlink()
            return super().task_ops(request)

    reason = reason_of_escalation(project, host, TakesBack(project, host))

    assert reason.splitlines()[0] == "Nothing was merged: no file was changed."
    assert "#2:" not in git(project.folder, "log", "--format=%s")


@pytest.mark.parametrize("who", ["developer", "qa-reviewer", "task-ops"])
def test_who_fails_has_the_task_escalated_and_the_rest_goes_on(project, host, who):
    class Fails(Agents):
        def __call__(self, request):
            if (request.agent_type, request.task_id) == (who, "#2"):
                self.asked.append((who, "#2"))
                return "no compiler"  # which is no answer
            return super().__call__(request)

    assert "no_json" in reason_of_escalation(project, host, Fails(project, host))


def test_a_developer_who_says_that_it_failed_has_not_done_it(project, host):
    class Fails(Agents):
        def developer(self, request):
            done = super().developer(request)
            if request.task_id == "#2":
                return done | {"status": "failed", "summary": "no compiler"}
            return done

    agents = Fails(project, host)
    reason = reason_of_escalation(project, host, agents)

    assert "agent_failed: no compiler" in reason
    assert agents.asked_for("#2") == ["developer"]


def test_what_does_not_pass_its_validation_is_not_merged(project, host):
    class Strict(Agents):
        def task_validator(self, request):
            passed = request.task_id != "#2"
            return {"passed": passed, "feedback": [] if passed else ["no test"]}

        def task_ops(self, request):
            for _ in range(3):
                if self.validate(request.task_id) == "passed":
                    return super().task_ops(request)
            words = "It failed its validation 3 times"
            self.bridge.tasks.escalate(request.task_id, reason=words)
            return {"status": "failed", "summary": words}

    reason = reason_of_escalation(project, host, Strict(project, host))

    assert reason == "It failed its validation 3 times"
    assert not (project.folder / "part2.py").exists()
    assert [kept.name for kept in worktrees(project)] == ["2"]


def test_a_validator_without_a_verdict_has_the_task_escalated(project, host):
    class Idle(Agents):
        def task_ops(self, request):
            if request.task_id == "#2":
                return {"status": "success", "summary": "looks fine"}
            return super().task_ops(request)

    reason = reason_of_escalation(project, host, Idle(project, host))

    assert reason.startswith("It has not passed its validation.")
    assert not (project.folder / "part2.py").exists()


class Divides(Agents):
    """The task has no parts any more; task-ops makes so many, and says that it did."""

    parts = 1

    def __init__(self, project, host):
        super().__init__(project, host)
        for part in ("#2", "#3"):
            project.bridge.tasks.delete(part)

    def task_ops(self, request):
        if request.workflow != "expansion":
            return super().task_ops(request)
        for _ in range(self.parts):
            self.bridge.tasks.create("The only part", parent=request.task_id)
        return {"status": "success", "summary": "divided"}


def test_a_task_that_nobody_divided_is_divided_first(project, host):
    agents = Divides(project, host)

    ran = run(project, host, agents)

    assert ran.code == 0, ran
    assert agents.asked[0] == ("task-ops", "#1")
    assert statuses(project) == {"#1": "closed", "#4": "closed"}


def test_a_run_goes_on_once_what_it_lacked_is_there(project, host):
    """Not by what it had read before: it would fail in the same words for ever."""
    agents = Divides(project, host)
    agents.parts = 0
    failed = run(project, host, agents)
    assert (failed.code, statuses(project)) == (1, {"#1": "open"})
    cure = failed.json["why"].partition("divide it: hostbridge ")[2]
    assert cure == "task create TITLE --parent '#1'"
    divided = project.run(*shlex.split(cure, comments=True))

    with host.serving(agents):
        ran = project.run("run", "--resume", failed.json["run"], "--json")

    assert divided.code == 0, divided
    assert ran.code == 0, ran
    assert statuses(project) == {"#1": "closed", "#4": "closed"}
    assert agents.asked_for("#1") == ["task-ops"]


def test_what_another_has_claimed_is_left_to_it(project, host):
    class Meanwhile(Agents):
        def qa_reviewer(self, request):
            if request.task_id == "#2":
                project.bridge.tasks.claim("#3")
            return super().qa_reviewer(request)

    agents = Meanwhile(project, host)
    run(project, host, agents).tells(1)

    assert agents.asked_for("#3") == []
    assert statuses(project) == {"#1": "open", "#2": "closed", "#3": "in_progress"}
