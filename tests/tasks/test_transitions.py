"""The life of a task, walked edge by edge, by the table and by the verbs."""

import pytest

from bridge.tasks.task import Status, TaskRefused
from bridge.tasks.transitions import TRANSITIONS, Action

REASON = {"reason": "because"}
MORE = {Action.ESCALATE: REASON, Action.REVIEW: {"note": "because"}}


def in_status(tasks, status):
    """A task that has come to this status by the verbs alone."""
    ref = tasks.create("one").ref
    way = {
        Status.OPEN: (),
        Status.IN_PROGRESS: (Action.CLAIM,),
        Status.NEEDS_REVIEW: (Action.CLAIM, Action.REVIEW),
        Status.ESCALATED: (Action.ESCALATE,),
        Status.CLOSED: (Action.CLOSE,),
    }[status]
    for action in way:
        getattr(tasks, action)(ref, **MORE.get(action, {}))
    assert tasks.get(ref).status is status
    return ref


# What changes nothing is no error, so that it can be said again after a kill.
SAME = {(Status.OPEN, Action.RELEASE), (Status.OPEN, Action.REOPEN)}


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("status", Status)
def test_the_verbs_obey_the_table(tasks, status, action):
    ref = in_status(tasks, status)
    verb = getattr(tasks, action)
    sources, target = TRANSITIONS[action]

    if status in sources or (status, action) in SAME:
        assert verb(ref, **MORE.get(action, {})).status is target
    else:
        with pytest.raises(TaskRefused, match=f"task #1 is {status}; to {action} it"):
            verb(ref, **MORE.get(action, {}))
        assert tasks.get(ref).status is status


def test_every_status_is_reached_and_left():
    left = {status for sources, _ in TRANSITIONS.values() for status in sources}

    assert left == {target for _, target in TRANSITIONS.values()} == set(Status)


def test_a_refusal_names_the_way_out(tasks):
    ref = in_status(tasks, Status.CLOSED)

    with pytest.raises(TaskRefused) as refused:
        tasks.claim(ref)

    assert str(refused.value) == (
        "task #1 is closed; to claim it, it must be open or in_progress or "
        "needs_review. What to do: hostbridge task reopen 1"
    )
