"""What a failed run leaves in git: named by `status`, freed by `cancel`."""

import pytest
from coordinatorworld import make_repository
from gitworld import git

pytestmark = pytest.mark.slow

FAILS = """\
name: fails
allow: ["Bash(python3 *)"]
steps:
  - {id: tree, worktree: create, arguments: {name: a}}
  - id: dev
    exec: [python3, -c, "open('new', 'w')"]
    cwd: "${{ steps.tree.output.folder }}"
  - {id: stop, exec: [python3, -c, "1/0"]}
"""


def test_nothing_of_a_failed_run_is_lost_or_left_without_a_word(project):
    make_repository(project.folder)
    project.write("workflows/fails.yaml", FAILS, own=True)
    assert project.run("run", "fails").code == 1
    (run,) = [path.name for path in (project.state / "runs").iterdir()]
    tree, branch = project.state / "worktrees" / run / "a", f"hostbridge/{run}/a"

    seen = " ".join(project.run("status").out.split())
    examined = project.run("doctor").out
    cancelled = project.run("runs", "cancel", run)
    pruned = project.run("prune")

    assert f"worktree of a run that has ended (failed): {tree}, branch {branch}" in seen
    assert f"`hostbridge runs cancel {run}` removes it" in seen
    assert f"{tree}, with its branch {branch}" in examined
    for told in (cancelled.err, pruned.err):
        assert f"kept: {tree} holds new not committed. What to do: look at it:" in told
        assert f"drop it: git worktree remove --force {tree} && git branch -D" in told
    assert (tree / "new").exists()

    (tree / "new").unlink()
    freed = project.run("prune")

    assert f"removed the worktree {tree} and its branch {branch}" in freed.err
    assert freed.out.startswith("removed: worktrees 1, requests 0,")
    assert not tree.exists()
    assert branch not in git(project.folder, "branch", "--format=%(refname:short)")
