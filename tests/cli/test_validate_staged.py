"""`validate --staged` where the files of the project are not what is staged."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import forkserver
import needs
import pytest
from fakeclaude import fake_claude, printing, result, trust_folder
from gitworld import ENV, git
from validatorworld import APPROVED, ISSUE, REJECTED, Validators, change

from bridge.doctor import state
from bridge.doctor.subject import subject

pytestmark = [pytest.mark.usefixtures("beside"), pytest.mark.slow]
ONE = ("validate", "--staged", "--with", "runs-tests")
DEFINITION = """\
name: runs-tests
description: Runs the tests of the project.
prompt: Run them.
tools: [Bash, Read]
context: [change]
allow: ["Bash(python *)"]
output_schema:
  type: object
  required: [verdict, summary, checks]
  properties:
    verdict: {enum: [APPROVED, REJECTED, NEEDS_REVIEW]}
    summary: {type: string}
    checks: {type: array, items: {type: object}}
"""
STAGED, FILES = "def price(): return 2\n", "def price(): return 3\n"
# They pass with what is staged, and with nothing else.
TESTS = "import os, shop\nassert shop.price() == 2 and not os.path.exists('other.py')\n"


class RunsTests(Validators):
    """A validator that runs the project's tests in the folder that it was given.

    It names an issue by the path of that folder.
    """

    def __init__(self, project, then=lambda _project, _folder: None):
        super().__init__(project)
        self.then = then
        self.folders = []

    def __call__(self, request):
        super().__call__(request)
        folder = Path(request.folder or self.project.folder)
        self.folders.append(folder)
        command = [sys.executable, "-B", "check.py"]
        ran = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        self.then(self.project, folder)
        issue = {**ISSUE, "file": f"{folder}/shop.py"}
        rejected = {**REJECTED, "issues": [issue]}
        return json.dumps(rejected if ran.returncode else APPROVED)


@pytest.fixture
def shop(project):
    """A repository with tests, whose files are not what is staged."""
    change(project)
    project.write("agents/runs-tests.yaml", DEFINITION, own=True)
    project.write("check.py", TESTS)
    git(project.folder, "add", "check.py")
    git(project.folder, "commit", "-qm", "Tests")
    return project


@pytest.fixture
def hooked(shop):
    """The same, with a hook that looks before each commit."""
    hook = shop.folder / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\nexec {shlex.join(forkserver.command(*ONE))}\n")
    hook.chmod(0o755)
    return shop


def partly_staged(project):
    (project.folder / "shop.py").write_text(STAGED)
    git(project.folder, "add", "shop.py")
    (project.folder / "shop.py").write_text(FILES)
    (project.folder / "other.py").write_text("not part of it\n")


def validated(project, host, *words, **more):
    agents = RunsTests(project, **more)
    with host.serving(agents):
        return project.run(*ONE, *words), agents


def left(project):
    """What is left of checkouts, in the state and in the repository."""
    entries = project.folder / ".git/worktrees"
    return [
        *(project.state / "worktrees").glob("*/*"),
        *(entries.iterdir() if entries.exists() else ()),
    ]


def test_commands_see_what_is_staged_and_nothing_else(shop, host):
    """The tests would fail with the files as they are, and with what is beside."""
    partly_staged(shop)

    ran, agents = validated(shop, host, "--json")

    (folder,) = agents.folders
    assert (ran.code, ran.json["verdict"]) == (0, "APPROVED"), ran
    assert folder.is_relative_to(shop.state)
    assert "+def price(): return 2" in agents.changes[0]
    note = "in a checkout of what is staged, without files that git ignores"
    assert ran.json["notes"] == [f"runs-tests: ran commands {note}"]
    assert left(shop) == []
    assert (shop.folder / "shop.py").read_text() == FILES
    assert git(shop.folder, "status", "--porcelain") == "MM shop.py\n?? other.py\n"


def test_where_the_files_are_what_is_staged_commands_run_in_the_project(shop, host):
    """What git ignores is there, such as what the tests depend on."""
    (shop.folder / "shop.py").write_text(STAGED)
    git(shop.folder, "add", "shop.py")

    ran, agents = validated(shop, host)

    assert (ran.code, agents.folders) == (0, [shop.folder]), ran


def test_issues_are_at_files_of_the_project(shop, host):
    """Their validator may name them as it has opened them."""
    partly_staged(shop)
    (shop.folder / "check.py").write_text("raise SystemExit(1)\n")
    git(shop.folder, "add", "check.py")

    ran, agents = validated(shop, host)

    assert agents.folders[0].name == "staged"
    ran.tells(1, "\nshop.py:1: error: a price of 1 [runs-tests]\n")


def stages_more(project, _folder):
    (project.folder / "late.py").write_text("late\n")
    git(project.folder, "add", "late.py")


def commits(project, _folder):
    git(project.folder, "commit", "-qm", "meanwhile", "--no-verify")


def writes_there(_project, folder):
    (folder / "shop.py").write_text(FILES)


@pytest.mark.parametrize(
    ("then", "what"),
    [
        (stages_more, "what is staged"),
        (commits, "what is staged"),
        (writes_there, "shop.py"),
    ],
)
def test_what_was_looked_at_is_what_is_staged_or_it_is_not_approved(
    shop, host, then, what
):
    """A validator, or its user meanwhile, changes the one or the other."""
    partly_staged(shop)

    ran, _ = validated(shop, host, "--json", then=then)

    why = f"the files have changed while they were looked at: {what}"
    assert (ran.code, ran.json["reasons"]) == (8, [why]), ran
    assert left(shop) == []


def test_what_cannot_be_checked_out_is_not_approved_and_says_why(shop, host):
    partly_staged(shop)
    # What libgit2 does not read.
    git(shop.folder, "update-index", "--split-index")

    ran, agents = validated(shop, host, "--json")

    assert (ran.code, agents.folders) == (8, []), ran
    (report,) = ran.json["reports"]
    assert "(what is staged), and it could not be checked out: " in report["summary"]
    assert left(shop) == []


# A commit


def commit(project, host, *words):
    """Commit as its user does; whether it went through, and who saw what."""
    agents = RunsTests(project)
    with host.serving(agents):
        return committed(project, *words), agents


def committed(project, *words):
    git = needs.tool("git")
    return project.program(git, "commit", "-m", "price", *words, env=project.env | ENV)


def by_index(project):
    partly_staged(project)
    return ()


def by_path(project):
    """What is staged beside it is not committed, and would fail."""
    (project.folder / "check.py").write_text("raise SystemExit(1)\n")
    git(project.folder, "add", "check.py")
    (project.folder / "shop.py").write_text(STAGED)
    return ("shop.py",)


def all_of_it(project):
    """The hook has another file that git knows, but the disk does not have it so."""
    (project.folder / "shop.py").write_text(STAGED)
    git(project.folder, "update-index", "--assume-unchanged", "check.py")
    (project.folder / "check.py").write_text("raise SystemExit(1)\n")
    return ("-a",)


def amending(project):
    """What differs from the last commit is shown: a hook knows of no more."""
    partly_staged(project)
    return ("--amend",)


def merging(project):
    """All that the merge brings."""
    git(project.folder, "switch", "-qc", "side")
    (project.folder / "shop.py").write_text(STAGED)
    git(project.folder, "commit", "-qam", "side", "--no-verify")
    git(project.folder, "switch", "-q", "main")
    (project.folder / "main.py").write_text("main\n")
    git(project.folder, "add", "main.py")
    git(project.folder, "commit", "-qm", "main", "--no-verify")
    git(project.folder, "merge", "-q", "--no-commit", "side")
    (project.folder / "shop.py").write_text(FILES)
    return ()


def the_first(project):
    git(project.folder, "update-ref", "-d", "HEAD")
    return by_index(project)


def in_a_linked_worktree(project):
    mine = project.folder.with_name("mine")
    git(project.folder, "worktree", "add", "-q", "-b", "mine", str(mine))
    project.folder = mine
    return by_index(project)


WAYS = [
    by_index, by_path, all_of_it, amending, merging, the_first, in_a_linked_worktree
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_commit_is_approved_by_tests_of_what_it_commits(hooked, host, way):
    """However the files are, and whatever index git has its hooks look at."""
    words = way(hooked)

    done, agents = commit(hooked, host, *words)

    assert done.code == 0, done
    assert len(agents.folders) == 1
    assert "+def price(): return 2" in agents.changes[0]
    assert git(hooked.folder, "show", "HEAD:shop.py") == STAGED
    assert git(hooked.folder, "fsck").strip() == ""
    assert left(hooked) == []


@pytest.mark.parametrize("words", [(), ("-a",), ("shop.py",)], ids=str)
def test_what_is_rejected_is_not_committed(hooked, host, words):
    """With -a and with paths, git commits what is not in the index."""
    (hooked.folder / "shop.py").write_text(FILES)
    if not words:
        git(hooked.folder, "add", "shop.py")
    before = git(hooked.folder, "rev-parse", "HEAD")

    done, agents = commit(hooked, host, *words)

    assert done.code != 0
    assert "+def price(): return 3" in agents.changes[0]
    assert git(hooked.folder, "rev-parse", "HEAD") == before


def test_an_empty_commit_goes_through_and_asks_nobody(hooked):
    done = committed(hooked, "--allow-empty")

    assert done.code == 0, done
    assert "nothing to validate" in done.err + done.out


def test_an_agents_git_is_that_of_its_folder(hooked, tmp_path):
    """What git sets for its hooks names the index of the commit that goes on."""
    program = fake_claude(
        tmp_path / "bin",
        'git rev-parse --absolute-git-dir >"$here/git"\n'
        'env | grep -e ^GIT_INDEX -e ^GIT_DIR -e ^GIT_PREFIX >"$here/set"\n'
        f"{printing(result(structured_output=APPROVED))}",
    )
    hooked.env["BRIDGE_CLAUDE"] = str(program)
    trust_folder(tmp_path / "home", hooked.folder)
    hook = hooked.folder / ".git/hooks/pre-commit"
    hook.write_text(hook.read_text().replace("--with", "--route claude --with"))
    partly_staged(hooked)

    done = committed(hooked)

    assert done.code == 0, done
    entry = (tmp_path / "bin/git").read_text()
    assert entry.startswith(f"{hooked.folder}/.git/worktrees/hostbridge-")
    assert (tmp_path / "bin/set").read_text() == ""


# After a kill


@pytest.fixture
def killed(shop, host, until):
    """The run of a `validate` that was killed while its validator worked."""
    partly_staged(shop)
    process = shop.start(*ONE)
    (request,) = until(host.claim)
    process.kill()
    process.communicate()
    assert Path(request.folder).is_dir()
    return request


def test_a_run_goes_on_in_its_checkout_after_a_kill(shop, host, killed):
    agents = RunsTests(shop)
    host.answer(killed, agents(killed))

    ran = shop.run("run", "--resume", killed.request_id.partition("-")[0])

    assert (ran.code, ran.out.partition(":")[0]) == (0, "approved"), ran
    assert left(shop) == []


def doctor(project):
    seen = subject(project.env, project.folder)
    return [each.found for each in state.checkouts(seen)]


@pytest.mark.parametrize("words", [("prune",), ("validate", "--with", "runs-tests")])
def test_what_a_cancelled_run_has_left_is_swept(shop, killed, words):
    assert doctor(shop) == []
    shop.run("runs", "cancel", killed.request_id.partition("-")[0])
    told = f"left of `hostbridge validate --staged`: {killed.folder}"
    assert doctor(shop) == [told]
    git(shop.folder, "clean", "-fq")
    git(shop.folder, "reset", "-q", "--hard")

    ran = shop.run(*words)

    assert ran.code == 0, ran
    assert left(shop) == []


def test_a_killed_run_is_swept_once_its_time_is_over(shop, killed, tmp_path):
    """Until then it may go on; nobody has to cancel it."""
    shop.run("prune")
    assert Path(killed.folder).is_dir()
    ahead = tmp_path / "ahead"
    ahead.write_text("86400")

    shop.run("prune", ahead=ahead)

    assert left(shop) == []
