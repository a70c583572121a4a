"""The shipped coordinator over real tasks and real worktrees, with scripted agents."""

from __future__ import annotations

import threading

import pytest
from coordinatorworld import (
    ROUND,
    Agents,
    make_repository,
    review,
    run,
    statuses,
    worktrees,
)
from gitworld import git
from polling import wait_until
from screens import on_terminal

pytestmark = pytest.mark.usefixtures("beside")


@pytest.mark.usefixtures("epic")
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


@pytest.mark.usefixtures("epic")
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


@pytest.mark.usefixtures("epic")
def test_what_the_reviewer_sends_back_is_done_again(project, host):
    class Once(Agents):
        def qa_reviewer(self, request):
            is_first = self.asked_for(request.task_id).count("qa-reviewer") == 1
            return review("say why") if is_first else review()

    agents = Once(project, host)
    ran = run(project, host, agents)

    assert ran.json["answers"][0]["closed"] == 2
    assert agents.asked_for("#2") == [*ROUND[:2], *ROUND]
    assert "say why" in agents.prompts[2]


@pytest.mark.usefixtures("epic")
def test_what_is_sent_back_three_times_is_a_persons(project, host):
    class Never(Agents):
        def qa_reviewer(self, request):
            return review("say why") if request.task_id == "#2" else review()

    agents = Never(project, host)
    ran = run(project, host, agents)

    assert ran.code == 1
    assert ran.json["why"].startswith(
        "unfinished: 1 of 2 subtasks of #1 are closed, and it is open"
    )
    assert agents.asked_for("#2") == ROUND[:2] * 3
    assert statuses(project) == {"#1": "open", "#2": "escalated", "#3": "closed"}
    reason = project.bridge.tasks.get("#2").reason
    (kept,) = worktrees(project)
    assert "three times" in reason
    assert "say why" in reason
    assert str(kept) in reason
    assert (kept / "part2.py").exists()


@pytest.mark.usefixtures("epic")
@pytest.mark.parametrize("who", ["developer", "qa-reviewer", "task-ops"])
def test_who_fails_has_the_task_escalated_and_the_rest_goes_on(project, host, who):
    class Fails(Agents):
        def __call__(self, request):
            if (request.agent_type, request.task_id) == (who, "#2"):
                self.asked.append((who, "#2"))
                return "no compiler"  # which is no answer
            return super().__call__(request)

    ran = run(project, host, Fails(project, host))

    assert ran.code == 1
    assert statuses(project) == {"#1": "open", "#2": "escalated", "#3": "closed"}
    assert "no_json" in project.bridge.tasks.get("#2").reason


@pytest.mark.usefixtures("epic")
def test_a_developer_who_says_that_it_failed_has_not_done_it(project, host):
    class Fails(Agents):
        def developer(self, request):
            done = super().developer(request)
            if request.task_id == "#2":
                return done | {"status": "failed", "summary": "no compiler"}
            return done

    agents = Fails(project, host)
    ran = run(project, host, agents)

    assert ran.code == 1
    assert agents.asked_for("#2") == ["developer"]
    assert statuses(project) == {"#1": "open", "#2": "escalated", "#3": "closed"}
    assert "agent_failed: no compiler" in project.bridge.tasks.get("#2").reason


@pytest.mark.usefixtures("epic")
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

    agents = Strict(project, host)
    ran = run(project, host, agents)

    assert ran.code == 1
    assert statuses(project) == {"#1": "open", "#2": "escalated", "#3": "closed"}
    reason = project.bridge.tasks.get("#2").reason
    assert reason == "It failed its validation 3 times"
    assert not (project.folder / "part2.py").exists()
    assert [kept.name for kept in worktrees(project)] == ["2"]


@pytest.mark.usefixtures("epic")
def test_a_validator_without_a_verdict_has_the_task_escalated(project, host):
    class Idle(Agents):
        def task_ops(self, request):
            if request.task_id == "#2":
                return {"status": "success", "summary": "looks fine"}
            return super().task_ops(request)

    ran = run(project, host, Idle(project, host))

    assert ran.code == 1
    assert statuses(project) == {"#1": "open", "#2": "escalated", "#3": "closed"}
    reason = project.bridge.tasks.get("#2").reason
    assert reason.startswith("It has not passed its validation.")
    assert not (project.folder / "part2.py").exists()


class Divides(Agents):
    """Its task-ops divides a task into one part, or says that it did."""

    parts = 1

    def task_ops(self, request):
        if request.workflow != "expansion":
            return super().task_ops(request)
        for _ in range(self.parts):
            self.bridge.tasks.create("The only part", parent=request.task_id)
        return {"status": "success", "summary": "divided"}


def test_a_task_that_nobody_divided_is_divided_first(project, host):
    make_repository(project.folder)
    project.bridge.tasks.create("Not divided yet")
    agents = Divides(project, host)

    ran = run(project, host, agents)

    assert ran.code == 0, ran
    assert agents.asked[0] == ("task-ops", "#1")
    assert statuses(project) == {"#1": "closed", "#2": "closed"}


def test_a_task_that_was_not_divided_is_not_taken_for_done(project, host):
    make_repository(project.folder)
    project.bridge.tasks.create("Not divided yet")
    agents = Divides(project, host)
    agents.parts = 0

    ran = run(project, host, agents)

    assert ran.code == 1
    assert "#1 has no subtasks" in ran.json["why"]
    assert statuses(project) == {"#1": "open"}


@pytest.mark.usefixtures("epic")
def test_a_question_of_an_agent_is_a_persons_and_its_answer_is_used(
    project, host, until
):
    class Asks(Agents):
        def developer(self, request):
            done = super().developer(request)
            if request.task_id == "#2" and "A person has said" not in request.prompt:
                question = {"question": "Up or down?", "summary": "not clear"}
                return done | question | {"status": "blocked"}
            return done

    agents = Asks(project, host)
    runs = project.state / "runs"

    def answer():
        until(lambda: ("developer", "#2") in agents.asked)
        (run_id,) = (file.name for file in runs.iterdir() if file.is_dir())
        until(lambda: project.run("approve", run_id, "down").code == 0)

    person = threading.Thread(target=answer)
    person.start()
    ran = run(project, host, agents)
    person.join()

    assert ran.code == 0, ran
    assert agents.asked_for("#2") == ["developer", *ROUND]
    assert "Up or down?" in agents.prompts[1]
    assert "down" in agents.prompts[1]


@pytest.mark.usefixtures("epic")
def test_what_another_has_claimed_is_left_to_it(project, host):
    class Meanwhile(Agents):
        def qa_reviewer(self, request):
            if request.task_id == "#2":
                project.bridge.tasks.claim("#3")
            return super().qa_reviewer(request)

    agents = Meanwhile(project, host)
    ran = run(project, host, agents)

    assert ran.code == 1
    assert agents.asked_for("#3") == []
    assert statuses(project) == {"#1": "open", "#2": "closed", "#3": "in_progress"}
