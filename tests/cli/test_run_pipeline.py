"""Runs of pipelines that nobody follows, and what a person says to them."""

import pytest
from fakeclaude import OBEDIENT, fake_claude, printing, result
from gitworld import git
from polling import wait_until
from trustworld import Terminal

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

    terminal = Terminal(project, "approve", run, "yes")
    terminal.end()

    assert "nobody said yes in time" in terminal.seen.replace("\r\n  ", " ")
    assert ended(project, run) == ENDS[LATE]


SHIPPING = """
allow: ["Bash(false)"]
steps: [{id: ship, approval: "Ship it?", exec: ["false"], retries: 1}]
"""


def test_who_has_agreed_is_not_asked_again_when_it_is_tried_again(project):
    run = begun(project, SHIPPING)
    terminal = Terminal(project, "approve", run, "yes")
    assert terminal.end() == 0
    # By a process of its own: nobody follows the run.
    wait_until(lambda: ended(project, run)[0] == "failed", what="its end")

    project.run("run", "--resume", run)

    now = view(project.bridge.store, run).run
    assert (now["status"], now["why"]) == ("failed", "ship: exit code 1")
    assert now["nodes"]["ship"]["attempt"] == 3
    assert [each["text"] for each in now["said"].values()] == ["yes"]


ASKING = printing(
    result(
        structured_output={
            "status": "blocked", "summary": "x", "question": ["Which file?"]
        }
    )
)  # fmt: skip


def test_who_approves_answers_what_an_agent_asks(project, echo):
    """Standalone, from another terminal; it is asked again with that."""
    done = echo.read_text().partition("prompt=")[2]
    fake_claude(
        echo.parent,
        f'if grep -q "the second" "$here/stdin"; then\nprompt={done}exit\nfi\n{ASKING}',
    )
    (project.folder / "p.yaml").write_text("steps: [{id: work, prompt: Mend it.}]")
    with project.start("run", "p.yaml", "--route", "claude") as process:
        bridge = project.bridge

        def asks():
            # A run is marked before it is there.
            runs = [file.parent.name for file in project.state.glob("runs/*/run.json")]
            return runs and [*view(bridge.store, runs[0]).checkpoints()]

        ((run, _node, _asked),) = wait_until(asks, what="the question")
        shown = project.run("runs", "show", run).err
        terminal = Terminal(project, "approve", run, "the second")
        assert terminal.end() == 0
        out, _ = process.communicate()

    assert "Which file?" in shown
    assert out.decode() == "<Mend it.>\n"
    assert "the second" in (echo.parent / "stdin").read_text()


def test_a_headless_agent_works_in_its_worktree_beside_an_open_session(
    project, host, echo
):
    """The session takes nothing of it."""
    git(project.folder, "init", "-q", "-b", "main")
    git(project.folder, "commit", "-q", "--allow-empty", "-m", "first")
    fake_claude(echo.parent, f'pwd >"$here/pwd"\n{OBEDIENT}')
    (project.folder / "p.yaml").write_text("""
steps:
  - {id: tree, worktree: create, arguments: {name: apart}}
  - id: work
    agent: general-purpose
    prompt: Mend it.
    mode: headless
    worktree: "${{ steps.tree.output.folder }}"
""")

    ran = project.run("run", "p.yaml")

    assert ran.code == 0, ran
    (folder,) = project.state.glob("worktrees/*/apart")
    assert (echo.parent / "pwd").read_text() == f"{folder}\n"
    assert host.claim() == []


FAILING = printing(result(structured_output={"status": "failed", "summary": "no luck"}))
BEHIND = """
steps:
  - {id: before, prompt: Look first.}
  - {id: spawn, prompt: Work., background: true}
  - {id: meanwhile, set: {x: 1}}
  - {id: got, wait: spawn}
"""


def test_an_agent_in_the_background_that_failed_is_asked_again(project, echo):
    """`--resume` asks it once more, and nobody else; the display names its step."""
    done = "prompt=" + echo.read_text().partition("prompt=")[2]
    (project.folder / "p.yaml").write_text(BEHIND)
    counting = 'head -n 1 "$here/stdin" >>"$here/asked"\n'
    failing = f'if grep -q "^Work." "$here/stdin"; then\n{FAILING}fi\n'
    fake_claude(echo.parent, counting + failing + done)
    first = project.run("run", "p.yaml", "--route", "claude")
    (file,) = project.state.glob("runs/*/run.json")
    run = file.parent.name
    shown = project.run("runs", "show", run)
    fake_claude(echo.parent, counting + done)

    again = project.run("run", "--resume", run)

    asked = (echo.parent / "asked").read_text().splitlines()
    assert (first.code, again.code, again.out) == (1, 0, "<Work.>\n")
    assert f"hostbridge: run {run} failed: spawn: agent_failed: no luck\n" in first.err
    states = [line.split("\t")[:2] for line in shown.out.splitlines() if "\t" in line]
    assert states[1:] == [
        ["before", "ok"], ["spawn", "failed"], ["meanwhile", "ok"], ["got", "cancelled"]
    ]  # fmt: skip
    assert asked == ["Look first.", "Work.", "Work."]
