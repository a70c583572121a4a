"""`hostbridge task`: every verb, in a pipe, on a terminal and as JSON."""

import json

import pytest
from screens import on_terminal, same_as_file

from bridge.cli.tasks.task_text import task_lines, task_table, tree_lines
from bridge.protocol.claim import HostProcess
from bridge.tasks.queries import Branch
from bridge.tasks.task import Holder, Priority, Status, Task

pytestmark = pytest.mark.slow

DECIDE = (
    "where both sides changed: --prefer ours, or --prefer theirs; for one task, name "
    "it: hostbridge task import - 1 --prefer ours"
)
BOTH = "title (here 'mine', there 'theirs')"
HOUR_MS = 3_600_000
HOST = HostProcess(pid=4711, start_time="1", boot="b")


def task(number, title, status="open", **more):
    usual = {
        "description": "", "priority": Priority.NORMAL, "category": "",
        "validation_criteria": "", "parent": None, "assignee": None, "reason": "",
        "is_expanded": False, "created_ms": 0, "updated_ms": HOUR_MS,
        "closed_ms": None, "depends_on": (), "children": 0, "closed_children": 0,
    }  # fmt: skip
    uuid = f"01a20033-0780-7000-8000-{number:012}"
    return Task(number, uuid, title, status=Status(status), **usual | more)


EPIC = task(
    40, "Uploads have a limit", priority=Priority.HIGH, children=5, closed_children=3,
    is_expanded=True,
)  # fmt: skip
HELD = task(
    42,
    "Refuse uploads over 10 MB before any of their bytes are written to the disk",
    "in_progress",
    parent=40,
    assignee="session 0c5e2a9e-6b0f-4c55-8a53-0f3f1d6b7c11",
    category="backend",
    description="In `upload`, before the file is read.\nThe limit is in config.toml.",
    validation_criteria="A test uploads 11 MB, and is refused with 413.",
)
LATER = task(43, "Say the limit in the form", "needs_review", depends_on=(41, 42))
STUCK = task(44, "Ask the lawyers", "escalated", reason="nobody answers")


def test_screen_of_a_list():
    same_as_file("task-list", lambda w: task_table([EPIC, HELD, LATER, STUCK], w))


def test_screen_of_a_tree():
    branches = [Branch(0, EPIC), Branch(1, HELD), Branch(2, LATER), Branch(0, STUCK)]
    same_as_file("task-tree", lambda w: tree_lines(branches, w))


def test_a_task_far_below_is_still_seen():
    (line,) = tree_lines([Branch(9_999, HELD)], None)

    assert len(str(line)) < 200


def test_screen_of_one():
    holder = Holder(HELD.assignee, HOST)
    same_as_file("task-show", lambda w: task_lines(HELD, holder, 2 * HOUR_MS, w))


def test_from_an_idea_to_the_end(project):
    assert project.run("task", "create", "Uploads", "have", "a", "limit").out == "#1\n"
    made = project.run(
        "task", "create", "Refuse more", "--parent", "#1", "--priority", "high",
        "--criteria", "A test.", "--description", "-", "--category", "ui",
        stdin=b"two\nlines",
    )  # fmt: skip
    assert made.out == "#2\n"
    project.run("task", "create", "Tell it", "--on", "2", "--parent", "1")

    assert project.run("task", "ready").out.splitlines() == [
        "TASK\tSTATUS\tPRIORITY\tTITLE\tPARTS\tAFTER\tBY",
        "#2\topen\thigh\tRefuse more\t\t\t",
    ]
    claimed = project.run("task", "claim")
    assert claimed.out == "#2  Refuse more  (in_progress, by person)\n"
    shown = json.loads(project.run("task", "show", "2", "--json").out)
    wanted = {
        "id": "#2", "title": "Refuse more", "description": "two\nlines",
        "status": "in_progress", "priority": "high", "category": "ui",
        "validationCriteria": "A test.", "parent": "#1", "dependsOn": [],
        "assignee": "person",
    }  # fmt: skip
    assert wanted.items() <= shown.items()

    project.run("task", "close", "2").refuses(1, "task #2 cannot be closed")
    project.run("task", "close", "2", "--force", "--reason", "seen by eye")
    both = project.run("task", "close", "3", "1")
    assert both.out.splitlines() == [
        "#3  Tell it  (closed)",
        "#1  Uploads have a limit  (closed, 2 of 2 closed)",
    ]
    empty = project.run("task")
    assert empty.out == 'no such task is here; hostbridge task create "…" adds one\n'
    every = project.run("task", "list", "--all", "--json").out.splitlines()
    assert [json.loads(line)["status"] for line in every] == ["closed"] * 3


def test_verbs_of_its_life(project):
    def run(*words):
        ran = project.run("task", *words)
        assert ran.code == 0, ran
        return ran.out.strip()

    for title in ("one", "two"):
        run("create", title)
    assert run("claim", "1", "--assignee", "Ada", "--keep").endswith("by Ada)")
    assert run("review", "1", "--reason", "look") == "#1  one  (needs_review)"
    assert run("escalate", "1", "--reason", "stuck") == "#1  one  (escalated)"
    assert run("reopen", "1") == "#1  one  (open)"
    assert run("claim", "1", "--keep") == "#1  one  (in_progress, by person)"
    assert run("release", "1", "--force") == "#1  one  (open)"
    run("depend", "2", "--on", "1")
    assert json.loads(run("show", "2", "--json"))["dependsOn"] == ["#1"]
    assert "#1 → #2 → #1" in project.run("task", "depend", "1", "--on", "2").err
    run("depend", "2", "--not-on", "1")
    run("update", "2", "--title", "second", "--parent", "1")
    assert run("tree") == "#1  one  (open, 0 of 1 closed)\n  #2  second  (open)"
    top = json.loads(run("tree", "--json"))
    assert [each["id"] for each in top["tasks"]] == ["#2"]
    run("update", "2", "--parent", "none")
    assert run("delete", "1") == "deleted: #1  one  (open)"
    assert run("list", "--search", "SEC", "--limit", "1", "--json").startswith("{")


def test_what_is_done_before_a_refusal_is_told(project):
    project.run("task", "create", "one")

    ran = project.run("task", "close", "1", "9")

    assert ran.out == "#1  one  (closed)\n"
    assert "there is no task #9" in ran.err


def test_nothing_to_claim(project):
    ran = project.run("task", "claim")

    assert ran.code == 1
    assert ran.err == "hostbridge: nothing is ready; see: hostbridge task\n"
    assert "see what is there: hostbridge task" in project.run("task", "ready").out


def test_an_import_says_what_it_changed_and_what_it_left(project, tmp_path):
    """Somebody who edits the file sees that it counted, and that a gap deletes none."""
    for title in ("one", "two"):
        project.run("task", "create", title)
    file = tmp_path / "tasks.jsonl"
    project.run("task", "export", "--out", str(file))
    first = json.loads(file.read_text().splitlines()[0]) | {"title": "edited"}
    file.write_text(json.dumps(first) + '\n{"title": "three"}\n')

    done = project.run("task", "import", str(file))

    assert done.code == 0
    assert done.out == (
        "1 task added, 1 changed, 0 as they were\n  #1 edited: title 'one' → 'edited'\n"
    )
    assert done.err == (
        f"hostbridge: not in {file}, and kept: #2; to remove one: hostbridge task "
        "delete 2\n"
    )
    refused = project.run("task", "import", str(file), "1")
    assert refused.err == (
        "hostbridge: task import: tasks are named for --prefer ours, or --prefer "
        "theirs\n"
    )


def test_a_preference_is_for_the_tasks_that_are_named(project):
    """Of two conflicts each can end its own way."""
    for title in ("one", "two"):
        project.run("task", "create", title)
    mine = project.run("task", "export").out
    theirs = mine.replace('"one"', '"theirs"').replace('"two"', '"theirs"').encode()
    for number in ("1", "2"):
        project.run("task", "update", number, "--title", "ours")

    done = project.run("task", "import", "-", "2", "--prefer", "theirs", stdin=theirs)

    assert done.code == 1
    assert "#1 ours: changed on both sides: title" in done.err
    titles = [task.title for task in project.bridge.tasks.list()]
    assert titles == ["ours", "theirs"]


def test_export_and_import(project, tmp_path):
    project.run("task", "create", "one")
    file = tmp_path / "tasks.jsonl"

    written = project.run("task", "export", "--out", str(file))
    assert written.err == f"hostbridge: 1 task in {file}\n"
    data = file.read_text()
    assert project.run("task", "export").out == data

    same = project.run("task", "import", str(file))
    assert same.out == "0 tasks added, 0 changed, 1 as they were\n"
    project.run("task", "update", "1", "--title", "mine")
    theirs = json.dumps(json.loads(data) | {"title": "theirs"}).encode()
    conflict = project.run("task", "import", "-", stdin=theirs)
    assert conflict.code == 1
    assert conflict.err.splitlines() == [
        f"hostbridge: #1 mine: changed on both sides: {BOTH}",
        f"hostbridge: {DECIDE}",
    ]
    done = project.run(
        "task", "import", "-", "1", "--prefer", "theirs", "--json", stdin=theirs
    )
    what = "title 'mine' → 'theirs'"
    assert json.loads(done.out) == {
        "added": 0, "changed": 1, "unchanged": 0, "conflicts": [],
        "changes": [{"number": 1, "title": "theirs", "what": what}], "absent": [],
        "leftOut": [], "older": [],
    }  # fmt: skip
    bad = project.run("task", "import", "-", stdin=b"{")
    assert bad.err.startswith("hostbridge: stdin:1: not JSON")
    missing = project.run("task", "export", "--out", str(tmp_path / "no" / "x"))
    assert "no such file or directory" in missing.err


def test_an_export_cannot_control_a_terminal(project):
    """It is the same JSON there, in which what does not print is escaped."""
    project.bridge.tasks.create("\x9b2J \u202e é \U000e0001")

    shown = on_terminal(project, "task", "export", columns=80)

    assert r"\u009b2J \u202e é \udb40\udc01" in shown.replace("\n", "")


def test_titles_cannot_control_a_terminal(project):
    project.run("task", "create", "a\x1b[31mb", "--criteria", "\u202eodd")

    shown = on_terminal(project, "task", "show", "1", columns=80)

    assert "a\\u001b[31mb" in shown
    assert "\\u202eodd" in shown


def test_completion_offers_numbers(project):
    assert project.run("completion", "tasks").out.strip() == ""
    for title in ("one", "two"):
        project.run("task", "create", title)
    project.run("task", "close", "1")

    assert project.run("completion", "tasks").out == "2\n"


def test_status_counts_tasks(project):
    assert "\ntasks: " not in project.run("status").out
    for title in ("one", "two"):
        project.run("task", "create", title)
    project.run("task", "claim", "1", "--keep")

    project.run("status").tells(0, "tasks: 1 open, 1 in progress (hostbridge task)")
    project.state.joinpath("tasks.db").write_bytes(b"no database" * 100)
    project.run("status").tells(0, "the tasks cannot be read: ")


def test_error_an_update_that_changes_nothing(project):
    project.run("task", "create", "Round prices")

    project.run("task", "update", "1").refuses(2, "update needs what to change")
