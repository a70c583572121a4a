"""Runs of pipelines that nobody follows, and what a person says to them."""

import pytest
from fakeclaude import OBEDIENT, fake_claude
from gitworld import git
from polling import wait_until
from trustworld import Terminal, reply

from bridge.api.run_flow import Runner
from bridge.engine.view import view

pytestmark = pytest.mark.slow

LATE = """
steps:
  - {id: ask, approval: "Ship it?", timeout: 1}
  - {id: after, tool: create_task, arguments: {title: Shipped}}
"""
SKIPPED = LATE.replace("timeout: 1", "timeout: 1, on_failure: skip")
PAUSED = """
steps:
  - {id: pause, wait: 1s}
  - {id: after, tool: create_task, arguments: {title: Shipped}}
"""
ENDS = {
    LATE: ("failed", "ask: nobody said yes in time", []),
    SKIPPED: ("completed", "", ["Shipped"]),
    PAUSED: ("completed", "", ["Shipped"]),
}


def begun(project, text):
    """A run that nobody follows."""
    file = project.folder / "p.yaml"
    file.write_text(text)
    bridge = project.bridge
    runner = Runner(bridge.store, bridge.settings, bridge.quick)
    run = runner.begin(str(file), {}, {})
    runner.look(run)
    return run


def wait_for_its_time(project, run):
    """Until the time of its open step is over; nobody has looked then."""

    def is_over():
        now = view(project.bridge.store, run).run
        if not now["open"]:
            # On a slow machine it was over as soon as it had begun.
            return True
        (name,) = now["open"]
        entry = now["nodes"][name]
        return project.bridge.store.now_ms() >= entry.get(
            "until", entry.get("deadline")
        )

    wait_until(is_over, what="its time")


def ended(project, run):
    now = view(project.bridge.store, run).run
    titles = [task.title for task in project.bridge.tasks.list()]
    return now["status"], now["why"], titles


@pytest.mark.parametrize("text", ENDS, ids=["failed", "skipped", "wait"])
def test_who_looks_at_the_status_ends_what_is_late(project, text):
    run = begun(project, text)
    wait_for_its_time(project, run)

    assert run not in project.run("status").out
    assert ended(project, run) == ENDS[text]


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize("text", ENDS, ids=["failed", "skipped", "wait"])
def test_serve_ends_what_is_late(project, text):
    run = begun(project, text)

    with project.start("serve", "--route", "claude") as process:
        wait_until(lambda: ended(project, run)[0] != "running", what="the end")
        process.kill()

    assert ended(project, run) == ENDS[text]


def test_a_yes_that_comes_too_late_is_none(project):
    """Nobody had looked since."""
    run = begun(project, LATE)
    wait_for_its_time(project, run)

    terminal = Terminal(project, "reply", run, "yes")
    terminal.end()

    assert "nobody said yes in time" in terminal.seen.replace("\r\n  ", " ")
    assert ended(project, run) == ENDS[LATE]


SHIPPING = """
allow: ["Bash(false)"]
steps: [{id: ship, approval: "Ship it?", exec: ["false"], retries: 1}]
"""


def test_who_has_agreed_is_not_asked_again_when_it_is_tried_again(project):
    run = begun(project, SHIPPING)
    reply(project, run, "yes")
    # By a process of its own: nobody follows the run.
    wait_until(lambda: ended(project, run)[0] == "failed", what="its end")

    project.run("run", "--resume", run)

    now = view(project.bridge.store, run).run
    assert (now["status"], now["why"]) == ("failed", "ship: exit code 1")
    assert now["nodes"]["ship"]["attempt"] == 3
    assert [each["text"] for each in now["said"].values()] == ["yes"]


def test_a_headless_agent_works_in_its_worktree_beside_an_open_session(
    project, host, echo
):
    """The session takes nothing of it."""
    git(project.folder, "init", "-q", "-b", "main")
    git(project.folder, "commit", "-q", "--allow-empty", "-m", "first")
    fake_claude(echo.parent, f'pwd >"$here/pwd"\n{OBEDIENT}')
    text = """
steps:
  - {id: tree, worktree: create, arguments: {name: apart}}
  - id: work
    agent: general-purpose
    prompt: Mend it.
    mode: headless
    worktree: "${{ steps.tree.output.folder }}"
"""
    project.write("workflows/p.yaml", text, own=True)

    ran = project.run("run", "p")

    assert ran.code == 0, ran
    (folder,) = project.state.glob("worktrees/*/apart")
    assert (echo.parent / "pwd").read_text() == f"{folder}\n"
    assert host.claim() == []
