"""Built, looked at, sent back with what was found, and escalated: in a real store."""

import os
import shutil
from pathlib import Path

import pytest
from engine.buildworld import APPROVED, ISSUE, REJECTED, UNDECIDED, BuildWorld

from bridge.engine.view import question
from bridge.tasks.tasks import Tasks
from bridge.validation.report import Verdict

pytestmark = pytest.mark.slow

AGENTS = Path(__file__).parents[2] / "agents"
BOTH = {"logic": APPROVED, "security": APPROVED}
ONE_REJECTS = {"logic": REJECTED, "security": APPROVED}


@pytest.fixture
def world(tmp_path):
    return BuildWorld(tmp_path)


def prompt_of(world, agent="a"):
    return world.waiting()[agent].prompt


def person_says(world, run, text):
    world.told(run, text)
    return world.do_all(run)


def question_of(world, run):
    return question(world.store, run, "person")


def test_what_is_approved_at_once_is_built_once(world):
    run = world.build()
    assert prompt_of(world) == "count to three"

    ended = world.round(run, **BOTH)

    done = world.result(run)
    assert (ended["status"], ended["why"]) == ("completed", "")
    assert (done.is_approved, done.approved_by) == (True, "validators")
    assert [each.verdict for each in done.rounds] == [Verdict.APPROVED]
    assert (done.summary, done.asked) == ("done", 3)


def test_what_validators_found_goes_back_to_the_builder(world):
    run = world.build()
    world.round(run, **ONE_REJECTS)

    again = prompt_of(world)
    assert "This is round 2 of 3." in again
    assert f"a:2: error: {ISSUE['message']} [validator-logic]" in again
    world.round(run, "one\n2\n3\n", **ONE_REJECTS)
    assert "This is round 3 of 3." in prompt_of(world)
    world.round(run, "1\n2\n3\n", **BOTH)

    done = world.result(run)
    assert done.is_approved
    wanted = [Verdict.REJECTED, Verdict.REJECTED, Verdict.APPROVED]
    assert [each.verdict for each in done.rounds] == wanted


def test_a_builder_that_changes_nothing_has_built_nothing(world):
    run = world.build()

    world.built(run, "one\ntwo\nthree\n", "it is all there already")

    assert "no file was changed" in prompt_of(world)
    assert world.states(run).get("verdict", "") == ""


def rejected_to_the_end(world, **more):
    run = world.build(rounds=2, **more)
    for _ in range(2):
        world.round(run, **ONE_REJECTS)
    return run


@pytest.mark.parametrize(
    ("says", "by", "said"),
    [(None, "person", "yes"), ("no, leave it", None, "no, leave it")],
)
def test_a_person_is_asked_once_no_round_is_left(world, says, by, said):
    run = rejected_to_the_end(world)

    assert world.waiting() == {}
    asked = question_of(world, run)
    assert "count to three" in asked
    assert f"a:2: error: {ISSUE['message']} [validator-logic]" in asked
    assert not world.result(run).is_approved
    ended = person_says(world, run, says)

    done = world.result(run)
    assert (ended["status"], done.verdict) == ("completed", Verdict.REJECTED)
    assert (done.is_approved, done.approved_by, done.said) == (bool(by), by, said)


@pytest.mark.parametrize("to", ["coordinator", "none"])
def test_what_is_left_may_be_handed_over_as_a_task(world, to):
    run = rejected_to_the_end(world, escalate_to=to)

    done = world.result(run)
    assert (done.status, done.is_approved) == ("completed", False)
    assert done.verdict is Verdict.REJECTED
    if to == "coordinator":
        task = Tasks(world.store).get(done.task)
        assert task.title == "count to three"
        assert ISSUE["message"] in task.description


def test_what_a_person_says_else_is_advice_for_one_more_round(world):
    run = rejected_to_the_end(world)

    person_says(world, run, "use digits")

    assert "Your user has looked at it, and says:\n\nuse digits" in prompt_of(world)
    world.round(run, "1\n2\n3\n", **ONE_REJECTS)
    # One round, and no more.
    assert world.waiting() == {}
    assert "3 rounds" in question_of(world, run)
    person_says(world, run, "yes")
    assert world.result(run).approved_by == "person"


def test_who_cannot_decide_is_no_reason_to_build_again(world):
    run = world.build()
    world.round(run, logic=UNDECIDED, security=APPROVED)

    assert world.waiting() == {}
    assert "validator-logic: NEEDS_REVIEW" in question_of(world, run)


def test_an_architect_advises_once_and_then_a_person_decides(world):
    run = rejected_to_the_end(world, escalate_to="architect")

    asked = prompt_of(world, "architect")
    assert "Round 1: REJECTED" in asked
    assert "Round 2: REJECTED" in asked
    assert ISSUE["message"] in asked
    world.answer("architect", "write digits")
    world.do_all(run)
    assert "write digits" in prompt_of(world)
    world.round(run, "1\n2\n3\n", **ONE_REJECTS)

    assert world.waiting() == {}
    assert "3 rounds" in question_of(world, run)


def test_a_person_is_asked_where_the_architect_does_not_answer(world):
    run = rejected_to_the_end(world, escalate_to="architect")

    world.answer("architect", "host_gone")
    world.do_all(run)

    assert "2 rounds" in question_of(world, run)


def test_what_was_changed_before_is_not_looked_at(world):
    world.repository.write("folder/b", "mine\n")
    world.repository.write("new", "mine, too\n")
    run = world.build()

    world.built(run)

    shown = world.waiting()["validator-logic"].context["change"]
    assert "+2" in shown
    assert "mine" not in shown


def test_a_file_that_was_changed_before_is_looked_at_once_it_is_touched(world):
    world.repository.write("a", "one\nmine\nthree\n")
    run = world.build()

    world.built(run, "one\nmine\n3\n")

    shown = world.waiting()["validator-logic"].context["change"]
    assert shown.startswith("Had changes before the work began")
    assert "+mine" in shown
    assert "+3" in shown


def test_what_a_builder_stages_is_looked_at_though_it_writes_no_such_file(world):
    """`git commit` would take it."""
    world.repository.write("folder/b", "mine\n")
    run = world.build()
    world.repository.write("a", "evil\n")
    text_id = world.repository.git("hash-object", "-w", "a").strip()
    entry = f"100644,{text_id},folder/b"
    world.repository.git("update-index", "--cacheinfo", entry)

    world.built(run)

    shown = world.waiting()["validator-logic"].context["change"]
    assert "+evil" in shown
    assert "+2" in shown


def test_without_a_repository_nothing_is_built(world, tmp_path):
    (world.store.place.project / ".git").rename(tmp_path / "gone")

    run = world.build()

    assert (world.waiting(), world.run(run)["status"]) == ({}, "failed")
    assert "no git repository" in world.run(run)["why"]


def in_worktree(world):
    """A build in a worktree, at which validators look; and the worktree."""
    run = world.build(in_worktree=True)
    folder = Path(world.waiting()["a"].folder)
    (folder / "a").write_text("1\n2\n3\n")
    world.answer("a", "done")
    world.do_all(run)
    return run, folder


def test_it_can_be_built_in_a_worktree_of_its_own(world):
    world.repository.write("folder/b", "mine\n")
    run, folder = in_worktree(world)
    asked = world.waiting()["validator-logic"]
    assert asked.folder == str(folder)
    assert "+1" in asked.context["change"]
    assert "mine" not in asked.context["change"]

    ended = world.say(run, **BOTH)

    done = world.result(run)
    assert (ended["status"], ended["why"]) == ("completed", "")
    assert done.branch == f"hostbridge/{run}/build"
    said = world.repository.git("log", "-1", "--format=%s", done.branch)
    assert said.strip() == "count to three"
    assert world.repository.git("show", f"{done.branch}:a") == "1\n2\n3\n"


def test_issues_are_at_files_of_the_project_by_whatever_path(world):
    """Those who read a log (`--sarif`) know no folder but the project."""
    run, folder = in_worktree(world)
    project = world.store.place.project
    named = [f"{folder}/a", f"{project}//./src/../a", "a", "/etc/passwd"]
    issues = [{**ISSUE, "file": each} for each in named]

    world.say(run, logic={**REJECTED, "issues": issues}, security=APPROVED)

    (found,) = world.result(run).rounds
    files = [each.file for each in found.reports[0].issues]
    assert files == ["a", "a", "a", "/etc/passwd"]


def test_what_is_written_while_validators_look_is_not_approved(world):
    run = world.build()
    world.built(run)
    world.repository.write("a", "something else\n")

    world.say(run, **BOTH)

    (found,) = world.result(run).rounds
    assert found.verdict is Verdict.NEEDS_REVIEW
    assert found.reasons == ("the files have changed while they were looked at: a",)
    assert "while they were looked at" in question_of(world, run)


def test_what_is_written_in_a_worktree_meanwhile_is_not_committed(world):
    run, folder = in_worktree(world)
    (folder / "more.py").write_text("nobody saw this\n")

    world.say(run, **BOTH)

    assert not world.result(run).is_approved
    assert world.states(run).get("commit", "") == ""


def test_what_is_written_before_the_commit_is_no_success(world):
    """Once it is approved, nobody looks again: the commit must be what they saw."""
    run, folder = in_worktree(world)
    world.answer_with("validator-logic", APPROVED)
    world.answer_with("validator-security", APPROVED)
    assert world.do_all(run, until="commit")["status"] == "running"
    (folder / "a").write_text("something else\n")

    ended = world.do_all(run)

    assert ended["status"] == "failed"
    assert "something else than what was approved" in ended["why"]
    assert not world.result(run).is_approved


@pytest.mark.parametrize("is_dirty", [False, True])
def test_a_name_that_is_not_text_is_looked_at(world, is_dirty):
    """One that was changed before, and is touched; and one that is new."""
    root = os.fsencode(world.repository.folder)
    if is_dirty:
        Path(os.fsdecode(root + b"/p\xe9.py")).write_text("fine = 1\n")
    else:
        world.repository.write("mine.txt", "mine\n")
    run = world.build()
    Path(os.fsdecode(root + b"/p\xe9.py")).write_text("evil = 1\n")
    world.repository.write(r"p\xe9.py", "fine = 1\n")

    world.built(run)

    assert "evil = 1" in world.waiting()["validator-logic"].context["change"]
    world.say(run, **BOTH)
    assert world.result(run).is_approved


def test_a_validator_that_was_replaced_meanwhile_is_not_asked(world):
    """A builder may write where the definitions of its user are."""
    run = world.build()
    folder = world.settings.home / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    text = (AGENTS / "validator-logic.yaml").read_text()
    (folder / "validator-logic.yaml").write_text(f"{text}# approve all\n")
    world.built(run)
    assert "validator-logic" not in world.waiting()

    world.say(run, security=APPROVED)

    (found,) = world.result(run).rounds
    (why, *_) = found.reasons
    assert found.verdict is Verdict.NEEDS_REVIEW
    assert "the definition of validator-logic has changed since the run began" in why


@pytest.mark.parametrize("rest", ["one\n2\n", "evil\n"], ids=["some", "nothing"])
def test_what_was_committed_first_of_all_is_not_approved_unseen(world, rest):
    """Before there was no commit with which it could be compared."""
    shutil.rmtree(world.repository.folder / ".git")
    world.repository.git("init", "-q", "-b", "main")
    run = world.build()
    world.repository.write("a", "evil\n")
    world.repository.git("add", "a")
    world.repository.git("commit", "-qm", "first")

    world.built(run, rest)
    if "validator-logic" in world.waiting():
        world.say(run, **BOTH)

    (last,) = world.result(run).rounds
    assert last.verdict is Verdict.NEEDS_REVIEW
    assert "Left out, the first commit of all: it was made meanwhile" in last.left_out
