"""Tasks: added, found, changed, removed; which of them are ready."""

import os
import stat
import sys

import pytest

from bridge import own_files
from bridge.errors import InvalidRequest, StateUnavailable
from bridge.tasks.circles import TaskCircle
from bridge.tasks.records import new_uuid
from bridge.tasks.task import NewTask, Priority, Status, TaskRefused, UnknownTask


def refs(found):
    return [task.number for task in found]


def test_a_task_is_what_was_said(tasks):
    epic = tasks.create("  Uploads have a limit ", priority="high")

    task = tasks.create(
        "Refuse uploads over 10 MB",
        description="In `upload`, before the file is read.",
        priority="low",
        category="backend",
        validation_criteria="A test uploads 11 MB.",
        parent=epic.ref,
        depends_on=[tasks.create("Choose the limit").uuid],
    )

    assert task == tasks.get("#3") == tasks.get("3") == tasks.get(3)
    assert task == tasks.get(task.uuid.upper())
    assert task._replace(uuid="") == (
        3, "", "Refuse uploads over 10 MB", "In `upload`, before the file is read.",
        Status.OPEN, Priority.LOW, "backend", "A test uploads 11 MB.", 1, None, "",
        False, 1_800_000_000_000, 1_800_000_000_000, None, (2,), 0, 0,
    )  # fmt: skip
    assert (epic.title, epic.is_expanded) == ("Uploads have a limit", False)
    epic = tasks.get(1)
    assert (epic.children, epic.closed_children, epic.is_expanded) == (1, 0, True)


WRONG = {
    "no title": ({"title": " "}, "title: must be one line of text, got ''"),
    "two lines": ({"title": "a\nb"}, r"title: must be one line of text, got 'a\\nb'"),
    "long": ({"title": "x" * 501}, "title: 501 characters; at most 500"),
    "number": ({"title": 7}, "title: expected text, got 7"),
    "odd": ({"title": "\ud800"}, "is not UTF-8"),
    "priority": (
        {"title": "a", "priority": "urgent"},
        r"priority 'urgent': must be high, normal or low \(or 1, 2, 3\)",
    ),
    "parent": ({"title": "a", "parent": "#9"}, "there is no task #9"),
    "word": ({"title": "a", "parent": "x"}, "task 'x': expected a number such as #42"),
    "truth": ({"title": "a", "parent": True}, "task True: expected a number"),
    "uuid": ({"title": "a", "uuid": "x"}, "uuid 'x': expected digits 8-4-4-4-12"),
}


@pytest.mark.parametrize(("given", "said"), WRONG.values(), ids=WRONG)
def test_error_in_a_new_task(tasks, given, said):
    with pytest.raises(InvalidRequest, match=said):
        tasks.create(**given)

    assert tasks.list() == []


def test_many_are_added_or_none(tasks):
    first = new_uuid(1)
    new = [NewTask("a", uuid=first), NewTask("b", parent=first, depends_on=("#7",))]

    with pytest.raises(UnknownTask):
        tasks.create_all(new)
    assert tasks.list() == []

    third = NewTask("c", depends_on=(first,))
    made = tasks.create_all([new[0], new[1]._replace(depends_on=()), third])
    around = [(task.parent, task.depends_on) for task in made]
    assert around == [(None, ()), (1, ()), (None, (1,))]


def test_looking_makes_nothing(tasks):
    """Whoever only looks leaves no file behind."""
    assert (tasks.list(), tasks.tree(), tasks.ready()) == ([], [], [])
    assert tasks.export() == b""
    assert tasks.counts() == dict.fromkeys(Status, 0)
    with pytest.raises(UnknownTask):
        tasks.get(1)
    assert not tasks.database.exists()


def test_the_file_is_its_users_alone(tasks):
    tasks.create("a")

    facts = os.stat(tasks.database.path)
    assert stat.S_IMODE(facts.st_mode) == 0o600
    names = os.listdir(tasks.store.place.state)
    assert [name for name in names if name.startswith("tasks")] == ["tasks.db"]


def test_list_filters(tasks):
    epic = tasks.create("epic")
    one = tasks.create("100% one", parent=1, category="ui", priority="high")
    two = tasks.create("two", parent=one.ref, description="ONE more_thing")
    tasks.close(two.ref)
    tasks.claim(one.ref)

    assert refs(tasks.list()) == [1, 2, 3]
    assert refs(tasks.list(status="closed")) == [3]
    assert refs(tasks.list(status=["open", "in_progress"])) == [1, 2]
    assert refs(tasks.list(parent=epic.ref)) == [2]
    assert refs(tasks.list(parent="none")) == [1]
    assert refs(tasks.list(under=1)) == [2, 3]
    assert refs(tasks.list(category="ui")) == [2]
    assert refs(tasks.list(priority="high")) == refs(tasks.list(priority=1)) == [2]
    assert refs(tasks.list(assignee="a program")) == [2]
    assert refs(tasks.list(text="one")) == [2, 3]
    assert refs(tasks.list(text="0%")) == [2]
    assert refs(tasks.list(text="e_t")) == [3]
    assert refs(tasks.list(limit=2)) == [1, 2]
    assert refs(tasks.list(limit=10**30)) == [1, 2, 3]
    with pytest.raises(InvalidRequest, match="status 'done': must be one of open, "):
        tasks.list(status="done")


def test_tree(tasks):
    for title, parent in (("a", None), ("b", None), ("c", 1), ("d", 3), ("e", 1)):
        tasks.create(title, parent=parent)

    every = [(branch.depth, branch.task.title) for branch in tasks.tree()]
    assert every == [(0, "a"), (1, "c"), (2, "d"), (1, "e"), (0, "b")]
    below = [(branch.depth, branch.task.title) for branch in tasks.tree("#3")]
    assert below == [(0, "c"), (1, "d")]


def test_ready_is_what_nothing_holds_back(tasks):
    tasks.create("epic")
    tasks.create("first", parent=1)
    tasks.create("after first", parent=1, depends_on=2, priority="high")
    tasks.create("urgent", priority="high")
    tasks.create("held")
    tasks.claim(5)
    tasks.escalate(tasks.create("stuck").ref, reason="no key")

    assert refs(tasks.ready()) == [4, 2]
    assert refs(tasks.ready(under=1)) == [2]
    assert refs(tasks.ready(limit=1)) == [4]

    tasks.close(2)
    assert refs(tasks.ready()) == [3, 4]
    tasks.close(3)
    assert refs(tasks.ready()) == [4, 1], "an epic, once its children are closed"


def test_claim_next_takes_the_first(tasks):
    tasks.create("usual")
    tasks.create("urgent", priority=1)

    claimed = [tasks.claim_next() for _ in range(3)]
    assert [task and task.number for task in claimed] == [2, 1, None]


def test_update(tasks):
    tasks.create("a")
    tasks.create("b")

    task = tasks.update(2, title="c", priority=1, parent=1, is_expanded=True)

    assert (task.title, task.priority, task.parent) == ("c", Priority.HIGH, 1)
    assert task.is_expanded
    assert tasks.update(2, parent=None).parent is None
    with pytest.raises(InvalidRequest, match="did you mean 'priority'"):
        tasks.update(2, prioritty="high")
    with pytest.raises(InvalidRequest, match="a task's 'status' cannot be changed"):
        tasks.update(2, status="closed")
    with pytest.raises(InvalidRequest, match="is_expanded: must be true or false"):
        tasks.update(2, is_expanded="yes")


def test_an_epic_is_closed_after_its_children(tasks):
    tasks.create("epic")
    for n in range(12):
        tasks.create(f"part {n}", parent=1)
    tasks.claim(2)

    with pytest.raises(TaskRefused) as refused:
        tasks.close(1)
    opened = ", ".join(f"#{n} (open)" for n in range(3, 12))
    assert str(refused.value) == (
        "task #1 cannot be closed before its children are: #2 (in_progress), "
        f"{opened} and 2 more. What to do: see them: hostbridge task tree 1"
    )
    for n in range(2, 14):
        tasks.close(n)
    assert tasks.get(1).closed_children == 12
    closed = tasks.close(1, reason="all there")
    assert (closed.status, closed.reason) == (Status.CLOSED, "all there")
    assert closed.closed_ms == 1_800_000_000_000


def test_closing_again_changes_nothing(tasks):
    """A coordinator closes what a validator has closed."""
    tasks.create("a")
    closed = tasks.close(1, reason="first")

    tasks.store.clock.go_on(60)
    assert tasks.close(1, reason="second") == closed


def test_some_deeds_take_a_reason(tasks):
    tasks.create("a", validation_criteria="It works.")

    with pytest.raises(TaskRefused, match="task #1 cannot be closed: "):
        tasks.close(1)
    for act, given, why in (
        (tasks.close, {"force": True}, "to close it by force takes a reason"),
        (tasks.escalate, {"reason": " "}, "to escalate it takes a reason"),
        (tasks.escalate, {"reason": None}, "reason: expected text, got None"),
    ):
        with pytest.raises(InvalidRequest, match=why):
            act(1, **given)
    assert tasks.close(1, force=True, reason="tried by hand").reason == "tried by hand"


def test_reopening_opens_what_is_above(tasks):
    """A closed epic has no open child."""
    tasks.create("epic")
    tasks.create("part", parent=1)
    tasks.create("piece", parent=2)
    for n in (3, 2, 1):
        tasks.close(n)

    tasks.reopen(3)

    assert {task.status for task in tasks.list()} == {Status.OPEN}
    assert tasks.get(1).closed_ms is None


def test_delete(tasks):
    tasks.create("epic")
    tasks.create("part", parent=1)
    tasks.create("other", depends_on=2)

    with pytest.raises(TaskRefused, match="task #1 has 1 below it"):
        tasks.delete(1)
    with pytest.raises(TaskRefused, match="#3 waits for it or its children"):
        tasks.delete(1, with_children=True)
    tasks.depend_no_more(3, 2)
    assert refs(tasks.delete(1, with_children=True)) == [1, 2]
    assert refs(tasks.list()) == [3]
    tasks.delete(3)
    assert tasks.create("new").number == 4, "a number is never used again"


def test_circles_are_drawn(tasks):
    for n in range(1, 5):
        tasks.create(f"t{n}", depends_on=n - 1 or ())

    with pytest.raises(TaskCircle) as circle:
        tasks.depend(1, 4)
    assert str(circle.value) == (
        "a task cannot depend on one that waits for it: #1 → #4 → #3 → #2 → #1"
    )
    assert circle.value.numbers == (1, 4, 3, 2, 1)
    with pytest.raises(TaskCircle, match="#2 → #2"):
        tasks.depend(2, 2)

    tasks.create("epic")
    tasks.create("part", parent=5)
    tasks.create("piece", parent=6)
    said = "cannot be a part of one that it waits for: #7 → #5 → #6 → #7"
    with pytest.raises(TaskCircle, match=said):
        tasks.update(5, parent=7)
    assert tasks.get(5).parent is None


def test_only_the_ends_of_a_long_circle_are_drawn(tasks):
    tasks.create_all(NewTask(f"t{n}", depends_on=(n,) if n else ()) for n in range(99))

    with pytest.raises(TaskCircle) as circle:
        tasks.depend(1, 99)

    assert str(circle.value).endswith(
        ": #1 → #99 → #98 → #97 → #96 → #95 → … 88 more … → #6 → #5 → #4 → #3 → #2 → #1"
    )
    assert len(circle.value.numbers) == 100


ODD = [
    ({"limit": "5"}, "limit: expected a number, got '5'"),
    ({"limit": 1.5}, "limit: expected a number, got 1.5"),
    ({"category": "\udcff"}, "category: .* is not UTF-8"),
    ({"assignee": 7}, "assignee: expected text, got 7"),
    ({"text": "\ud800"}, "text: .* is not UTF-8"),
    ({"parent": 10**5000}, "there is no task of so large a number"),
]


@pytest.mark.parametrize(
    ("given", "said"), ODD, ids=[next(iter(given)) for given, _ in ODD]
)
def test_error_in_what_is_looked_for(tasks, given, said):
    tasks.create("one")

    for look in (tasks.list, tasks.ready):
        with pytest.raises(InvalidRequest, match=said):
            look(**given)


def test_a_part_does_not_wait_for_its_whole(tasks):
    """Neither could ever be closed."""
    tasks.create("epic")
    tasks.create("part", parent=1)
    tasks.create("after the epic", depends_on=1)

    with pytest.raises(TaskCircle, match="on one that waits for it: #2 → #1 → #2"):
        tasks.depend(2, 1)
    with pytest.raises(TaskCircle, match="#2 → #3 → #1 → #2"):
        tasks.depend(2, 3)
    with pytest.raises(TaskCircle, match="of one that it waits for: #1 → #3 → #1"):
        tasks.update(3, parent=1)
    with pytest.raises(TaskCircle, match="on one that waits for it: #4 → #3 → #1"):
        tasks.create("part", parent=1, depends_on=3)
    assert len(tasks.list()) == 3


def test_uuids_sort_by_time():
    made = [new_uuid(ms) for ms in (1, 2, 300, 1_800_000_000_000)]

    assert made == sorted(made)
    assert {uuid[14] for uuid in made} == {"7"}
    assert {uuid[19] for uuid in made} <= {*"89ab"}


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_child_forked_in_a_change_ends_none_of_its_parent(tasks, goes_on):
    """Neither commits it nor rolls it back: the locks and the journal are not its."""
    tasks.create("before")
    journal = tasks.database.path.with_name("tasks.db-journal")
    pid = -1

    try:
        with tasks.database.write() as connection:
            connection.execute("UPDATE tasks SET title = 'after'")
            pid = os.fork()
            if pid == 0 and not goes_on:
                sys.exit("left")
            if pid:
                status = os.waitpid(pid, 0)[1]
                assert journal.exists()
    except (StateUnavailable, SystemExit) as exc:
        if pid:
            raise
        words = f"{tasks.database.path}: {own_files.FORKED}"
        os._exit(0 if str(exc) == (words if goes_on else "left") else 2)

    assert os.waitstatus_to_exitcode(status) == 0
    assert [task.title for task in tasks.list()] == ["after"]
