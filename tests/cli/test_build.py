"""`hostbridge build`: built, looked at, mended, escalated, as a person uses it."""

import json
import subprocess

import pytest
from coordinatorworld import make_repository
from fakeclaude import fake_claude, trust_folder
from gitworld import git
from screens import on_terminal
from validatorworld import APPROVED, REJECTED, UNDECIDED, Validators

pytestmark = [pytest.mark.usefixtures("beside"), pytest.mark.slow]
ONE = ("--with", "validator-logic")
TASK = "A price of two"


@pytest.fixture
def shop(project):
    make_repository(project.folder)
    return project


def build(project, host, *words, **said):
    agents = Validators(project, **said)
    with host.serving(agents):
        return project.run("build", TASK, *ONE, *words), agents


def test_what_is_approved_at_once_is_built_once(shop, host):
    ran, agents = build(shop, host)

    assert ran.code == 0, ran
    head, *lines = ran.out.splitlines()
    assert head == "approved by all validators, 1 round"
    assert "built: built" in lines
    assert agents.asked == ["developer", "validator-logic"]


def in_shell(shop, line):
    subprocess.run(["sh", "-c", line], check=True, cwd=shop.folder)


@pytest.mark.parametrize("verdict", [APPROVED, REJECTED], ids=lambda v: v["verdict"])
def test_the_worktree_can_be_removed_as_it_says(shop, host, verdict):
    words = ("--worktree", "--rounds", "1", "--escalate-to", "none")
    ran, _ = build(shop, host, *words, validator_logic=[verdict])

    *_, merge, remove = ran.out.splitlines()
    if verdict is APPROVED:
        in_shell(shop, merge.split(": ")[1])
    in_shell(shop, remove.split(": ")[1])
    assert len(git(shop.folder, "worktree", "list").splitlines()) == 1
    assert git(shop.folder, "branch", "--list", "hostbridge/*") == ""


@pytest.mark.parametrize("way", [("run", "--resume"), ("reply",)], ids="-".join)
def test_a_run_that_has_ended_says_where_to_look(shop, host, way):
    build(shop, host)
    run = shop.run("runs", "--json").json["run"]

    ran = shop.run(*way, run)

    wanted = f"  what to do: see it: hostbridge runs show {run}"
    assert (ran.code, ran.err.splitlines()[-1]) == (2, wanted)


def test_its_time_is_over_and_its_run_says_how_it_goes_on(shop):
    late = shop.run("build", TASK, *ONE, "--timeout", "1s")
    run = shop.run("runs", "--json").json["run"]

    ran = shop.run("reply", run)

    assert (late.code, "(--timeout)" in late.err) == (5, True), late
    assert f"go on where it stopped: hostbridge run --resume {run}" in ran.err


def test_escalated_to_nobody_it_ends_rejected(shop, host):
    words = ("--rounds", "2", "--escalate-to", "none")

    ran, agents = build(shop, host, *words, validator_logic=[REJECTED])

    assert ran.code == 1
    assert ran.out.startswith("not approved, 2 rounds\n")
    # The run is completed, whatever the validators said.
    assert shop.run("runs", "show").out.endswith(f"\n\n{ran.out}")
    assert agents.asked.count("developer") == 2


def test_what_is_left_becomes_a_task(shop, host):
    words = ("--rounds", "1", "--escalate-to", "coordinator", "--json")

    ran, _ = build(shop, host, *words, validator_logic=[UNDECIDED])

    assert (ran.code, ran.json["task"]) == (8, "#1")
    assert "a price" in shop.run("task", "show", "1").out.casefold()


def waiting_for_its_user(shop, host, until, agents):
    """A build that waits for a person, its run, and what it says at its end."""
    process = shop.start("build", TASK, *ONE, "--rounds", "1")
    with host.serving(agents):
        until(lambda: "waits for you" in shop.run("runs", "show").err)
        run = shop.run("runs", "--json").json["run"]
        yield run
        out, err = process.communicate(timeout=300)
    yield process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize(
    ("said", "code", "head"),
    [
        (("yes",), 0, "approved by its user, 1 round"),
        (("no",), 1, "not approved, 1 round"),
        (("write", "2.0"), 0, "approved by all validators, 2 rounds"),
    ],
    ids=["yes", "no", "advice"],
)
def test_a_person_decides_in_the_end(shop, host, until, said, code, head):
    agents = Validators(shop, validator_logic=[REJECTED, APPROVED])
    going = waiting_for_its_user(shop, host, until, agents)
    run = next(going)

    asked = shop.run("runs", "show", run).err
    assert "shop.py:1: error: a price of 1 [validator-logic]" in asked
    assert shop.run("reply", run, *said).code == 0
    ended, out, err = next(going)

    assert (ended, out.splitlines()[0]) == (code, head), err
    if said == ("write", "2.0"):
        assert "write 2.0" in agents.prompts_of("developer")[-1]


def test_a_budget_pauses_it_and_resume_goes_on(shop, host):
    ran, agents = build(shop, host, "--max-agents", "1")
    assert (ran.code, "--max-agents" in ran.err) == (8, True), ran
    run = ran.err.split("run --resume ")[1].split()[0]

    with host.serving(agents):
        again = shop.run("run", "--resume", run, "--max-agents", "9")

    assert again.code == 0, again
    assert again.out.startswith("approved by all validators, 1 round\n")
    assert agents.asked == ["developer", "validator-logic"]


def test_its_time_is_over_while_claude_builds(shop, tmp_path):
    """The request of the builder ends at that moment, too: the run says why."""
    program = fake_claude(tmp_path / "slow", "exec sleep 60")
    shop.env["BRIDGE_CLAUDE"] = str(program)
    trust_folder(tmp_path / "home", shop.folder)

    ran = shop.run("build", TASK, *ONE, "--route", "claude", "--timeout", "4s")

    assert ran.code == 5, ran
    assert "its time is over (--timeout)" in ran.err
    assert "--timeout MORE" in ran.err


def test_on_a_terminal_one_sees_what_runs(shop, host):
    with host.serving(Validators(shop)):
        shown = on_terminal(shop, "build", TASK, *ONE, columns=100)

    for line in ("developer: build", "read the change", "the verdict of all"):
        assert line in shown
    assert "${{" not in shown


def test_error_nothing_is_to_be_built(shop):
    shop.run("build", "  ").fails(2, "build: say what is to be built")
    assert shop.run("build", TASK, "--rounds", "99").code == 2
    assert json.loads(shop.run("runs", "--json").out or "[]") == []
