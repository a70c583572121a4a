"""Which earlier answers are reused, and which never are."""

import os
from typing import Any

import pytest
from cachedworld import GREPS, READS, RUNS, files_in
from runworld import call, submit
from sessionlooks import MEANWHILE

from bridge import NoHost, NotTrusted, RequestFailed
from bridge.freshness.never_reused import NEVER

pytestmark = pytest.mark.slow

WRITER = """\
name: checker
routes: [endpoint]
prompt: '{{ task }}'
allow: ["Edit(src/**)", "Write(src/**)", "Bash(echo *)"]
"""
TWO = """\
name: two
steps:
  - {name: look, transitions: [{to: end, when: "true"}]}
  - {name: end}
exit_condition: current_step == 'end'
"""
SCHEMA = {"type": "object", "required": ["status"]}


@pytest.fixture
def answered(world):
    """What there is once an agent has answered that had read a file."""
    world.write("src/a.py")
    world.answer(READS)
    return world


def test_an_earlier_answer_is_returned_at_once_and_says_so(world):
    world.write("src/a.py")
    first = world.answer(READS)
    before = files_in(world, "done")

    again = world.ask(READS)

    assert again.cached
    assert not first.cached
    assert again.request_id == first.request_id
    assert again.response == first.response
    assert (world.asked, files_in(world, "done")) == (0, before)


def test_without_being_told_to_it_asks(answered):
    assert not answered.ask(READS, cached=False).cached
    assert answered.asked


def test_the_answer_to_a_question_asked_again_can_be_reused(answered):
    answered.write("src/a.py", "two\n")
    assert answered.is_asked_again(READS)

    assert not answered.is_asked_again(READS)


OTHER_QUESTIONS: dict[str, dict[str, Any]] = {
    "prompt": {"prompt": "Look well."},
    "schema": {"schema": SCHEMA},
    "model": {"model": "openai:other"},
    "variables": {"variables": {"deep": True}},
    "task id": {"task_id": "mine"},
}


@pytest.mark.parametrize("differs", OTHER_QUESTIONS)
def test_another_question_is_asked(answered, differs):
    """Whatever changes what the answer means, or who gives it."""
    options = OTHER_QUESTIONS[differs]

    assert answered.is_asked_again(READS, **options)
    assert not answered.is_asked_again(READS, **options)
    assert not answered.is_asked_again(READS)


def test_how_soon_and_how_often_is_not_part_of_the_question(answered):
    options = {"timeout_s": 33.0, "priority": "high", "max_attempts": 7}
    assert not answered.is_asked_again(READS, **options)


def test_an_answer_of_another_definition_is_not_reused(answered):
    answered.define("checker", WRITER)

    assert answered.reasons() == ["definition: that of checker has changed"]
    assert answered.is_asked_again(READS)


def test_an_answer_is_not_reused_where_its_definition_is_not_trusted_any_more(answered):
    """The project has a definition of that name now, and nobody has agreed to it."""
    answered.write(".bridge/agents/checker.yaml", WRITER)

    with pytest.raises(NotTrusted):
        answered.ask(READS)
    assert answered.asked == 0
    (reason,) = answered.reasons()
    assert reason.startswith("definition: agent 'checker' is defined by this project")


def test_an_answer_by_another_route_is_not_reused(world):
    """Whoever asks an open session wants none of a model server."""
    world.define("checker", WRITER.replace("[endpoint]", "[endpoint, host]"))
    world.write("src/a.py")
    world.answer(READS)

    with pytest.raises(NoHost):
        world.ask(READS, route="host")


def test_a_failure_is_not_reused(world):
    world.write("src/a.py")
    world.answer(READS, submit("failed", "no"))

    assert world.is_asked_again(READS)


def test_a_degraded_answer_is_not_reused(world):
    world.write("src/a.py")
    assert world.answer(READS, degraded=True).degraded

    assert world.is_asked_again(READS, degraded=True)
    assert world.is_asked_again(READS, degraded=True)


def test_an_answer_that_had_to_be_verified_and_is_not_is_no_answer(world):
    world.define("checker", f"{WRITER}require_verified_evidence: true\n")
    world.write("src/a.py")
    for _ in range(2):
        with pytest.raises(RequestFailed) as caught:
            world.ask(READS)
        assert caught.value.code == "unverified"
        assert world.asked


def test_an_answer_by_hand_is_not_reused(world):
    world.write("src/a.py")
    request = world.bridge.submit("Look.", "checker", route="endpoint")
    world.bridge.respond(request, '{"status": "success", "summary": "by hand"}')

    assert world.is_asked_again(READS)


def test_an_agent_that_changed_files_is_asked_again(world):
    """It acted, and is to act again; what it saw it has changed itself."""
    world.define("checker", WRITER)
    world.write("src/a.py")
    edits = call("edit_file", path="src/a.py", old="one", new="two")
    world.answer(READS, edits)

    assert world.reasons() == [
        "unknown: its agent changed files: that was an action, no reading: Edit"
    ]
    assert world.is_asked_again(READS)


def test_an_agent_that_works_through_a_workflow_is_asked_again(world):
    """What its steps do and say hangs on their state, and on a file of their own."""
    (world.home / "workflows").mkdir(mode=0o700)
    (world.home / "workflows/two.yaml").write_text(TWO)
    world.define("checker", WRITER + "workflow: two\n")
    world.write("src/a.py")
    world.answer(READS)

    assert world.reasons() == [
        "unknown: its agent worked through a step workflow, which acts and has a state"
    ]
    assert world.is_asked_again(READS)


def test_an_answer_that_rests_on_a_reply_is_asked_again(world):
    """Whoever asks now may reply something else."""
    world.write("src/a.py")
    asks = call("ask_question", words="Which colour?", choices=["red", "blue"])
    world.answer(READS, asks, on_question=lambda _: "red")

    (reason,) = world.reasons()
    assert reason.startswith("unknown: its agent asked, and somebody replied")
    assert world.is_asked_again(READS, asks, on_question=lambda _: "blue")


def test_a_command_that_changed_files_makes_the_answer_an_action(world):
    """By what it did, since nobody understands commands."""
    world.write("src/a.py")

    def changes(_messages: object) -> str:
        world.write("src/made.txt")
        return submit()

    world.answer(RUNS, changes)

    (reason,) = world.reasons()
    assert reason.startswith("unknown: something that it rests on changed while the")
    assert world.is_asked_again(RUNS)


@pytest.mark.parametrize("looks", [READS, GREPS, RUNS], ids=["Read", "Grep", "Bash"])
def test_what_changed_while_the_agent_worked_is_not_relied_on(world, looks):
    """Nobody can tell whether it saw the old bytes or the new ones."""
    world.write("src/a.py")

    def changes(_messages: object) -> str:
        world.write("src/a.py", "two\n")
        return submit()

    assert world.answer(looks, changes).success

    assert world.reasons() == [f"{MEANWHILE}src/a.py"]
    assert world.is_asked_again(looks)
    assert not world.is_asked_again(looks)


def test_a_file_that_is_huge_by_now_is_not_read(answered):
    """Its size says enough; it may come with a branch, and take hours."""
    os.truncate(answered.project / "src/a.py", 1 << 42)

    assert answered.reasons() == ["changed: src/a.py"]
    assert answered.is_asked_again(READS)


def test_a_check_that_takes_too_long_asks_again(world):
    """Half of the time of a question is its agent's."""
    for number in range(300):
        world.write(f"src/{number}.py")
    world.answer(RUNS)
    assert not world.is_asked_again(RUNS)

    with pytest.raises(RequestFailed) as caught:
        world.ask(RUNS, timeout_s=0.001)
    assert caught.value.code == "timeout"


def test_a_node_whose_file_is_a_folder_by_now_is_gone(world):
    file = world.write("src/a.py", "def f():\n    return 1\n")
    world.answer(READS, node="src/a.py::f")
    file.unlink()
    file.mkdir()

    assert world.reasons() == ["changed: src/a.py", "node: src/a.py::f"]


def test_every_reason_has_a_name_of_its_own():
    names = [each.name for each in NEVER]
    assert len(set(names)) == len(names)


def test_a_rule_that_may_add_to_what_an_agent_sees_counts(answered):
    """Also for an agent of our own loop."""
    assert not answered.is_asked_again(READS)

    answered.rules("PreToolUse: []\n")

    (reason,) = answered.reasons()
    assert reason.startswith("added: ")
    assert reason.endswith("/rules.yaml")
    assert answered.is_asked_again(READS)
