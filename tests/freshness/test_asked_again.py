"""The model is asked again exactly when something that its answer rests on changed."""

import os
import time
from functools import partial

import pytest
from cachedworld import GLOBS, GREPS, READS, RUNS, TICK_S, CachedWorld

pytestmark = pytest.mark.slow

A = "src/a.py"
LOOKS = {"Read": READS, "Glob": GLOBS, "Grep": GREPS, "Bash": RUNS}


def change_quietly(world: CachedWorld) -> None:
    """Another byte, of the same size, and the time of the last change put back."""
    file = world.project / A
    before = file.stat()
    file.write_text("two\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_quietly(world: CachedWorld) -> None:
    """Another file of the same size and time has its name."""
    file = world.project / A
    before = file.stat()
    other = world.write("src/.other", "two\n")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(file)


def remove(world: CachedWorld) -> None:
    (world.project / A).unlink()


def write_again(world: CachedWorld) -> None:
    """The same bytes, in another file of that name."""
    other = world.write("src/.other")
    other.rename(world.project / A)


def link_to_same(world: CachedWorld) -> None:
    """A link to the same bytes: whoever reads it reads the same; a search skips it."""
    remove(world)
    (world.project / A).symlink_to(world.write("copy.txt"))


def link_to_other(world: CachedWorld) -> None:
    remove(world)
    (world.project / A).symlink_to(world.write("copy.txt", "two\n"))


def make_pipe(world: CachedWorld) -> None:
    remove(world)
    os.mkfifo(world.project / A)


def make_folder(world: CachedWorld) -> None:
    remove(world)
    (world.project / A).mkdir()


def writing(path):
    """What changes or adds a file."""
    return partial(CachedWorld.write, path=path, text="two\n")


# Who is asked again after it: all others are not.
CASES = {
    "nothing": (lambda _: None, ""),
    "change": (writing("src/a.py"), "Read Grep Bash"),
    "change quietly": (change_quietly, "Read Grep Bash"),
    "replace quietly": (replace_quietly, "Read Grep Bash"),
    "truncate": (lambda w: os.truncate(w.project / A, 0), "Read Grep Bash"),
    "remove": (remove, "Read Glob Grep Bash"),
    "rename": (
        lambda w: (w.project / A).rename(w.project / "src/b.py"),
        "Read Glob Grep Bash",
    ),
    "touch": (lambda w: os.utime(w.project / A), ""),
    "write again": (write_again, ""),
    "change mode": (lambda w: (w.project / A).chmod(0o600), ""),
    "make program": (lambda w: (w.project / A).chmod(0o755), "Bash"),
    "link to same": (link_to_same, "Grep Bash"),
    "link to other": (link_to_other, "Read Grep Bash"),
    "make pipe": (make_pipe, "Read Grep Bash"),
    "make folder": (make_folder, "Read Glob Grep Bash"),
    "add match": (writing("src/deep/new.py"), "Glob Grep Bash"),
    "add other": (writing("src/new.txt"), "Bash"),
    "change other": (writing("src/notes.txt"), "Bash"),
    "change outside": (writing("README"), "Bash"),
    # Git ignores it; a command can read it all the same.
    "change ignored": (writing("local.env"), "Bash"),
    # What tools make from other files.
    "change made": (writing("src/__pycache__/a.pyc"), ""),
    "add empty folder": (lambda w: (w.project / "src/empty").mkdir(), "Bash"),
}
KNOWN = ("src/a.py", "src/notes.txt", "README", "local.env", "src/__pycache__/a.pyc")


@pytest.mark.parametrize(("act", "who"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("look", LOOKS)
def test_a_change_of_what_was_looked_at_asks_again_and_no_other(world, look, act, who):
    """Never an answer about bytes that are gone; never a question for nothing."""
    for path in KNOWN:
        world.write(path)
    world.write(".gitignore", "local.env\n")
    first = world.answer(LOOKS[look])
    time.sleep(TICK_S)

    act(world)
    again = world.ask(LOOKS[look])

    assert not first.cached
    assert bool(world.asked) == (look in who.split())
    assert again.cached is not bool(world.asked)


def test_what_was_not_there_when_it_was_read_may_not_come(world):
    world.answer(READS)
    assert not world.is_asked_again(READS)

    world.write("src/a.py")

    assert world.is_asked_again(READS)
