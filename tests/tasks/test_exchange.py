"""Export and import: by uuid, the newer wins, what both sides changed is named."""

import sqlite3
from contextlib import closing, suppress

import orjson
import pytest
from exports import FIRST, OTHER, both_sides, edited, line
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from storeworld import store_in

from bridge.errors import InvalidRequest, NewerSchema
from bridge.tasks.circles import TaskCircle
from bridge.tasks.exchange import Conflict
from bridge.tasks.task import Holder, NewTask, Status, TaskRefused
from bridge.tasks.tasks import Tasks

TITLES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(
    lambda text: text.strip() and len(text.strip().splitlines()) == 1
)


@st.composite
def plans(draw):
    """Tasks, each below an earlier one and after some of these."""
    found = []
    for n in range(draw(st.integers(1, 8))):
        earlier = st.integers(1, n) if n else st.nothing()
        found.append(
            NewTask(
                draw(TITLES),
                description=draw(st.text(st.characters(codec="utf-8"), max_size=30)),
                priority=draw(st.sampled_from(["high", "normal", "low"])),
                category=draw(st.sampled_from(["", "ui", "böse"])),
                parent=draw(st.none() | earlier) if n else None,
                depends_on=tuple(draw(st.sets(earlier, max_size=3))) if n else (),
            )
        )
    return found, draw(st.lists(st.integers(1, len(found)), max_size=4))


@settings(
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(plans())
def test_what_is_exported_is_imported_whole(tmp_path_factory, plan):
    """Export, import, export: the same bytes; and importing again changes nothing."""
    here, there = (Tasks(store_in(tmp_path_factory.mktemp("t"))) for _ in range(2))
    new, ended = plan
    for each in new:
        with suppress(TaskCircle):  # its parent waits for it
            here.create_all([each])
            continue
        here.create_all([each._replace(depends_on=())])
    for n in ended:
        here.escalate(n, reason="stuck") if n % 2 else here.claim(n, Holder("me"))

    data = here.export()
    done = there.import_(data)

    assert (done.added, done.conflicts) == (len(new), ())
    assert there.export() == data
    same = (0, 0, len(new), (), (), (), (), ())
    assert there.import_(data) == here.import_(data) == same
    titles = [task.title for task in there.list()]
    assert titles == [task.title for task in here.list()]


def test_the_newer_one_wins_whichever_way(shared):
    ours, theirs = shared
    theirs.close(2, reason="done there")
    ours.update(3, title="two, and a half")

    assert ours.import_(theirs.export())[:4] == (0, 1, 2, ())
    assert theirs.import_(ours.export())[:4] == (0, 1, 2, ())

    assert ours.export() == theirs.export()
    closed, changed = ours.get(2), theirs.get(3)
    assert (closed.status, closed.reason) == (Status.CLOSED, "done there")
    assert changed.title == "two, and a half"


def test_a_chain_through_others_is_no_conflict(shared, tmp_path):
    """A change that came through a third place is still known for newer."""
    ours, theirs = shared
    third = Tasks(store_in(tmp_path / "third"))
    theirs.update(1, title="second version")
    third.import_(theirs.export())
    third.update(1, title="third version")

    assert ours.import_(third.export())[:4] == (0, 1, 2, ())
    assert ours.get(1).title == "third version"


def test_what_both_sides_changed_is_named_and_left(shared):
    ours, theirs = shared
    ours.update(2, title="ours", description="x")
    theirs.update(2, title="theirs")
    before = ours.export()

    done = ours.import_(theirs.export())

    what = both_sides(("title", "ours", "theirs"), ("description", "x", ""))
    assert done == (0, 0, 3, (Conflict(2, "ours", what),), (), (), (), ())
    assert ours.export() == before


@pytest.mark.parametrize("prefer", ["ours", "theirs"])
def test_a_preference_ends_a_conflict_for_both(shared, prefer):
    ours, theirs = shared
    ours.update(2, title="ours")
    theirs.update(2, title="theirs")

    assert ours.import_(theirs.export(), prefer=prefer)[:4] == (0, 1, 2, ())
    assert theirs.import_(ours.export()).conflicts == ()

    assert ours.get(2).title == theirs.get(2).title == prefer
    assert ours.export() == theirs.export()


def test_the_same_change_on_both_sides_is_none(shared):
    ours, theirs = shared
    for side in shared:
        side.update(2, title="as agreed")

    assert ours.import_(theirs.export()).conflicts == ()
    assert theirs.import_(ours.export()).conflicts == ()
    assert ours.export() == theirs.export()


def test_a_circle_that_no_side_had_is_left_out(shared):
    ours, theirs = shared
    for side in shared:
        side.depend_no_more(3, 2)
    theirs.import_(ours.export())
    ours.import_(theirs.export())
    ours.depend(2, 3)
    theirs.depend(3, 2)

    done = ours.import_(theirs.export())

    what = "left out that it depends on #2, which closes a circle: #2 → #3 → #2"
    assert done.conflicts == (Conflict(3, "two", what),)
    assert [task.depends_on for task in ours.list()] == [(), (3,), ()]


def test_parents_in_a_circle_are_left_out(tasks, elsewhere):
    tasks.create_all([NewTask("a"), NewTask("b")])
    elsewhere.import_(tasks.export())
    tasks.update(1, parent=2)
    elsewhere.update(2, parent=1)

    done = tasks.import_(elsewhere.export())

    what = "left out that it is part of #1, which closes a circle: #1 → #2 → #1"
    assert done.conflicts == (Conflict(2, "b", what),)
    assert [task.parent for task in tasks.list()] == [2, None]


def test_what_is_not_there_is_named(shared, tmp_path):
    ours, _ = shared
    last = ours.export().splitlines()[-1]

    third = Tasks(store_in(tmp_path / "third"))
    done = third.import_(last)

    uuids = (ours.get(2).uuid, ours.get(1).uuid)
    what = f"left out: it names {', '.join(uuids)}, which is not here"
    assert done == (1, 0, 0, (Conflict(1, "two", what),), (), (), (), ())


def test_keys_of_a_later_version_survive(tasks, elsewhere):
    tasks.create("a")
    line = orjson.loads(tasks.export()) | {"colour": {"r": 1}}

    elsewhere.import_(orjson.dumps(line))

    assert orjson.loads(elsewhere.export())["colour"] == {"r": 1}


def test_a_claim_stays_where_it_was_made(tasks, elsewhere):
    """A process is of one machine."""
    tasks.create("a")
    tasks.claim(1, Holder("me"))

    elsewhere.import_(tasks.export())

    task = elsewhere.get(1)
    assert (task.status, task.assignee) == (Status.IN_PROGRESS, "me")
    assert elsewhere.holder_of(1) is None
    assert elsewhere.release(1).status is Status.OPEN


def test_a_claim_ends_where_another_has_the_task_by_now(tasks, elsewhere):
    """Or its own holder would be refused as another."""
    tasks.create("a")
    tasks.claim(1, Holder("me"))
    elsewhere.import_(tasks.export())
    elsewhere.claim(1, Holder("other"))

    tasks.import_(elsewhere.export())

    assert tasks.get(1).assignee == "other"
    assert tasks.holder_of(1) is None
    assert tasks.claim(1, Holder("me")).assignee == "me"


def test_a_closed_task_with_a_new_part_is_opened_again(shared):
    """No epic is closed before its parts, whoever closed it where."""
    ours, theirs = shared
    theirs.create("above")
    theirs.update(1, parent=4)
    ours.import_(theirs.export())
    for number in (2, 3, 1, 4):
        ours.close(number)
    theirs.create("late", parent=1)

    done = ours.import_(theirs.export())

    assert done.conflicts == (
        Conflict(1, "epic", "opened again: its part #5 is not closed"),
    )
    assert [ours.get(n).status for n in (1, 4)] == [Status.OPEN] * 2
    assert ours.import_(theirs.export())[:4] == (0, 0, 5, ())
    theirs.import_(ours.export())
    assert theirs.export() == ours.export()


def test_what_others_opened_again_is_validated_anew(tools, elsewhere):
    ours = Tasks(tools.store)
    tools.task("a", validation_criteria="it runs")
    tools("validate_task", task_id="#1")
    tools.validators.answer(passed=True, feedback=[])
    ours.close(1)
    elsewhere.import_(ours.export())
    elsewhere.reopen(1)

    ours.import_(elsewhere.export())

    with pytest.raises(TaskRefused, match="has to be validated again"):
        ours.close(1)


def test_what_names_much_that_is_not_there_is_told_in_a_line(tasks):
    done = tasks.import_(line(dependsOn=[f"{n:05}{'x' * 1000}" for n in range(10_000)]))

    ((_, _, what),) = done.conflicts
    assert what.endswith("… and 9,995 more, which is not here")
    assert len(what) < 300


CIRCLE = line(dependsOn=[OTHER]) + line(uuid=OTHER, dependsOn=[FIRST])
WAIT = "1: tasks wait for each other:"
BAD = {
    "no json": (b"{", "1: not JSON: "),
    "list": (b'{"title": "x"}\n[]', "2: expected a JSON object, got list; nothing was"),
    "second": (
        line() + b"\n" + line(),
        f"3: a second line of task {FIRST}, as team.jsonl:1; nothing",
    ),
    "status": (line(status="done"), "1: status: must be "),
    "title": (line(title="a\nb"), "1: title: must be one line of text"),
    "uuid": (line(uuid="../x"), "1: uuid '../x': expected digits"),
    "number": (line(createdAt="x"), "1: createdAt: "),
    "letters": (line(uuid=FIRST.upper()), f"1: uuid '{FIRST.upper()}': expected small"),
    "far": (line(updatedAt=10**15), "1: updated_at: later than the year 9999"),
    "circle": (CIRCLE, f"{WAIT} {FIRST} → {OTHER} → {FIRST}; no"),
    "itself": (line(parent=FIRST), f"{WAIT} {FIRST} "),
}


@pytest.mark.parametrize(("data", "said"), BAD.values(), ids=BAD)
def test_error_in_a_line(tasks, data, said):
    with pytest.raises(InvalidRequest) as refused:
        tasks.import_(data, name="team.jsonl")

    assert str(refused.value).startswith(f"team.jsonl:{said}"), refused.value
    assert "nothing was imported" in str(refused.value)
    assert tasks.list() == []


RING = [f"01a20033-0780-7000-8000-{n:012}" for n in range(5_000)]
HOSTILE = {
    "nested": b'{"title": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "open bracket": b'{"title": "a", "x": ' + b"[" * 100_000,
    "open quote": b'title,description\n"a' + b"x\n" * 100_000,
    "circle": b"".join(
        line(uuid=uuid, dependsOn=[RING[n - 1]]) for n, uuid in enumerate(RING)
    ),
    "history": line(history={"a": 1}, version=7),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_import_is_refused_in_a_line(tasks, data):
    with pytest.raises(InvalidRequest) as refused:
        tasks.import_(data, name="team.jsonl")

    assert str(refused.value).startswith("team.jsonl:")
    assert len(str(refused.value)) < 1_000
    assert tasks.list() == []


def earlier(data: bytes, versions: dict[str, int], **changes: object) -> bytes:
    """As an earlier hostbridge exported it: it counted the changes by place."""
    lines = []
    for each in data.splitlines():
        fields = orjson.loads(each) | {"versions": versions} | changes
        lines.append(orjson.dumps({k: v for k, v in fields.items() if k != "version"}))
    return b"\n".join(lines)


def test_an_export_of_an_earlier_version_is_read(tasks, elsewhere):
    tasks.create("a")
    old = earlier(tasks.export(), {"454e4108": 3})

    assert elsewhere.import_(old)[:4] == (1, 0, 0, ())
    assert elsewhere.export() == tasks.export()
    assert tasks.import_(old)[:4] == (0, 0, 1, ())
    later = tasks.get(1).updated_ms + 1
    newer = earlier(tasks.export(), {"454e4108": 4}, title="b", updatedAt=later)
    assert tasks.import_(newer)[:4] == (0, 1, 0, ())
    assert b"versions" not in tasks.export()
    tasks.database.store.clock.go_on(1)
    tasks.update(1, title="c")
    what = both_sides(("title", "c", "d"))
    apart = earlier(newer, {"454e4108": 5}, title="d", updatedAt=later + 1)
    assert tasks.import_(apart).conflicts == (Conflict(1, "c", what),)
    assert tasks.import_(old).older == (1,)


def with_history(data: bytes, *before: str) -> bytes:
    """As an earlier hostbridge exported it: each line named all that came before."""
    lines = map(orjson.loads, data.splitlines())
    return b"\n".join(
        orjson.dumps(each | {"history": [*before, each.pop("version")]})
        for each in lines
    )


def test_an_export_with_histories_is_read(shared):
    """A line that names what is here among its past is newer; an edited one, too."""
    ours, theirs = shared
    before = orjson.loads(ours.export().splitlines()[1])["version"]
    theirs.update(2, title="second")
    data = with_history(theirs.export(), before)
    edit = edited(data, 1, title="by hand")

    assert ours.import_(data)[:4] == (0, 1, 2, ())
    assert ours.import_(edit)[:4] == (0, 1, 2, ())
    assert ours.get(2).title == "by hand"
    assert ours.import_(data).older == (2,)
    assert b"history" not in ours.export()


def test_a_database_of_an_earlier_version_goes_on(shared):
    """It kept the names of all versions that it had exchanged: the last one counts."""
    ours, theirs = shared
    ours.update(1, title="changed since")
    theirs.update(1, title="and there")
    theirs.update(2, title="newer")
    with closing(sqlite3.connect(ours.database.path)) as old, old:
        old.executescript(
            "ALTER TABLE tasks ADD COLUMN history TEXT NOT NULL DEFAULT '[]';"
            "UPDATE tasks SET history = json_array('0-0', exchanged);"
            "ALTER TABLE tasks DROP COLUMN exchanged;"
            "PRAGMA user_version = 4;"
        )

    done = ours.import_(theirs.export())

    what = both_sides(("title", "changed since", "and there"))
    assert done.conflicts == (Conflict(1, "changed since", what),)
    assert (done.changed, ours.get(2).title) == (1, "newer")


def test_an_old_line_is_named_and_taken_only_if_it_is_asked_for(shared):
    """Where it was not the last one to be exchanged, it may be somebody's edit."""
    ours, _ = shared
    old = ours.export()
    ours.update(2, title="second")
    assert ours.import_(old) == (0, 0, 3, (), (), (), (), ())
    ours.export()

    for prefer, only in ((None, ()), ("theirs", ()), ("theirs", (3,))):
        done = ours.import_(old, prefer=prefer, only=only)
        assert done == (0, 0, 3, (), (), (), (), (2,))
    assert ours.import_(old, prefer="theirs", only=[2]).changed == 1
    assert ours.get(2).title == "one"


def test_a_newer_export_is_refused(tasks):
    with pytest.raises(NewerSchema, match=r":1: schemaVersion 2 is .*; update"):
        tasks.import_(line(schemaVersion=2))
