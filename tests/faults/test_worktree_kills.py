"""Worktrees: killed at every step, two at once, a full disk; then again, and whole.

Killed at each system call that changes anything, of which the end is the last: between
two of those nothing differs.
"""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from faultlab import in_turn, scratch, tell
from gitworld import Repository
from systemcalls import changes, run_broken, system_calls, together
from thoroughness import sampled

from bridge import worktrees
from bridge.worktrees import Conflict, Merged, WorktreeRefused
from bridge.worktrees.repository import loaded

pytestmark = pytest.mark.faults

BRANCH = "hostbridge/run1/dev"
ERRORS = ("ENOSPC", "EIO", "EACCES")


class World:
    """A repository, a state, and what is done in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.app = folder / "app"
        self.tree = worktrees.folder_of(folder / "state", "run1", "dev")

    @property
    def repository(self) -> Repository:
        return Repository(self.app, is_empty=True)

    def create(self) -> worktrees.Worktree:
        return worktrees.create(self.app, BRANCH, self.tree)

    def found(self) -> worktrees.Worktree:
        return worktrees.find(self.tree)

    def commit(self) -> str | None:
        return worktrees.commit(self.found(), "work")

    def merge(self) -> Merged | Conflict:
        return worktrees.merge(self.app, BRANCH, "main")

    def remove(self) -> None:
        made = worktrees.find(self.tree)
        if made is not None:
            worktrees.remove(made)


def begun(world: World) -> None:
    Repository(world.app)


def created(world: World) -> None:
    begun(world)
    world.create()
    repository = world.repository
    repository.write("a", "one\ntwo\nTHREE\n", cwd=world.tree)
    repository.write("deep/er/new", "new\n", cwd=world.tree)
    (world.tree / "folder/b").unlink()


def committed(world: World) -> None:
    created(world)
    world.commit()
    repository = world.repository
    repository.write("a", "ONE\ntwo\nthree\n")
    repository.commit("ours")
    repository.write("loose", "mine\n")


def merged(world: World) -> None:
    committed(world)
    world.repository.git("pack-refs", "--all")
    world.merge()


CASES = {
    "create": (begun, World.create),
    "commit": (created, World.commit),
    "merge": (committed, World.merge),
    "remove": (merged, World.remove),
}


def whole(world: World) -> dict[str, object]:
    """What must be the same after every way to the end."""
    repository = world.repository
    assert not repository.git("fsck", "--no-dangling", "--no-reflogs").strip()
    locks = [
        str(path)
        for path in world.folder.rglob("*")
        if path.suffix in (".lock", ".mark") or ".tmp" in path.name
    ]
    assert [one for one in locks if "/objects/" not in one] == []
    has_tree = world.tree.exists()
    return {
        "main": repository.git("ls-tree", "-r", "main"),
        "branch": repository.git("ls-tree", "-r", BRANCH, ok=False),
        "history": repository.git("log", "--all", "--format=%s", "--topo-order"),
        "status": repository.status(),
        "worktrees": repository.git("worktree", "list").count("\n"),
        "inside": repository.status(cwd=world.tree) if has_tree else None,
        "record": worktrees.find(world.tree),
        "files": sorted(
            str(path.relative_to(world.app))
            for path in world.app.rglob("*")
            if ".git" not in path.relative_to(world.app).parts
        ),
    }


@pytest.fixture
def copies():
    """Makes a state once, and copies of it at the same place."""
    home = scratch()
    loaded()

    def prepare(make):
        place = home / "case"
        make(World(place))
        place.rename(home / "prepared")

        def fresh():
            if place.exists():
                shutil.rmtree(place)
            shutil.copytree(home / "prepared", place, symlinks=True)
            return World(place)

        return fresh

    yield prepare
    shutil.rmtree(home)


def unbroken(fresh: Callable[[], World], act: Callable) -> dict[str, object]:
    """What it comes to with nothing broken."""
    world = fresh()
    act(world)
    return whole(world)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_kill_at_any_system_call_and_the_same_again(name, copies):
    make, act = CASES[name]
    fresh = copies(make)
    wanted, world = unbroken(fresh, act), fresh()
    points = sampled(changes(lambda: act(world)))
    for call, number in points:
        world = fresh()
        fault = f"inject={call}:signal=KILL:when={number}"
        run_broken(lambda: act(world), "-e", fault)  # noqa: B023
        again = act(world)
        assert whole(world) == wanted, (fault, again)
        if name == "merge":
            assert isinstance(again, Merged)
    tell(f"worktrees, {name}: {len(points)} kill points")


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_an_error_of_the_disk_is_named_and_the_same_again_works(name, copies):
    """Every write, and every new name, fails once; the errors take turns."""
    make, act = CASES[name]
    fresh = copies(make)
    wanted, world = unbroken(fresh, act), fresh()
    calls = system_calls(lambda: act(world))
    failing = {"write", "mkdir", "rename", "link", "linkat", "fsync", "mkdirat"}
    faults = [
        f"inject={call}:error={error}:when={number}"
        for call in sorted(failing & calls.keys())
        for error, number in in_turn(ERRORS, range(1, calls[call] + 1))
    ]
    for fault in sampled(faults):
        world = fresh()
        outcome = run_broken(lambda: act(world), "-e", fault)  # noqa: B023
        assert outcome.status == "returned" or outcome.is_ours, outcome.message
        act(world)
        assert whole(world) == wanted, (fault, outcome)


def live(app: Path, state: Path, name: str) -> None:
    for number in range(4):
        branch, folder = f"b/{name}{number}", f"{name}{number}"
        one = worktrees.create(app, branch, worktrees.folder_of(state, "run", folder))
        (one.folder / f"{name}{number}").write_text(name)
        worktrees.commit(one, "work")
        assert isinstance(worktrees.merge(app, one.branch, "main"), Merged)
        worktrees.remove(one)


def test_processes_side_by_side(tmp_path):
    """Each makes, commits, merges and removes its own; git commits in between."""
    repository = Repository(tmp_path / "app")

    ended = together(
        partial(live, repository.folder, tmp_path / "s", name) for name in "xyz"
    )

    assert [each.message for each in ended] == ["", "", ""]
    assert [each.status for each in ended] == ["returned"] * 3
    assert sorted(repository.files("main")) == sorted(
        [".gitignore", "a", "folder/b", "link"]
        + [f"{name}{number}" for name in "xyz" for number in range(4)]
    )
    assert repository.status() == []
    assert repository.git("branch").split() == ["*", "main"]
    assert not repository.git("fsck", "--no-dangling").strip()


def test_two_make_the_same_worktree_at_once(tmp_path):
    """Two lookers at one run: both get it."""
    repository = Repository(tmp_path / "app")

    make = partial(worktrees.create, repository.folder, "b", tmp_path / "s/w")
    first, *others = (each.value for each in together([make] * 4))

    assert others == [first] * 3
    assert first.stage == "made"
    assert repository.git("worktree", "list").count("\n") == 2


def test_error_a_small_disk_is_full(tmp_path):
    """Named, and done once there is room."""
    world = World(tmp_path)
    begun(world)

    full = "inject=write,pwrite64:error=ENOSPC:when=3+"
    outcome = run_broken(world.create, "-e", full)

    assert (outcome.status, outcome.is_ours) == ("raised", True)
    assert "No space left on device" in outcome.message
    assert world.create().stage == "made"


@pytest.mark.parametrize("newer", ['"schemaVersion": 2', '"isSecret": true'])
def test_error_a_newer_record_is_not_touched(tmp_path, newer):
    world = World(tmp_path)
    begun(world)
    world.create()
    record = world.tree.with_name("dev.json")
    newer = record.read_text().replace('"schemaVersion": 1', newer)
    record.write_text(newer.replace("{", '{"schemaVersion": 1, ', 1))
    newer = record.read_text()

    for act in (world.create, world.remove):
        with pytest.raises(Exception, match="update hostbridge"):
            act()

    assert record.read_text() == newer
    assert world.tree.exists()


@pytest.mark.parametrize("data", ["", "{", "[]", '{"schemaVersion": 1}', "null"])
def test_error_a_record_that_cannot_be_read(tmp_path, data):
    world = World(tmp_path)
    begun(world)
    world.create()
    world.tree.with_name("dev.json").write_text(data)

    with pytest.raises(WorktreeRefused, match="is no record of a worktree"):
        world.create()
    assert (world.tree / "a").exists()
