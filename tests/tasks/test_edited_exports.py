"""What a person edits in an export is taken, and no edit is lost without a word."""

from pathlib import Path

import orjson
import pytest
from exports import OTHER, both_sides, edited, line
from hypothesis import given, settings
from hypothesis import strategies as st
from storeworld import FakeClock, store_in

from bridge.errors import InvalidRequest
from bridge.tasks.exchange import Change, Conflict
from bridge.tasks.task import NewTask, Status
from bridge.tasks.task_record import all_records
from bridge.tasks.tasks import Tasks
from bridge.testing.folder import folder

# `colour` is a key that nobody knows.
EDITS = {"title": "another", "description": "more", "status": "closed", "parent": None}
EDITS |= {"validationCriteria": "it runs", "dependsOn": [], "colour": "red"}
EDITS |= {"priority": "high"}


@pytest.mark.parametrize(("field", "value"), EDITS.items())
def test_what_a_hand_edits_is_taken(shared, field, value):
    """Its `updatedAt` is as it was: what the line says counts, and not its time."""
    ours, theirs = shared
    data = edited(ours.export(), 2, **{field: value})

    for side in shared:
        assert side.import_(data)[:4] == (0, 1, 2, ())
        assert side.import_(data)[:4] == (0, 0, 3, ())

    assert orjson.loads(ours.export().splitlines()[2])[field] == value
    assert ours.export() == theirs.export()


def test_a_dependency_and_a_parent_are_edited_by_uuid(shared):
    ours, _ = shared
    one = ours.get(2).uuid
    data = edited(ours.export(), 2, parent=one, dependsOn=[])

    done = ours.import_(data)

    epic = ours.get(1).uuid
    what = f"parent {epic!r} → {one!r}, dependsOn [{one!r}] → []"
    assert done.changes == (Change(3, "two", what),)
    assert (ours.get(3).parent, ours.get(3).depends_on) == (2, ())


def test_what_a_hand_edits_back_is_taken(shared):
    """It was so once: that is no older version, but a new one with the same words."""
    ours, theirs = shared
    ours.database.store.clock.go_on(1)
    ours.update(2, title="worse")
    theirs.import_(ours.export())

    for before, after in (("worse", "one"), ("one", "worse"), ("worse", "one")):
        data = edited(ours.export(), 1, title=after)
        change = Change(2, after, f"title {before!r} → {after!r}")
        assert [side.import_(data).changes for side in shared] == [(change,)] * 2


def test_an_old_file_that_a_hand_edits_is_named(shared):
    """What came after it is not lost, and neither is the edit."""
    ours, theirs = shared
    old = ours.export()
    theirs.update(2, description="newer")
    ours.import_(theirs.export())

    assert ours.import_(old)[:4] == (0, 0, 3, ())
    done = ours.import_(edited(old, 1, title="by hand"))

    what = both_sides(("title", "one", "by hand"), ("description", "newer", ""))
    assert done.conflicts == (Conflict(2, "one", what),)


def test_an_edited_line_without_a_time_overrides_no_later_change(shared):
    """What it was edited from is what was exported, and not what is here by now."""
    ours, _ = shared
    said = orjson.loads(ours.export().splitlines()[1])
    data = orjson.dumps({"uuid": said["uuid"], "title": "mine"})
    ours.database.store.clock.go_on(1)
    ours.update(2, title="later")

    done = ours.import_(data)

    what = both_sides(("title", "later", "mine"))
    assert done.conflicts == (Conflict(2, "later", what),)
    assert ours.get(2).title == "later"
    ours.export()
    assert ours.import_(data).changes == (Change(2, "mine", "title 'later' → 'mine'"),)


def test_a_title_alone_is_a_task(tasks, elsewhere):
    """Whoever imports the line, and however often: it is the same task."""
    data = b'{"title": "written by hand"}\n{"title": "another", "priority": "high"}\n'

    for side in (tasks, elsewhere):
        assert side.import_(data) == (2, 0, 0, (), (), (), (), ())
        assert side.import_(data) == (0, 0, 2, (), (), (), (), ())

    assert [tasks.get(n).title for n in (1, 2)] == ["written by hand", "another"]
    tasks.update(1, title="changed since")
    assert tasks.import_(data) == (0, 0, 2, (), (), (), (), ())
    assert elsewhere.import_(tasks.export()).conflicts == ()
    assert tasks.import_(elsewhere.export()).conflicts == ()
    assert tasks.export() == elsewhere.export()


CHANGES = [
    ({"title": "b"}, "title 'a' → 'b'"),
    ({"priority": "low"}, "priority 'normal' → 'low'"),
]


@pytest.mark.parametrize(("fields", "said"), CHANGES)
def test_what_a_line_does_not_say_stays(tasks, fields, said):
    """It says what is to change, and nothing else; the docs promise that."""
    made = tasks.create("a", description="long", validation_criteria="it runs")
    tasks.export()

    done = tasks.import_(orjson.dumps({"uuid": made.uuid} | fields))

    title = fields.get("title", "a")
    assert done.changes == (Change(1, title, said),)
    now = tasks.get(1)
    assert (now.title, now.description) == (title, "long")
    assert now.validation_criteria == "it runs"


@pytest.mark.parametrize(
    ("new", "why"), [({"uuid": OTHER}, ", since no task here has this uuid"), ({}, "")]
)
def test_error_a_new_line_without_a_title(tasks, new, why):
    """What came before it is not imported either."""
    data = line() + orjson.dumps({"priority": "low"} | new)

    with pytest.raises(InvalidRequest) as refused:
        tasks.import_(data, name="team.jsonl")

    assert str(refused.value) == (
        f"team.jsonl:2: title: field required{why}; nothing was imported"
    )
    assert tasks.list() == []


def test_a_line_taken_out_is_no_deletion(shared):
    ours, _ = shared
    ours.create("never exported")
    data = shared[1].export().splitlines()

    done = ours.import_(data[0] + b"\n" + data[2])

    assert done == (0, 0, 2, (), (), (2,), (), ())
    assert [task.number for task in ours.list()] == [1, 2, 3, 4]


def test_a_closed_line_was_closed_when_it_was_changed_last(tasks):
    tasks.import_(line(status="closed", createdAt=1, updatedAt=7))

    assert tasks.get(1).closed_ms == 7


def test_what_a_hand_closes_before_its_parts_is_opened_again(shared):
    ours, _ = shared

    done = ours.import_(edited(ours.export(), 0, status="closed"))

    assert done.conflicts == (
        Conflict(1, "epic", "opened again: its part #2 is not closed"),
    )
    assert ours.get(1).status is Status.OPEN


# A model of it


class Side:
    """A place, and for each task the edits that its version holds."""

    def __init__(self, folder: Path, ahead_s: int) -> None:
        self.clock = FakeClock()
        self.clock.set_wall(ahead_s)
        self.tasks = Tasks(store_in(folder, clock=self.clock))
        self.holds: dict[str, frozenset[int]] = {}

    def versions(self) -> dict[str, str]:
        """What each task is now, by its name."""
        with self.tasks.database.read() as connection:
            return {record.uuid: record.now() for record in all_records(connection)}

    def take(self, data: bytes, holds: dict[str, frozenset[int]]) -> None:
        """Import, and check what became of each task against the edits.

        What neither side knew of the other is a conflict, or the older line of two
        that were exported, which is named as one that was changed or that is older.
        """
        before = {task.uuid: task.title for task in self.tasks.list()}
        done = self.tasks.import_(data)
        left = {conflict.number for conflict in done.conflicts} | {*done.older}
        taken = {change.number for change in done.changes}
        for each in map(orjson.loads, data.splitlines()):
            uuid, title = each["uuid"], each["title"]
            ours, theirs = self.holds.get(uuid, frozenset()), holds[uuid]
            task = self.tasks.get(uuid)
            if ours < theirs or task.number in taken:
                assert not ours > theirs
                assert task.title == title
                self.holds[uuid] = theirs
            else:
                assert ours >= theirs or task.number in left
                assert task.title == before[uuid]


KINDS = ["edit", "by hand", "exchange", "prefer ours", "prefer theirs"]
ONE = st.tuples(st.sampled_from(KINDS), st.integers(0, 1), st.integers(0, 1))
DEEDS = st.lists(ONE, max_size=14)


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(DEEDS, st.sampled_from([-7200, 0, 7200]))
def test_no_edit_is_lost_without_a_word(deeds, ahead_s):
    """Each is in the task, or a conflict names it, whatever the clocks say."""
    with folder() as root:
        sides = [Side(root / "a", 0), Side(root / "b", ahead_s)]
        sides[0].tasks.create_all([NewTask("x"), NewTask("y")])
        uuids = [task.uuid for task in sides[0].tasks.list()]
        sides[0].holds = {uuid: frozenset([-1]) for uuid in uuids}
        sides[1].take(sides[0].tasks.export(), sides[0].holds)

        for edit, (deed, at, task) in enumerate(deeds):
            side, other, uuid = sides[at], sides[1 - at], uuids[task]
            side.clock.go_on(1)
            if deed == "edit":
                side.tasks.update(uuid, title=f"edit {edit}")
                side.holds[uuid] |= {edit}
            elif deed == "by hand":
                number = sorted(uuids).index(uuid)
                data = edited(side.tasks.export(), number, title=f"edit {edit}")
                side.take(data, side.holds | {uuid: side.holds[uuid] | {edit}})
            elif deed == "exchange":
                side.take(other.tasks.export(), other.holds)
            else:
                prefer = deed.removeprefix("prefer ")
                theirs, before = other.versions(), side.versions()
                done = side.tasks.import_(other.tasks.export(), prefer=prefer)
                assert done.conflicts == ()
                for each, now in side.versions().items():
                    if now == theirs[each]:
                        side.holds[each] = other.holds[each]
                    elif now != before[each]:
                        side.holds[each] |= other.holds[each] | {edit}

        # Both have what the other has, once one has decided.
        sides[0].tasks.import_(sides[1].tasks.export(), prefer="ours")
        assert sides[1].tasks.import_(sides[0].tasks.export()).conflicts == ()
        assert sides[0].tasks.export() == sides[1].tasks.export()
