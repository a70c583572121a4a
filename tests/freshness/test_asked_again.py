"""The model is asked again exactly when something that its answer rests on changed."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from cachedworld import GLOBS, GREPS, READS, RUNS, TICK_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from cachedworld import CachedWorld

LOOKS = {"Read": READS, "Glob": GLOBS, "Grep": GREPS, "Bash": RUNS}


def change(world: CachedWorld) -> None:
    world.write("src/a.py", "two\n")


def change_quietly(world: CachedWorld) -> None:
    """Another byte, of the same size, and the time of the last change put back."""
    file = world.project / "src/a.py"
    before = file.stat()
    file.write_text("two\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_quietly(world: CachedWorld) -> None:
    """Another file of the same size and time has its name."""
    file = world.project / "src/a.py"
    before = file.stat()
    other = world.write("src/.other", "two\n")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(file)


def truncate(world: CachedWorld) -> None:
    os.truncate(world.project / "src/a.py", 0)


def remove(world: CachedWorld) -> None:
    (world.project / "src/a.py").unlink()


def rename(world: CachedWorld) -> None:
    (world.project / "src/a.py").rename(world.project / "src/b.py")


def touch(world: CachedWorld) -> None:
    os.utime(world.project / "src/a.py")


def write_again(world: CachedWorld) -> None:
    """The same bytes, in another file of that name."""
    other = world.write("src/.other")
    other.rename(world.project / "src/a.py")


def change_mode(world: CachedWorld) -> None:
    (world.project / "src/a.py").chmod(0o600)


def make_program(world: CachedWorld) -> None:
    (world.project / "src/a.py").chmod(0o755)


def link_to_same(world: CachedWorld) -> None:
    """A link to the same bytes: whoever reads it reads the same; a search skips it."""
    remove(world)
    (world.project / "src/a.py").symlink_to(world.write("copy.txt"))


def link_to_other(world: CachedWorld) -> None:
    remove(world)
    (world.project / "src/a.py").symlink_to(world.write("copy.txt", "two\n"))


def make_pipe(world: CachedWorld) -> None:
    remove(world)
    os.mkfifo(world.project / "src/a.py")


def make_folder(world: CachedWorld) -> None:
    remove(world)
    (world.project / "src/a.py").mkdir()


def add_match(world: CachedWorld) -> None:
    world.write("src/deep/new.py", "three\n")


def add_other(world: CachedWorld) -> None:
    world.write("src/new.txt", "three\n")


def change_other(world: CachedWorld) -> None:
    world.write("src/notes.txt", "two\n")


def change_outside(world: CachedWorld) -> None:
    world.write("README", "two\n")


def change_ignored(world: CachedWorld) -> None:
    """Git ignores it; a command can read it all the same."""
    world.write("local.env", "two\n")


def change_made(world: CachedWorld) -> None:
    """What tools make from other files."""
    world.write("src/__pycache__/a.pyc", "two\n")


def add_empty_folder(world: CachedWorld) -> None:
    (world.project / "src/empty").mkdir()


def nothing(_world: CachedWorld) -> None:
    pass


# Who is asked again after it: all others are not.
CASES: dict[Callable[[CachedWorld], None], str] = {
    nothing: "",
    change: "Read Grep Bash",
    change_quietly: "Read Grep Bash",
    replace_quietly: "Read Grep Bash",
    truncate: "Read Grep Bash",
    remove: "Read Glob Grep Bash",
    rename: "Read Glob Grep Bash",
    touch: "",
    write_again: "",
    change_mode: "",
    make_program: "Bash",
    link_to_same: "Grep Bash",
    link_to_other: "Read Grep Bash",
    make_pipe: "Read Grep Bash",
    make_folder: "Read Glob Grep Bash",
    add_match: "Glob Grep Bash",
    add_other: "Bash",
    change_other: "Bash",
    change_outside: "Bash",
    change_ignored: "Bash",
    change_made: "",
    add_empty_folder: "Bash",
}


@pytest.mark.parametrize("act", CASES, ids=lambda act: act.__name__)
@pytest.mark.parametrize("look", LOOKS)
def test_a_change_of_what_was_looked_at_asks_again_and_no_other(world, look, act):
    """Never an answer about bytes that are gone; never a question for nothing."""
    world.write("src/a.py")
    world.write("src/notes.txt")
    world.write("README")
    world.write("local.env")
    world.write("src/__pycache__/a.pyc")
    world.write(".gitignore", "local.env\n")
    first = world.answer(LOOKS[look])
    time.sleep(TICK_S)

    act(world)
    again = world.ask(LOOKS[look])

    assert not first.cached
    assert bool(world.asked) == (look in CASES[act].split())
    assert again.cached is not bool(world.asked)


def test_what_was_not_there_when_it_was_read_may_not_come(world):
    world.answer(READS)
    assert not world.is_asked_again(READS)

    world.write("src/a.py")

    assert world.is_asked_again(READS)
