"""What asks and waits, in the Bash tool of the only session: it does not wait."""

import os
import sys

import needs
import pytest
from gitworld import ENV, git
from validatorworld import APPROVED, Validators, change

from bridge.engine.view import view

# No session is open but the one that this process plays, which never answers here.
pytestmark = [pytest.mark.usefixtures("host"), pytest.mark.slow]
ASKING = {
    "ask": ("ask", "Anybody?"),
    "ask --cached": ("ask", "--cached", "Anybody?"),
    "ask --watch": ("ask", "--watch", "Anybody?"),
    "flow design": ("flow", "design", "Look around"),
}
RUNNING = {
    "validate": ("validate", "--with", "validator-logic"),
    "validate --together": (
        "validate", "--together", "--with", "validator-logic,validator-security",
    ),
    "build": ("build", "A price of two"),
    "run": ("run", "-"),
}  # fmt: skip
HERE = "this runs inside the only open session, which answers when its turn comes"


@pytest.fixture
def inside(project):
    """Runs a command as the Bash tool of the open session does."""
    change(project)

    def run(*words):
        env = {"CLAUDE_PID": str(os.getpid())}
        return project.run(*words, env=env, stdin=b'Explore:"Look"\n')

    return run


@pytest.mark.parametrize("way", ASKING)
def test_a_question_is_submitted_and_not_waited_for(project, inside, way):
    """The session would answer only after the call for which it waits."""
    ran = inside(*ASKING[way])

    asked = ran.out.strip()
    assert ran.code == 6, ran
    assert ran.err == (
        f"hostbridge: submitted {asked}; {HERE}. Read the answer with: "
        f"hostbridge show {asked}\n"
    )
    assert project.bridge.status(asked).status == "pending"


@pytest.mark.parametrize("way", RUNNING)
def test_a_run_is_begun_and_not_waited_for(project, inside, way):
    """Its first step may take long, and asks nobody yet: that is done here."""
    ran = inside(*RUNNING[way])

    begun = ran.out.strip()
    assert ran.code == 6, ran
    assert ran.err.splitlines()[-1] == (
        f"hostbridge: begun {begun}; {HERE}. See what came of it with: "
        f"hostbridge runs show {begun}"
    )
    seen = view(project.bridge.store, begun)
    assert seen.run["status"] == "running"
    assert list(seen.open_requests())


def test_a_run_that_goes_on_is_not_waited_for_either(inside):
    begun = inside(*RUNNING["validate"]).out.strip()

    ran = inside("run", "--resume", begun)

    assert (ran.code, ran.out.strip()) == (6, begun), ran


def test_a_look_at_a_task_is_begun_and_not_waited_for(project, inside):
    project.bridge.tasks.create("It greets", validation_criteria="greet.py is there")

    ran = inside("task", "validate", "#1")

    asked = ran.out.strip()
    assert ran.code == 6, ran
    assert ran.err == (
        f"hostbridge: submitted {asked}; {HERE}. Read the verdict with: "
        "hostbridge task validate '#1'\n"
    )


def test_a_program_is_told_in_json_what_goes_on(inside):
    ran = inside(*RUNNING["validate"], "--json")

    assert (ran.code, ran.json["error"]["code"]) == (6, "cannot_wait"), ran
    assert ran.json["requestId"] in ran.err


def test_the_verdict_is_there_later(project, host, inside):
    """The session has answered after its turn: what went on needed nobody."""
    begun = inside(*RUNNING["validate"]).out.strip()
    with host.serving(Validators(project, validator_logic=[APPROVED])):
        ran = project.run("run", "--resume", begun)

    shown = project.run("runs", "show", begun)
    assert (ran.code, ran.out.partition(":")[0]) == (0, "approved"), ran
    assert "validator-logic: approved" in shown.out, shown


def test_a_commit_that_was_not_made_is_left_to_the_user(project):
    """A model tried it again, with a new run each time, or went around the hook."""
    change(project)
    hook = project.folder / ".git" / "hooks" / "pre-commit"
    look = "validate --staged --with validator-logic"
    hook.write_text(f"#!/bin/sh\nexec {sys.executable} -m bridge {look}\n")
    hook.chmod(0o755)
    git(project.folder, "add", "shop.py")
    before = git(project.folder, "log", "--format=%s")

    inside = project.env | ENV | {"CLAUDE_PID": str(os.getpid())}
    done = project.program(needs.tool("git"), "commit", "-m", "price", env=inside)

    said = done.err.splitlines()[-1]
    begun = said.rpartition(" ")[2]
    assert said == (
        f"hostbridge: begun {begun}; {HERE}. Nothing was committed, and another try "
        "here would end the same way: ask the user to commit in a terminal of their "
        f"own. See what came of it with: hostbridge runs show {begun}"
    )
    assert done.code != 0
    assert git(project.folder, "log", "--format=%s") == before
