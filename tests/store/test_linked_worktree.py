"""A linked worktree shares its main one's state."""

import os
import subprocess
from pathlib import Path

import pytest

from bridge.config import Settings
from bridge.errors import StateRefused
from bridge.store.linked_worktree import worktrees_of
from bridge.store.location import find_owner, locate


def link(tree: Path, main: Path, name: str = "n", *, back: str | None = None) -> None:
    """What Git writes for a linked worktree; `back` is what the main one says of it."""
    entry = main / ".git/worktrees" / name
    entry.mkdir(parents=True, exist_ok=True)
    tree.mkdir(parents=True, exist_ok=True)
    (tree / ".git").write_text(f"gitdir: {entry}\n")
    (entry / "gitdir").write_text(f"{tree}/.git\n" if back is None else back)


ENTRY = "{main}/.git/worktrees/n"
# What the file of the worktree says, and what the main one says of it.
WORDS_THAT_SHARE = {
    "linked": (f"gitdir: {ENTRY}\n", "{tree}/.git\n"),
    "relative": ("gitdir: ../main/.git/worktrees/n\n", "../../../../tree/.git\n"),
    "no newline": (f"gitdir: {ENTRY}", "{tree}/.git"),
    "dots": ("gitdir: {tree}/../main/.git/worktrees/n\n", "{tree}/.git\n"),
}
WORDS_ALONE = {
    "forged": (f"gitdir: {ENTRY}\n", "{base}/other/.git\n"),
    "a folder above": (f"gitdir: {ENTRY}\n", "{base}/.git\n"),
    "no git": (f"gitdir: {ENTRY}\n", "{tree}\n"),
    "second line": (f"x\ngitdir: {ENTRY}\n", "{tree}/.git\n"),
    "climbs out": ("gitdir: {main}/.git/worktrees/../worktrees/n\n", "{tree}/.git\n"),
    "empty": ("", "{tree}/.git\n"),
    "too long": (f"gitdir: {'/.' * 2100}{ENTRY}\n", "{tree}/.git\n"),
}


def through_a_link(main: Path, tree: Path) -> None:
    (main.parent / "way").symlink_to(main.parent)
    link(tree, main.parent / "way/main", back=f"{main.parent}/way/tree/.git\n")


def in_an_odd_folder(main: Path, tree: Path) -> None:
    link(tree, main, name="a b*$x'\"\\")


def within_its_main(main: Path, tree: Path) -> None:
    link(main / ".claude/worktrees/w", main, name="w")
    tree.rmdir()
    tree.symlink_to(main / ".claude/worktrees/w")


def unknown(main: Path, tree: Path) -> None:
    (tree / ".git").write_text(f"gitdir: {main}/.git/worktrees/n\n")


def climbs_up(main: Path, tree: Path) -> None:
    link(tree, main)
    (main / ".git/gitdir").write_text(f"{tree}/.git\n")
    (tree / ".git").write_text(f"gitdir: {main}/.git/worktrees/..\n")


def submodule(main: Path, tree: Path) -> None:
    (main / ".git/modules/sub").mkdir(parents=True)
    (main / ".git/modules/sub/gitdir").write_text(f"{tree}/.git\n")
    (tree / ".git").write_text(f"gitdir: {main}/.git/modules/sub\n")


def a_link_for_a_file(main: Path, tree: Path) -> None:
    link(tree, main)
    (tree / ".git").rename(tree / "real")
    (tree / ".git").symlink_to("real")


def a_link_back(main: Path, tree: Path) -> None:
    link(tree, main)
    back = main / ".git/worktrees/n/gitdir"
    back.rename(back.with_name("real"))
    back.symlink_to("real")


def a_device(main: Path, tree: Path) -> None:
    link(tree, main)
    (main / ".git/worktrees/n/gitdir").unlink()
    (main / ".git/worktrees/n/gitdir").symlink_to("/dev/zero")


def a_pipe(_main: Path, tree: Path) -> None:
    os.mkfifo(tree / ".git")


def a_pipe_back(main: Path, tree: Path) -> None:
    link(tree, main)
    (main / ".git/worktrees/n/gitdir").unlink()
    os.mkfifo(main / ".git/worktrees/n/gitdir")


# Of `tree`, whether it shares the state of `main`.
SHARES = (*WORDS_THAT_SHARE, through_a_link, in_an_odd_folder, within_its_main)
IS_ITS_OWN = (
    *WORDS_ALONE, unknown, climbs_up, submodule, a_link_for_a_file, a_link_back,
    a_device, a_pipe, a_pipe_back,
)  # fmt: skip


def name_of(case: object) -> str:
    return str(getattr(case, "__name__", case))


@pytest.fixture
def main(tmp_path):
    """The main worktree; beside it, `tree` is a folder."""
    folder = Path(os.path.realpath(tmp_path)) / "main"
    (folder / ".git").mkdir(parents=True)
    folder.with_name("tree").mkdir()
    return folder


def make(case: object, main: Path, tree: Path) -> None:
    if callable(case):
        case(main, tree)
        return
    names = {"main": main, "tree": tree, "base": main.parent}
    file, back = (WORDS_THAT_SHARE | WORDS_ALONE)[case]
    link(tree, main, back=back.format(**names))
    (tree / ".git").write_text(file.format(**names))


@pytest.mark.parametrize("case", [*SHARES, *IS_ITS_OWN], ids=name_of)
def test_whose_state_a_worktree_has(main, case):
    """Asker and session look into one state, and a forged file joins no other's."""
    tree, home = main.with_name("tree"), main.with_name("home")
    make(case, main, tree)
    inside = tree / "a/b"
    inside.mkdir(parents=True)

    place = locate(Settings.from_environment({"HOME": str(home)}), inside)

    real = Path(os.path.realpath(tree))
    owner = main if case in SHARES else real
    assert (place.owner, place.project) == (owner, real)
    assert place.state == Path(f"{home}/.hostbridge/state{owner}/@")
    assert find_owner(inside) == owner


@pytest.mark.parametrize("case", SHARES, ids=name_of)
def test_a_main_worktree_lists_its_others(main, case):
    """Also one with a path from the folder of its entry, or with links on the way."""
    tree = main.with_name("tree")
    assert worktrees_of(main) == []
    make(case, main, tree)

    assert worktrees_of(main) == [os.path.realpath(tree)]


def test_a_line_without_end_is_no_worktree(tmp_path):
    """A stranger's archive is not to have each command read for ever."""
    (tmp_path / ".git").touch()
    os.truncate(tmp_path / ".git", 1 << 33)

    assert locate(Settings.from_environment({"HOME": "/h"}), tmp_path).main is None


@pytest.mark.parametrize("name", ["@" + "a" * 254, "\udc80"], ids=["long", "bytes"])
def test_a_main_worktree_that_can_have_no_state_is_none(tmp_path, name):
    """An archive could bring one, and no hook could open the state: no rule held."""
    tree = Path(os.path.realpath(tmp_path)) / "tree"
    entry = tree / name / ".git/worktrees/n"
    entry.mkdir(parents=True)
    (tree / ".git").write_bytes(b"gitdir: %s\n" % os.fsencode(entry))
    (entry / "gitdir").write_text(f"{tree}/.git\n")

    place = locate(Settings.from_environment({"HOME": "/h"}), tree)

    assert (place.owner, place.state) == (tree, Path(f"/h/.hostbridge/state{tree}/@"))


def test_git_itself_makes_what_is_known(tmp_path):
    """What the table says of Git is what Git does."""
    git = ["git", "-c", "user.name=u", "-c", "user.email=u@invalid", "-C"]
    main, tree = tmp_path / "main", tmp_path / "tree"
    subprocess.run(["git", "init", "-q", str(main)], check=True)
    said = [*git, str(main), "commit", "-q", "--allow-empty", "-m", "first"]
    subprocess.run(said, check=True)
    subprocess.run([*git, str(main), "worktree", "add", "-q", str(tree)], check=True)

    assert find_owner(tree) == Path(os.path.realpath(main))


def test_it_is_said_why(main):
    tree = main.with_name("tree")
    settings = Settings.from_environment({"HOME": str(main.with_name("home"))})
    link(tree, main)

    known = locate(settings, tree).reason
    (main / ".git/worktrees/n/gitdir").unlink()
    unknown_now = locate(settings, tree).reason

    assert known == (
        f"a linked worktree of {main}; the state lies under ~/.hostbridge/state, "
        "at the same path as that one"
    )
    assert unknown_now == (
        f"no worktree of {main}, though its .git file says so: that repository "
        "does not know it (`git worktree repair` there, if it should); the state lies "
        "under ~/.hostbridge/state, at the same path as the project"
    )


@pytest.mark.parametrize("variable", ["BRIDGE_STATE_DIR", "BRIDGE_HOME"])
def test_error_state_inside_the_main_worktree(main, variable):
    """Its files come from a clone as well."""
    link(main.with_name("tree"), main)
    env = {"HOME": str(main.parent), variable: str(main / "state")}

    with pytest.raises(StateRefused, match=f"lies inside the project {main}"):
        locate(Settings.from_environment(env), main.with_name("tree"))
