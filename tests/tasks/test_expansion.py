"""A task is divided: checked as a whole, made at once, and once."""

import pytest

from bridge.tasks.expansion import AlreadyExpanded, NoSpec
from bridge.tasks.expansion_spec import BadSpec, read
from bridge.tasks.task import TaskRefused
from bridge.tasks.tasks import Tasks

SPEC = {
    "subtasks": [
        {"id": "parse", "title": "Write the parser", "category": "code"},
        {
            "title": "Test it",
            "description": "With real files.",
            "depends_on": ["parse"],
            "priority": "high",
            "validation_criteria": "pytest passes",
        },
        {"title": "Describe it", "depends_on": [0, 1]},
    ]
}


def save(tools, *subtasks, task="#1"):
    """Save how a task is to be divided."""
    return tools("save_expansion_spec", task_id=task, spec={"subtasks": [*subtasks]})


@pytest.fixture
def epic(tools):
    """The tools, with a task that may be divided."""
    tools.task("Epic")
    return tools


def test_a_spec_becomes_tasks(epic):
    saved = epic("save_expansion_spec", task_id="#1", spec=SPEC)
    before = epic("get_task", task_id="#1")
    pending = epic("get_expansion_spec", task_id="#1")

    done = epic("execute_expansion", task_id="#1")

    counted = {"taskId": "#1", "subtaskCount": 3, "pending": True}
    assert saved == {"saved": True, **counted}
    assert before["isExpanded"] is False
    assert (pending["pending"], pending["subtaskCount"]) == (True, 3)
    assert done["created"] == ["#2", "#3", "#4"]
    assert (done["count"], done["wasDone"]) == (3, False)
    assert epic("get_task", task_id="#1")["isExpanded"] is True
    test = epic("get_task", task_id="#3")
    assert (test["parent"], test["dependsOn"]) == ("#1", ["#2"])
    assert (test["priority"], test["validationCriteria"]) == ("high", "pytest passes")
    assert epic("get_task", task_id="#4")["dependsOn"] == ["#2", "#3"]
    assert epic("get_expansion_spec", task_id="#1")["pending"] is False


def test_the_same_again_changes_nothing(tools):
    tools.expanded("a", "b")

    again = tools("execute_expansion", task_id="#1")
    saved = tools("save_expansion_spec", task_id=1, spec={"tasks": ["a", "b"]})

    assert again["created"] == ["#2", "#3"]
    assert again["wasDone"] is True
    assert saved["pending"] is False
    assert tools("list_tasks")["count"] == 3


def test_error_another_spec_after_the_first(tools):
    tools.expanded(*"abcdefg")

    with pytest.raises(AlreadyExpanded, match="into #2, #3, #4, #5, #6 and 2 more"):
        save(tools, "x")


def test_a_spec_that_was_not_executed_is_replaced(epic):
    save(epic, "a")
    save(epic, "b", "c")

    assert epic("execute_expansion", task_id="#1")["count"] == 2


def test_it_is_divided_anew_once_its_parts_were_deleted(tools):
    tools.expanded("a")
    Tasks(tools.store).delete("#2")
    save(tools, "b")

    # A number is never used again.
    assert tools("execute_expansion", task_id="#1")["created"] == ["#3"]


def test_a_part_waits_for_a_task_outside(epic):
    epic.task("Elsewhere")
    save(epic, {"title": "a", "depends_on": "#2"})

    assert epic("get_expansion_spec", task_id="#1")["spec"]["subtasks"] == [
        {"title": "a", "priority": "normal", "dependsOn": ["#2"]}
    ]
    epic("execute_expansion", task_id="#1")
    assert epic("get_task", task_id="#3")["dependsOn"] == ["#2"]


def test_error_a_task_that_a_part_waits_for_has_gone(epic):
    epic.task("Elsewhere")
    save(epic, {"title": "a", "depends_on": "#2"})
    Tasks(epic.store).delete("#2")

    with pytest.raises(BadSpec, match="there is no task #2"):
        epic("execute_expansion", task_id="#1")


LATER = {
    "#1": "closed only after #2: #1 → #2",
    "#2": "cannot wait for #2 as",
    "#3": "closed only after #2: #3 → #2",
}


@pytest.mark.parametrize(("ref", "says"), LATER.items())
def test_error_a_part_that_could_never_be_closed(tools, ref, says):
    """What is above a task is closed after its parts."""
    tools.task("Above")
    tools.task("Epic", parent="#1")
    tools.task("After", depends_on=["#2"])

    with pytest.raises(BadSpec, match=says):
        save(tools, {"title": "a", "depends_on": [ref]}, task="#2")


def test_error_nothing_was_saved(epic):
    nothing = {"taskId": "#1", "pending": False, "isExpanded": False}
    assert epic("get_expansion_spec", task_id="#1") == nothing
    with pytest.raises(NoSpec, match="task #1 has no expansion spec"):
        epic("execute_expansion", task_id="#1")


def test_error_a_closed_task_is_not_divided(epic):
    save(epic, "a")
    epic("close_task", task_id="#1")

    with pytest.raises(TaskRefused, match="#1 is closed, and cannot be divided"):
        epic("execute_expansion", task_id="#1")
    with pytest.raises(TaskRefused, match="#1 is closed, and cannot be divided"):
        save(epic, "b")


NO_LIST = "subtasks: expected a list of subtasks, got "
A, B, C = ({"title": title} for title in "abc")
AT_0, LAST = r"subtasks\[0\]", "expected a position from 0 to 0"
TWICE = {"validation": "", "validation_criteria": ""}
# One subtask, or several, and what is said of the first or the second.
REFUSED = [
    ([3], r"\[0\]: expected an object, got 3"),
    ([{}], r"\[0\].title: must be one line"),
    ([{"title": 3}], r"\[0\].title: expected text, got 3"),
    ([{"titel": "a"}], r"\[0\].titel: .* did you mean 'title'\?"),
    ([A | TWICE], f"{AT_0}.validation: the same as validation_criteria; give one"),
    ([A | {"priority": 9}], r"\[0\].priority 9: must be"),
    ([A | {"id": [1]}], r"\[0\].id: expected text"),
    ([A | {"id": "x"}, B | {"id": "x"}], r"\[1\].id: 'x' is subtasks\[0\]'s"),
    (
        [A | {"depends_on": [4]}],
        rf"{AT_0}.depends_on\[0\]: there is no subtask 4; {LAST}",
    ),
    ([A | {"depends_on": ["9" * 5000]}], "there is no subtask '999"),
    ([A | {"id": "pars"}, B | {"depends_on": "parse"}], "did you mean 'pars'"),
    ([A | {"depends_on": [0]}], rf"{AT_0}.depends_on: a circle: 0 \(a\) → 0 \(a\)"),
    (
        [A | {"depends_on": [1]}, B | {"depends_on": [2]}, C | {"depends_on": [0]}],
        r"a circle: 0 \(a\) → 1 \(b\) → 2 \(c\) → 0 \(a\)",
    ),
]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (None, f"{NO_LIST}None"),
        ({}, f"{NO_LIST}None"),
        ({"subtasks": []}, rf"{NO_LIST}\[\]"),
        ({"subtasks": ["a"] * 2001}, "subtasks: 2,001; at most 2,000"),
        ({"subtasks": ["a"], "tasks": ["a"]}, "tasks: the same as subtasks"),
        ({"subtasks": ["a"], "x": 1}, "x: there is no such field; known: subtasks"),
        *(({"subtasks": subtasks}, says) for subtasks, says in REFUSED),
    ],
)
def test_error_a_spec_is_refused_with_its_place(spec, says):
    with pytest.raises(BadSpec, match=says):
        read(spec)


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(BadSpec) as refused:
        read({"subtasks": [{"title": n} for n in range(14)]})

    assert len(refused.value.problems) == 14
    assert "and 4 more" in str(refused.value)


NESTED: list[object] = []
for _ in range(100_000):
    NESTED = [NESTED]
HOSTILE = {
    "nested title": [{"title": NESTED}],
    "nested subtask": [NESTED],
    "nested id": [A | {"id": NESTED}],
    "nested dependency": [A | {"depends_on": NESTED}],
    "many unknown": [A | {f"key {n}": NESTED for n in range(1_000)}],
    "long": [{"title": "a" * 10**6, "depends_on": "y" * 10**6}],
    "wrong everywhere": [A | {"depends_on": ["nowhere"] * 500} for _ in range(500)],
}


@pytest.mark.parametrize("subtasks", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_spec_is_refused_in_a_few_lines(subtasks):
    with pytest.raises(BadSpec) as refused:
        read({"subtasks": subtasks})

    assert len(refused.value.problems) <= 1_000
    assert len(str(refused.value)) < 5_000


def test_a_spec_is_known_however_it_is_written():
    one = read({"subtasks": [A | {"id": "x"}, B | {"depends_on": "x"}]})
    other = read({"tasks": ["a", {"title": "b", "depends_on": [0], "priority": 2}]})

    assert one.digest == other.digest
