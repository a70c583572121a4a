"""Worktrees of a stranger's repository: nothing that it configures is ever run (P8)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from gitworld import Repository
from storeworld import put_odd
from strangers import Archive
from trapworld import Traps

from bridge import worktrees
from bridge.worktrees import WorktreeRefused

pytestmark = pytest.mark.faults

# One whole life of a worktree, in a process of its own, with traps on its path.
LIFE = """
import sys
from pathlib import Path
from bridge import worktrees

app, tree = Path(sys.argv[1]), Path(sys.argv[2])
one = worktrees.create(app, "b", tree)
(tree / "plain.txt").write_text("worktree\\n")
(tree / "run.sh").write_text("worktree\\n")
assert worktrees.commit(one, "m")
assert worktrees.current_branch(app) == "main"
assert isinstance(worktrees.merge(app, "b", "main"), worktrees.Merged)
two = worktrees.create(app, "c", tree.with_name("two"))
(two.folder / "both.x").write_text("theirs\\n")
try:
    worktrees.commit(two, "m")
except worktrees.WorktreeRefused as refused:
    assert "runs no filter" in str(refused), refused
else:
    raise AssertionError("a filtered file was committed")
(two.folder / "both.x").unlink()
(two.folder / "driven").write_text("theirs\\n")
assert worktrees.commit(two, "m")
(app / "driven").write_text("ours\\n")
three = worktrees.create(app, "d", tree.with_name("three"), base="main")
(three.folder / "driven").write_text("ours\\n")
worktrees.commit(three, "m")
(app / "driven").unlink()
assert isinstance(worktrees.merge(app, "d", "main"), worktrees.Merged)
assert isinstance(worktrees.merge(app, "c", "main"), worktrees.Conflict)
for each in (one, two, three):
    worktrees.status(each)
    worktrees.remove(each, discard=True)
print("done")
"""


class Stranger(Traps):
    """A repository in which all that can name a program names one."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.repository = Repository(root / "app")
        repository = self.repository
        repository.write(
            ".gitattributes", "*.x filter=x diff=x\ndriven merge=x\n*.txt diff=x\n"
        )
        repository.write("plain.txt", "one\n")
        repository.write(
            ".gitmodules", '[submodule "sub"]\n\tpath = sub\n\turl = ./x\n'
        )
        repository.commit("theirs")
        repository.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
        repository.git("commit", "-qm", "sub")
        self.arm(repository.folder)
        for name, value in {
            "commit.gpgSign": "true",
            "tag.gpgSign": "true",
            "merge.default": "x",
            "core.logAllRefUpdates": "always",
            "remote.origin.url": f"ext::sh -c '{self.trap('ext')}'",
            "filter.x.required": "true",
            "gc.auto": "1",
            "core.untrackedCache": "true",
        }.items():
            repository.git("config", name, value)
        more = repository.folder / ".git/more"
        more.write_text(f"[core]\n\tfsmonitor = {self.trap('included')}\n")
        repository.git("config", "include.path", "more")


@pytest.fixture
def stranger(tmp_path: Path) -> Stranger:
    return Stranger(tmp_path)


def test_the_traps_are_armed(stranger):
    """Otherwise the next test proves nothing."""
    repository = stranger.repository
    repository.write("new.x", "x")
    repository.write("plain.txt", "two\n")
    for words in (
        ("status",), ("diff",), ("add", "."), ("commit", "-m", "m"),
        ("checkout", "-qb", "z"), ("worktree", "add", "../w"),
    ):  # fmt: skip
        repository.git(*words, ok=False)

    found = set(stranger.ran())

    assert {"included", "hook reference-transaction"} <= found
    assert {"diff.x.command", "hook post-checkout", "hook pre-commit"} <= found
    assert {"filter.x.clean", "filter.x.process"} & found


def test_a_whole_life_runs_nothing_of_it(stranger, tmp_path):
    """Nor git itself, nor a program that lies in the folder."""
    folder, spies = stranger.repository.folder, tmp_path / "path"
    for name in ("git", "ssh", "gpg", "sh", "git-lfs", "less", "vi"):
        for place in (spies, folder):
            stranger.program(place / name, f"started {name}")
    for name in ("pygit2.py", "sitecustomize.py", "json.py"):
        code = f"open({str(stranger.marks / name)!r}, 'w')\n"
        (folder / name).write_text(code)

    done = subprocess.run(
        [sys.executable, "-P", "-c", LIFE, folder, tmp_path / "s" / "run" / "one"],
        cwd=folder,
        env={"PATH": f"{spies}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"
    assert stranger.ran() == []


def test_a_partial_clone_fetches_nothing(tmp_path):
    """To fetch would run the program that its configuration names."""
    archive = Archive(tmp_path)

    with pytest.raises(WorktreeRefused, match="work in a clone without it"):
        worktrees.create(archive.folder, "b", tmp_path / "s" / "r" / "n")

    assert archive.ran() == []


@pytest.mark.parametrize(
    "place",
    [
        ".git/hostbridge", ".git/hostbridge/lock", ".git/worktrees",
        ".git/refs/heads/hostbridge", ".git/logs", ".git/logs/HEAD", ".git/index",
        ".git/config", ".git/objects", ".git/info", ".git/HEAD", ".git/packed-refs",
        ".git/logs/refs", ".git/refs/heads/main",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["link", "dangling", "pipe"])
# The alarm may ring in a destructor, which Python tells; it rings again.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_planted_files_lead_nowhere(tmp_path, monkeypatch, place, kind):
    """What an archive puts in the place of git's files, and of ours in its folder."""
    monkeypatch.setattr("bridge.worktrees.repository.LIMIT_S", 2.0)
    repository = Repository(tmp_path / "app")
    target = tmp_path / "mine"
    target.mkdir()
    (target / "kept").write_text("kept")
    path = repository.folder / place
    if path.is_dir():
        path.rename(target / "was")
    elif path.exists():
        (target / "was").write_bytes(path.read_bytes())
        path.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    put_odd(path, kind, target / "was")
    before = contents(target)

    try:
        one = worktrees.create(
            repository.folder, "hostbridge/r/n", tmp_path / "s" / "r" / "n"
        )
        (one.folder / "new").write_text("x")
        worktrees.commit(one, "m")
        worktrees.merge(repository.folder, one.branch, "main")
        worktrees.remove(one)
    except WorktreeRefused:
        pass

    assert contents(target) == before


def contents(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def test_marks_that_were_planted_remove_nothing_outside(tmp_path):
    """`.git/hostbridge/` may come in an archive, with names that lead out of it."""
    repository = Repository(tmp_path / "app")
    ours = repository.folder / ".git/hostbridge"
    ours.mkdir(mode=0o700)
    mine = tmp_path / "mine.lock"
    mine.write_text("kept")
    inside = repository.folder / ".git/index.lock"
    inside.write_text("somebody's")
    for name in ("..%2F..%2Fmine.lock", "%2Ftmp%2Fx.lock", "x", "index.lock"):
        (ours / f"{name}.mark").write_text("planted")
    os.link(mine, ours / "..%2F..%2F..%2Fmine.lock.mark")

    one = worktrees.create(repository.folder, "b", tmp_path / "s" / "r" / "n")

    assert one.stage == "made"
    assert mine.read_text() == "kept"
    assert inside.read_text() == "somebody's"
