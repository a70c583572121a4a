"""An `answers.lock` that somebody else wrote: bounded, and never out of the project."""

import os
import shutil
import tracemalloc
from pathlib import Path

import pytest
from lockworld import ANSWER, GOOD, HEAD, item, lock

from bridge import InvalidRequest
from bridge.api.answer_lock import check_lock

pytestmark = pytest.mark.slow


def lock_in(folder: Path, *lines: str) -> Path:
    """A lock with one answer, and these lines below it."""
    file = folder / "answers.lock"
    file.write_text("\n".join([GOOD.rstrip(), *lines, ""]))
    return file


def test_a_lock_that_is_a_link_or_a_pipe_is_not_followed(locked, tmp_path):
    other = tmp_path / "other"
    other.write_text(GOOD)
    lock(locked).symlink_to(other)

    with pytest.raises(InvalidRequest, match=r"answers\.lock: "):
        locked.bridge.check_lock(lock(locked))


def test_a_project_that_is_too_deep_for_a_lock_is_an_error(tmp_path):
    """As one from an archive may be; never a traceback."""
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(80):
        os.mkdir("d", dir_fd=folder)
        above, folder = folder, os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(above)
    os.close(folder)
    with pytest.raises(InvalidRequest, match="folders deep"):
        check_lock(tmp_path, lock_in(tmp_path, item("names", ".")))


def test_a_link_in_a_clone_does_not_lead_out_of_it(locked, tmp_path):
    """What it leads to is neither read nor told apart."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "a.py").write_text("one\n")
    locked.bridge.write_lock(lock(locked))
    shutil.rmtree(locked.project / "src")
    (locked.project / "src").symlink_to(secret)

    found = {e.asked: e.reasons for e in locked.bridge.check_lock(lock(locked))}

    assert [tuple(r) for r in found["R"]] == [("removed", "src/a.py")]


class Walks:
    """How many folders are opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._scandir = os.scandir
        self.count = 0
        monkeypatch.setattr(os, "scandir", self)

    def __call__(self, *args: int) -> object:
        self.count += 1
        return self._scandir(*args)


def test_each_folder_is_listed_once_for_all_of_a_lock(tmp_path, monkeypatch):
    """It comes with anybody's change, and CI checks it."""
    for number in range(50):
        (tmp_path / f"f{number}").mkdir()
        (tmp_path / f"f{number}/a.py").write_text("one\n")
    lines = [item("names", ".", f"*.x{n}") for n in range(300)]
    lines += [item("tree", f"f{n % 50}") for n in range(300)]
    file = lock_in(tmp_path, *lines)
    walks = Walks(monkeypatch)

    (found,) = check_lock(tmp_path, file)

    assert found.state == "stale"
    assert walks.count == 51


def most_memory(folder: Path, lists: int) -> int:
    """How many bytes the check of a lock with so many lists takes at once."""
    lines = [item("names", ".", "*", str(n)) for n in range(lists)]
    file = lock_in(folder, *lines)
    tracemalloc.start()
    try:
        check_lock(folder, file)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_lists_that_a_lock_asks_for_are_not_kept(tmp_path, monkeypatch):
    """Each is compared by its digest: together they could fill the memory of CI."""
    # What the file itself is read into would hide them.
    monkeypatch.setattr("bridge.api.answer_lock.MAX_BYTES", 1 << 17)
    for number in range(500):
        (tmp_path / f"{number}.py").write_text("")
    of_a_list = 500 * 8

    # The first loads modules, too.
    _first, few, many = (most_memory(tmp_path, lists) for lists in (2, 2, 200))

    assert many - few < 200 * of_a_list / 2


BOUNDS = {
    "files": "the folders in this lock have more than",
    "bytes": "the files in this lock have more than",
    "steps": "the patterns in this lock take too long",
}


@pytest.mark.parametrize("what", BOUNDS)
def test_error_a_lock_that_asks_for_too_much(tmp_path, monkeypatch, what):
    """The bounds are for all of a lock together; here they are smaller."""
    from bridge.freshness import checkout as checked

    for number in range(30):
        (tmp_path / f"{number}.py").write_text("one\n" * 100)
    each = "names" if what == "steps" else "file"
    lines = [item(each, f"{n}.py") for n in range(30)]
    if what != "bytes":
        lines = [item("names", ".", f"{n}*?*.py") for n in range(30)]
    file = lock_in(tmp_path, *lines)
    small = {"files": ("MAX_WALKED", 20), "bytes": ("MAX_BYTES", 5_000)}
    monkeypatch.setattr(checked, *small.get(what, ("_MAX_STEPS", 1_000)))

    with pytest.raises(InvalidRequest, match=BOUNDS[what]):
        check_lock(tmp_path, file)


def test_a_lock_cannot_make_the_check_wait_or_read_elsewhere(tmp_path):
    """What a branch may put at the paths that it names."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "etc").symlink_to("/etc")
    (tmp_path / "loop").symlink_to("loop")
    names = ["pipe", "zero", "etc/passwd", "loop", "loop/x", "zero/x", "src/a.py"]
    lines = [item("file", name) for name in names]
    lines += [item(k, n) for n in names for k in ("names", "tree", "link")]
    (found,) = check_lock(tmp_path, lock_in(tmp_path, *lines))

    differing = {(reason.what, reason.about) for reason in found.reasons}
    assert {("changed", "pipe"), ("removed", "etc/passwd")} <= differing
    assert ("names", "etc") not in differing


def test_a_large_lock_is_read_in_one_go(tmp_path):
    """As large as a lock may be: an error or an answer, and no time for a coffee."""
    lines = [item("absent", f"{number}.py", digest="") for number in range(199_000)]
    file = tmp_path / "answers.lock"
    file.write_text("\n".join([HEAD, ANSWER, *lines]))

    (found,) = check_lock(tmp_path, file)
    assert found.state == "fresh"
    file.write_text(file.read_text() + "\n" * 2_000)

    with pytest.raises(InvalidRequest, match="more than 200,000 lines"):
        check_lock(tmp_path, file)
