"""Steps of pipelines under kills and errors at system calls.

Each time: the same end, each tool's change made once, no finished program run again.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from engine.pipeworld import agent, pipeline, program, tool, wait, worktree
from faultlab import Operation, prepared, tell
from faults.test_runs import MOST, answer_all, fail_one, only_run, settings
from gitworld import git
from systemcalls import ERRORS

from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.begin import begin
from bridge.engine.view import view
from bridge.store.store import Store
from bridge.tasks.tasks import Tasks
from bridge.worker.long_work import do_step

pytestmark = pytest.mark.faults

G = "general-purpose"
FOLDER = "${{ steps.clone.output.folder }}"
TOOLS = pipeline(
    first=tool("create_task", {"title": "one"}),
    ready=tool("list_ready_tasks", {}),
    claim=tool("claim_task", {"task_id": "${{ steps.ready.output.tasks[0].id }}"}),
    second=tool("create_task", {"title": "two: ${{ steps.claim.output.id }}"}),
)
PROGRAM = pipeline(
    only=program("sh", "-c", "echo x >> ran"),
    after=tool("create_task", {"title": "code ${{ steps.only.output.exit_code }}"}),
)
WAITING = pipeline(
    spawn=agent(G, "inner", background=True),
    awaited=wait(node="spawn", deadline_s=3600),
    after=tool("create_task", {"title": "${{ steps.awaited.output.summary }}"}),
)
LATE = pipeline(
    pause=wait(seconds=0), after=tool("create_task", {"title": "${{ run.name }}"})
)
WORKTREE = pipeline(
    clone=worktree("create", name="one"),
    after=tool("create_task", {"title": "${{ steps.clone.output.base }}"}),
)


def go_on(store: Store) -> None:
    """Advance, and do what takes long; nothing else but what is broken."""
    found: list[Any] = []
    run = only_run(store)
    advance(store, settings(store), run, long=found)
    for step in found:
        do_step(store, settings(store), step)
    if found:
        advance(store, settings(store), run, long=found)


def begun(plan: Any) -> Any:
    def prepare(store):
        project = store.place.project
        project.mkdir(parents=True, exist_ok=True)
        Tasks(store).create("a task of before")
        with store.state() as state:
            begin(state, plan)

    return prepare


def with_repository(store: Store) -> None:
    begun(WORKTREE)(store)
    git(store.place.project, "init", "-q", "-b", "main")
    git(store.place.project, "commit", "-q", "--allow-empty", "-m", "first")


def open_program(store: Store) -> None:
    begun(PROGRAM)(store)
    advance(store, settings(store), only_run(store), long=[])


def answered(store: Store) -> None:
    begun(WAITING)(store)
    advance(store, settings(store), only_run(store), long=[])
    answer_all(store)


def failed_in_background(store: Store) -> None:
    begun(WAITING)(store)
    advance(store, settings(store), only_run(store), long=[])
    fail_one(store)
    advance(store, settings(store), only_run(store), long=[])


def resume(store: Store) -> None:
    """Have it go on if it has stopped, as a person does who sees that."""
    run = only_run(store)
    has_failed = view(store, run).run["status"] == "failed"
    act = by_hand.resume if has_failed else None
    advance(store, settings(store), run, act, long=[])


def do_first(store: Store) -> None:
    found: list[Any] = []
    advance(store, settings(store), only_run(store), long=found)
    do_step(store, settings(store), found[0])


OPERATIONS = [
    Operation("tools", begun(TOOLS), go_on),
    Operation("program", open_program, do_first),
    Operation("after a wait", answered, go_on),
    Operation("time", begun(LATE), go_on),
    Operation("worktree", with_repository, go_on),
]


def ended(store: Store) -> dict[str, Any]:
    """Everything that is left once all is done that there was to do."""
    for _ in range(20):
        go_on(store)
        answer_all(store)
    run = view(store, only_run(store)).run
    tasks = [(task.title, task.status) for task in Tasks(store).list()]
    known = {name: entry["state"] for name, entry in run["nodes"].items()}
    results = {}
    for file in store.place.state.glob("runs/*/results/[!.]*.json"):
        result = json.loads(file.read_text())
        results[file.name] = (result["how"], result["why"])
    ran = store.place.project / "ran"
    return {
        "run": (run["status"], run["why"], run["done"] > 0),
        "tasks": sorted(tasks),
        "nodes": known,
        "results": results,
        "ran": ran.exists(),
    }


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_a_kill_at_any_change_changes_nothing(operation):
    with prepared(operation) as state:
        expected = ended(state.whole())
        assert expected["run"][0] == "completed", expected
        for kill, store, _outcome in state.killed():
            found = ended(store)
            if "exit code 137" in found["run"][1]:
                # Not we, but the program was killed.
                assert operation.name == "program"
                assert {*found["tasks"]} < {*expected["tasks"]}
            else:
                assert found == expected, kill
    tell(f"{operation.name}: {state.cases} kill points")


@pytest.mark.slow
def test_a_kill_while_a_run_is_resumed_asks_once_what_had_failed():
    """The agent in the background, not the step that waits for it, and it only."""
    operation = Operation("resumed", failed_in_background, resume)
    with prepared(operation) as state:
        whole = state.whole()
        expected = (ended(whole), asked(whole))
        assert expected[0]["run"][0] == "completed", expected
        assert [name.partition("-")[2] for name in expected[1]] == [
            "spawn-1-1", "spawn-1-2"
        ]  # fmt: skip
        for kill, store, _outcome in state.killed():
            resume(store)
            assert (ended(store), asked(store)) == expected, kill
    tell(f"resumed: {state.cases} kill points")


def asked(store: Store) -> list[str]:
    """Every request that there has been."""
    return sorted(file.stem for file in store.place.state.glob("done/[!.]*.json"))


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_a_call_that_fails_changes_nothing(operation):
    """A full disk, and others: whoever looks when it works again goes on."""
    with prepared(operation) as state:
        expected = ended(state.whole())
        for fault, store, _outcome in state.failing(ERRORS, MOST):
            found = ended(store)
            if found["run"][0] == "failed":
                # A step may fail by that, and says so; nothing is done twice.
                assert any(sign in found["run"][1] for sign in SAID), found
                assert {*found["tasks"]} <= {*expected["tasks"]}
            else:
                assert found == expected, fault
    tell(f"{operation.name}: {state.cases} failing calls")


SAID = ("No space left", "Input/output error", "Read-only", "disk", "cannot")


def test_a_finished_program_is_not_run_again():
    operation = Operation("program", open_program, do_first)
    with prepared(operation) as state:
        store = state.fresh()
        do_first(store)
        for _ in range(3):
            go_on(store)
        ran = Path(store.place.project) / "ran"
        assert ran.read_text() == "x\n"
