"""A linked worktree shares its main one's state."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bridge.config import Settings
from bridge.errors import StateRefused
from bridge.store.location import find_owner, locate


def link(tree: Path, main: Path, name: str = "n", *, back: str | None = None) -> None:
    """What Git writes for a linked worktree; `back` is what the main one says of it."""
    entry = main / ".git/worktrees" / name
    entry.mkdir(parents=True, exist_ok=True)
    tree.mkdir(parents=True, exist_ok=True)
    (tree / ".git").write_text(f"gitdir: {entry}\n")
    (entry / "gitdir").write_text(f"{tree}/.git\n" if back is None else back)


def linked(main: Path, tree: Path) -> None:
    link(tree, main)


def relative(main: Path, tree: Path) -> None:
    link(tree, main, back="../../../../tree/.git\n")
    (tree / ".git").write_text("gitdir: ../main/.git/worktrees/n\n")


def through_a_link(main: Path, tree: Path) -> None:
    (main.parent / "way").symlink_to(main.parent)
    link(tree, main.parent / "way/main", back=f"{main.parent}/way/tree/.git\n")


def no_newline(main: Path, tree: Path) -> None:
    link(tree, main, back=f"{tree}/.git")
    (tree / ".git").write_text(f"gitdir: {main}/.git/worktrees/n")


def in_an_odd_folder(main: Path, tree: Path) -> None:
    link(tree, main, name="a b*$x'\"\\")


def dots_on_the_way(main: Path, tree: Path) -> None:
    link(tree, main)
    (tree / ".git").write_text(f"gitdir: {tree}/../main/.git/worktrees/n\n")


def within_its_main(main: Path, tree: Path) -> None:
    link(main / ".claude/worktrees/w", main, name="w")
    tree.rmdir()
    tree.symlink_to(main / ".claude/worktrees/w")


def forged(main: Path, tree: Path) -> None:
    """An archive names a repository of the user's, which knows another folder."""
    link(main.parent / "other", main)
    (tree / ".git").write_text(f"gitdir: {main}/.git/worktrees/n\n")


def unknown(main: Path, tree: Path) -> None:
    (tree / ".git").write_text(f"gitdir: {main}/.git/worktrees/n\n")


def moved(main: Path, tree: Path) -> None:
    link(tree, main, back=f"{main.parent}/gone/.git\n")


def says_a_folder_above(main: Path, tree: Path) -> None:
    link(tree, main, back=f"{main.parent}/.git\n")


def says_no_git(main: Path, tree: Path) -> None:
    link(tree, main, back=f"{tree}\n")


def second_line(main: Path, tree: Path) -> None:
    link(tree, main)
    (tree / ".git").write_text(f"x\ngitdir: {main}/.git/worktrees/n\n")


def climbs_out(main: Path, tree: Path) -> None:
    link(tree, main)
    (tree / ".git").write_text(f"gitdir: {main}/.git/worktrees/../worktrees/n\n")


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


def empty(_main: Path, tree: Path) -> None:
    (tree / ".git").touch()


def too_long(main: Path, tree: Path) -> None:
    link(tree, main)
    (tree / ".git").write_text(f"gitdir: {'/.' * 2100}{main}/.git/worktrees/n\n")


# Of `tree`, whether it shares the state of `main`.
SHARES = (
    linked, relative, through_a_link, no_newline, in_an_odd_folder, dots_on_the_way,
    within_its_main,
)  # fmt: skip
IS_ITS_OWN = (
    forged, unknown, moved, says_a_folder_above, says_no_git, second_line, climbs_out,
    climbs_up, submodule, a_link_for_a_file, a_link_back, a_device, a_pipe, a_pipe_back,
    empty, too_long,
)  # fmt: skip
CASES = [(case, True) for case in SHARES] + [(case, False) for case in IS_ITS_OWN]


@pytest.mark.parametrize(
    ("case", "shares"), CASES, ids=[case.__name__ for case, _ in CASES]
)
def test_whose_state_a_worktree_has(tmp_path, case, *, shares):
    """Asker and session look into one state, and a forged file joins no other's."""
    base = Path(os.path.realpath(tmp_path))
    main, tree, home = base / "main", base / "tree", base / "home"
    (main / ".git").mkdir(parents=True)
    tree.mkdir()
    case(main, tree)
    inside = tree / "a/b"
    inside.mkdir(parents=True)

    place = locate(Settings.from_environment({"HOME": str(home)}), inside)

    real = Path(os.path.realpath(tree))
    owner = main if shares else real
    assert (place.owner, place.project) == (owner, real)
    assert place.state == Path(f"{home}/.hostbridge/state{owner}/@")
    assert find_owner(inside) == owner


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


def test_it_is_said_why(tmp_path):
    base = Path(os.path.realpath(tmp_path))
    settings = Settings.from_environment({"HOME": str(base / "home")})
    (base / "main/.git").mkdir(parents=True)
    link(base / "tree", base / "main")

    known = locate(settings, base / "tree").reason
    (base / "main/.git/worktrees/n/gitdir").unlink()
    unknown_now = locate(settings, base / "tree").reason

    assert known == (
        f"a linked worktree of {base}/main; the state lies under ~/.hostbridge/state, "
        "at the same path as that one"
    )
    assert unknown_now == (
        f"no worktree of {base}/main, though its .git file says so: that repository "
        "does not know it (`git worktree repair` there, if it should); the state lies "
        "under ~/.hostbridge/state, at the same path as the project"
    )


@pytest.mark.parametrize("variable", ["BRIDGE_STATE_DIR", "BRIDGE_HOME"])
def test_error_state_inside_the_main_worktree(tmp_path, variable):
    """Its files come from a clone as well."""
    base = Path(os.path.realpath(tmp_path))
    (base / "main/.git").mkdir(parents=True)
    link(base / "tree", base / "main")
    env = {"HOME": str(base), variable: str(base / "main/state")}

    with pytest.raises(StateRefused, match=f"lies inside the project {base}/main"):
        locate(Settings.from_environment(env), base / "tree")
