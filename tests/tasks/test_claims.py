"""Claims: one holder, until it lets go or is gone."""

import os

import pytest
from storeworld import answer, claim_all, dead_process, request, this_process

from bridge.config import Settings
from bridge.store.live_runs import mark, unmark
from bridge.tasks.task import Holder, Status, TaskClaimed
from bridge.tasks.tool_table import call
from bridge.tasks.tools import ToolContext

MINE = Holder("me", this_process())


@pytest.fixture
def gone():
    return Holder("somebody", dead_process())


@pytest.fixture
def task(tasks):
    return tasks.create("a").ref


@pytest.fixture
def run(tasks):
    """The holder of a run that lives."""
    with tasks.store.state() as state:
        mark(state, "r1")
    return Holder("run r1", run="r1")


def refs(found):
    return [each.ref for each in found]


def test_a_claim_is_this_process_by_default(tasks, task):
    claimed = tasks.claim(task)

    assert (claimed.status, claimed.assignee) == (Status.IN_PROGRESS, "a program")
    holder = tasks.holder_of(task)
    assert holder.process.pid == os.getpid()
    assert tasks.claim(task) == claimed, "one's own again"


def test_what_somebody_holds_is_refused(tasks, task):
    tasks.claim(task, MINE)
    other = MINE._replace(assignee="another")

    with pytest.raises(TaskClaimed) as refused:
        tasks.claim(task, other)
    assert str(refused.value) == (
        f"task #1 is claimed by me (pid {os.getpid()}). What to do: take another: "
        "hostbridge task ready; hostbridge task release 1 --force"
    )
    with pytest.raises(TaskClaimed, match=r"is claimed by me .*, not by you"):
        tasks.release(task, other)
    assert tasks.release(task, other, force=True).assignee is None


def test_what_the_dead_held_is_taken_back(tasks, task, gone):
    tasks.claim(task, gone)

    assert refs(tasks.ready()) == [task]
    assert (tasks.get(task).assignee, tasks.holder_of(task)) == (None, None)
    assert tasks.claim(task, MINE).assignee == "me", "anyone may"
    tasks.release(task, MINE)
    tasks.claim(task, gone)
    assert tasks.release(task, MINE).status is Status.OPEN


def test_the_claim_of_a_run_ends_with_it(tasks, task, run):
    """Nobody's process lives as long as a run does."""
    tasks.claim(task, run)

    assert tasks.ready() == []
    with pytest.raises(TaskClaimed, match=r"claimed by the run r1 \(run r1\)"):
        tasks.claim(task, MINE)
    assert tasks.claim(task, run).status is Status.IN_PROGRESS

    with tasks.store.state() as state:
        unmark(state, "r1")
    assert refs(tasks.ready()) == [task]


def test_the_claim_of_an_agent_ends_with_its_request(tasks, task):
    """Its session goes on."""
    store = tasks.store
    store.submit(request("a"))
    agent = Holder("agent a1", this_process(), session="s", request="a")
    tasks.claim(task, agent)
    (asked,) = claim_all(store)

    assert tasks.ready() == []
    with pytest.raises(TaskClaimed, match="claimed by agent a1"):
        tasks.claim(task, MINE)
    # The agent that is asked once more, since the first one has failed.
    second = agent._replace(assignee="agent a2")
    assert tasks.claim(task, second).assignee == "agent a2"
    assert tasks.release(task, agent).status is Status.OPEN
    tasks.claim(task, second)

    store.publish(answer(asked), source="test")
    assert refs(tasks.ready()) == [task]
    assert tasks.holder_of(task) is None


def test_an_agent_that_is_continued_holds_what_it_claims(tasks, task):
    """Its request has ended: the claim is its session's."""
    store = tasks.store
    store.submit(request("a"))
    for asked in claim_all(store):
        store.publish(answer(asked), source="test")

    tasks.claim(task, Holder("agent a1", this_process(), session="s", request="a"))

    assert tasks.ready() == []
    assert tasks.holder_of(task).request is None


def test_a_claim_may_hold_until_it_is_released(tasks, task):
    tasks.claim(task, Holder("Ada"))

    assert tasks.ready() == []
    with pytest.raises(TaskClaimed, match="task #1 is claimed by Ada, not by you"):
        tasks.release(task, MINE)
    assert tasks.release(task, Holder("Ada")).status is Status.OPEN


def test_a_process_of_elsewhere_has_the_lease(tasks, task):
    """In another container it cannot be seen: that is not the same as gone."""
    unseen = this_process().with_(pid_namespace="pid:[1]")
    tasks.claim(task, Holder("container", unseen, session="s"))

    tasks.store.clock.go_on(tasks.store.lease_s - 1)
    assert tasks.ready() == []
    tasks.store.clock.go_on(2)
    assert refs(tasks.ready()) == [task]


@pytest.mark.parametrize("end", ["close", "review", "escalate"])
def test_what_is_done_is_let_go(tasks, task, end):
    tasks.claim(task, MINE)

    more = {"reason": "no key"} if end == "escalate" else {}
    ended = getattr(tasks, end)(task, **more)

    assert tasks.holder_of(task) is None
    assert ended.assignee == "me", "who did it"


def test_what_needs_review_can_be_claimed(tasks, task):
    tasks.claim(task, MINE)
    tasks.review(task, note="see the branch")

    assert tasks.ready() == []
    assert tasks.claim(task, Holder("reviewer")).reason == "see the branch"


def test_a_run_keeps_what_it_sends_back(tasks, task, run):
    """Its next step goes on with it; nobody comes in between."""
    context = ToolContext(tasks.store, Settings(home=tasks.store.place.guard), run)
    tasks.claim(task, run)

    call(context, "mark_task_needs_review", {"task_id": task, "note": "untyped"})

    with pytest.raises(TaskClaimed, match=r"claimed by the run r1"):
        tasks.claim(task, MINE)
    again = call(context, "claim_task", {"task_id": task})
    assert (again["status"], again["reason"]) == ("in_progress", "untyped")


def test_a_run_lets_go_what_another_sends_back(tasks, task, run):
    tasks.claim(task, run)
    tasks.review(task)

    assert tasks.claim(task, MINE).assignee == "me"


def test_what_a_run_sent_back_and_left_needs_its_look_still(tasks, task):
    run = Holder("run r1", run="r1")
    context = ToolContext(tasks.store, Settings(home=tasks.store.place.guard), run)
    tasks.claim(task, run)
    call(context, "mark_task_needs_review", {"task_id": task, "note": "untyped"})

    assert tasks.ready() == []
    assert tasks.get(task).status is Status.NEEDS_REVIEW
    assert tasks.claim(task, MINE).reason == "untyped"
