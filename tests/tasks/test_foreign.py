"""Tasks that others have: beads, GitHub's issues, CSV, check lists in Markdown."""

import json

import pytest
from storeworld import store_in

from bridge.errors import InvalidRequest
from bridge.tasks import foreign
from bridge.tasks.foreign import find_foreign, made_uuid
from bridge.tasks.tasks import Tasks

BEADS = (
    '{"id": "bd-1", "title": "Uploads", "description": "All.", "design": "Chunks.",'
    ' "status": "open", "priority": 1, "issue_type": "epic", "labels": ["ui"],'
    ' "created_at": "2025-10-12T10:00:00.5-07:00"}\r\n'
    '{"id": "bd-1.1", "title": "Limit", "status": "blocked", "priority": 4,'
    ' "acceptance_criteria": "Tested.", "assignee": "bo", "dependencies": ['
    '{"issue_id": "bd-1.1", "depends_on_id": "bd-1", "type": "parent-child"},'
    '{"issue_id": "bd-1.1", "depends_on_id": "bd-2", "type": "blocks"},'
    '{"issue_id": "bd-1.1", "depends_on_id": "bd-2", "type": "related"},'
    '{"issue_id": "bd-1.1", "depends_on_id": "bd-9", "type": "blocks"}]}\n'
    '{"id": "bd-2", "title": "Resume", "status": "closed", "close_reason": "Done."}\n'
    '{"id": "bd-3", "title": "Gone", "status": "tombstone"}\n'
)
GITHUB = json.dumps(
    [
        {"number": 7, "title": "Crash", "body": "It does.", "state": "OPEN",
         "url": "https://github.com/o/r/issues/7", "closedAt": None, "labels": [],
         "assignees": [{"login": "ann"}, {"login": "bo"}]},
        {"number": 8, "title": "Old", "body": "", "state": "CLOSED",
         "url": "https://github.com/o/r/issues/8", "comments": [{"body": "Yes."}]},
    ],
    indent=2,
)  # fmt: skip
CSV = (
    "\ufeffID;Title;Status;Priority;Depends On;Estimate\n1;Uploads;To Do;High;;3\n"
    '2;"Limit\nthem";Done;P9;1;\n;Title alone;;;;\n'
)
MARKDOWN = """# Plan
- [ ] Uploads
  They are big.
    - [x] Limit
    - [ ] Limit
      ```
      - [ ] no task
          at all
      ```
1. [X] Ship
* plain
"""
LEFT_OF_BEADS = (
    "labels (1), status 'blocked' (1), deleted tasks (1), links (related) (1), "
    "links (to a task that is not there) (1)"
)
FILES = {
    "beads": (
        BEADS,
        [
            "#1 Uploads (open, high, epic): All.\n\nChunks.",
            "#2 Limit (open, low, by bo) in #1 after #3",
            "#3 Resume (closed)",
        ],
        LEFT_OF_BEADS,
    ),
    "github": (
        GITHUB,
        ["#1 Crash (open, by ann): It does.", "#2 Old (closed)"],
        "assignees (1), comments (1)",
    ),
    "csv": (
        CSV,
        ["#1 Uploads (open, high)", "#2 Limit them (closed) after #1",
         "#3 Title alone (open)"],
        "estimate (1), priority 'P9' (1)",
    ),
    "markdown": (
        MARKDOWN,
        ["#1 Uploads (open): They are big.", "#2 Limit (closed) in #1",
         "#3 Limit (open) in #1: ```\n- [ ] no task\n    at all\n```",
         "#4 Ship (closed)"],
        "other lines (2)",
    ),
    "titles": ("title\nOne\nTwo\nOne\n", ["#1 One (open)", "#2 Two (open)",
                                            "#3 One (open)"], ""),
}  # fmt: skip


@pytest.fixture
def tasks(tmp_path):
    return Tasks(store_in(tmp_path))


def told(task) -> str:
    """A task in one line."""
    facts = [str(task.status), str(task.priority) if task.priority != "normal" else "",
             task.category, f"by {task.assignee}" if task.assignee else ""]  # fmt: skip
    links = [f" in #{task.parent}"] if task.parent else []
    links += [f" after #{other}" for other in task.depends_on]
    said = f": {task.description}" if task.description else ""
    what = ", ".join(filter(None, facts))
    return f"{task.ref} {task.title} ({what}){''.join(links)}{said}"


@pytest.mark.parametrize(("text", "expected", "left_out"), FILES.values(), ids=FILES)
def test_what_others_have_becomes_tasks_once(tasks, text, expected, left_out):
    """Nothing is lost without a word, and reading a file again adds nothing."""
    done = tasks.import_(text.encode())

    found = tasks.list(status=["open", "closed"])
    assert sorted(map(told, found)) == expected
    assert (done.added, ", ".join(done.left_out)) == (len(expected), left_out)
    again = tasks.import_(text.encode())
    assert (again.added, again.changed, again.conflicts) == (0, 0, ())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"id": "a", "title": "x"}\n[1]', "x:2: expected a task, got [1]"),
        ('[{"title": "x"}, 7]', "x[1]: expected a task, got 7"),
        ('[{"number": 7}]', "x[0]: title: "),
        ('{"id": "a", "title": "x"}\n{"id": "a", "title": "y"}', "x:2: a second line"),
        ('{"id": "\\ud800", "title": "x"}', "x:1: "),
        ("a,b\n1,2\n", "x:1: not JSON"),
        ("title\n" + "x" * 200_000, "x:2: field larger than field limit"),
        # It would swallow the rows that follow.
        ('title,status\n"x,open\ny,done\n', "x:2: unexpected end of data"),
    ],
)
def test_error_what_is_no_task_is_named(tasks, text, why):
    """With its place; nothing was imported."""
    with pytest.raises(InvalidRequest) as caught:
        tasks.import_(text.encode(), name="x")

    assert str(caught.value).startswith(why)
    assert "nothing was imported" in str(caught.value)
    assert tasks.list() == []


def test_items_below_a_huge_one_do_not_each_repeat_it(monkeypatch):
    """100 levels of a long title, each within the others: 500 MB of names."""
    taken = []

    def counted(value):
        taken.append(len(str(value)))
        return made_uuid(value)

    monkeypatch.setattr(foreign, "made_uuid", counted)
    lines = [f"{'  ' * at}- [ ] {'x' * 10_000}" for at in range(100)]
    lines += [f"{'  ' * 100}- [ ] {at}" for at in range(1_000)]

    found = find_foreign("\n".join(lines).encode(), "a.md")

    assert found is not None
    assert len({task["uuid"] for _, task in found.tasks}) == 1_100
    assert sum(taken) < 10 * 4_000 * 1_100
    assert max(taken) < 5_000
