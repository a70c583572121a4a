"""`hostbridge validate --staged` as a git hook, and in a Makefile: as people use it."""

from __future__ import annotations

import subprocess
import sys

import needs
import pytest
from gitworld import git
from validatorworld import APPROVED, REJECTED, Validators, change

pytestmark = pytest.mark.usefixtures("beside")
HOOK = "#!/bin/sh\nexec {} -m bridge validate --staged --with validator-logic\n"


@pytest.fixture
def hooked(project):
    change(project)
    hook = project.folder / ".git" / "hooks" / "pre-commit"
    hook.write_text(HOOK.format(sys.executable))
    hook.chmod(0o755)
    (project.folder / "other.py").write_text("not part of it\n")
    return project


def commit(project, host, *words, **said):
    """Commit as its user does; whether it went through, and who saw what."""
    agents = Validators(project, **said)
    env = project.env | {
        f"GIT_{who}_{what}": "x@x"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    with host.serving(agents):
        done = subprocess.run(
            [needs.tool("git"), "commit", "-m", "price", *words],
            cwd=project.folder, env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
    return done, agents


WAYS = {"staged": (), "-a": ("-a",), "a path": ("shop.py",)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("verdict", [APPROVED, REJECTED], ids=lambda v: v["verdict"])
def test_what_is_about_to_be_committed_is_looked_at(hooked, host, way, verdict):
    """With -a and with paths, git commits what is not in the index."""
    if way == "staged":
        git(hooked.folder, "add", "shop.py")

    done, agents = commit(hooked, host, *WAYS[way], validator_logic=[verdict])

    (shown,) = agents.changes
    assert "+def price(): return 2" in shown
    assert "not part of it" not in shown
    count = len(git(hooked.folder, "log", "--format=%s").splitlines())
    assert count == (2 if verdict is APPROVED else 1), done
    assert (done.returncode == 0) == (verdict is APPROVED)


def test_an_empty_commit_goes_through_and_asks_nobody(hooked, host):
    done, agents = commit(hooked, host, "--allow-empty")

    assert (done.returncode, agents.asked) == (0, []), done
    assert "nothing to validate" in done.stderr + done.stdout


def test_with_no_session_open_an_empty_commit_goes_through(hooked):
    env = hooked.env | {f"GIT_{who}_EMAIL": "x@x" for who in ("AUTHOR", "COMMITTER")}
    env |= {f"GIT_{who}_NAME": "x" for who in ("AUTHOR", "COMMITTER")}
    words = [needs.tool("git"), "commit", "-m", "empty", "--allow-empty"]

    done = subprocess.run(
        words, cwd=hooked.folder, env=env, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done
    assert "nothing to validate" in done.stderr + done.stdout
    assert git(hooked.folder, "log", "--format=%s").startswith("empty")


def test_an_index_elsewhere_is_not_read(hooked, host, tmp_path):
    """An environment could have approved what is not committed."""
    index = tmp_path / "index"
    index.write_bytes((hooked.folder / ".git" / "index").read_bytes())
    hooked.env["GIT_INDEX_FILE"] = str(index)

    with host.serving(Validators(hooked)) as asked:
        ran = hooked.run("validate", "--staged", "--with", "validator-logic")

    assert (ran.code, asked) == (8, []), ran
    assert "is no index of this repository" in ran.out
