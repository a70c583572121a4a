"""One directory: whole files, no links followed, nothing that is not a plain file."""

import os
import time
from pathlib import Path

import pytest
from storeworld import put_odd

from bridge.errors import StateRefused
from bridge.store.directory import Folder, NotAPlainFile
from bridge.store.journal import append_line

OTHERS = ["link", "dangling", "loop", "pipe", "folder", "socket"]
HOSTNAME = Path("/etc/hostname")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "f").mkdir()
    with Folder.open(str(tmp_path / "f")) as opened:
        yield opened


@pytest.mark.parametrize("kind", OTHERS)
def test_error_what_is_no_plain_file_is_not_read(folder, tmp_path, kind):
    put_odd(tmp_path / "f" / "x", kind, HOSTNAME)

    with pytest.raises(NotAPlainFile) as caught:
        folder.read("x")

    assert str(caught.value) == f"{tmp_path}/f/x: not a plain file"


@pytest.mark.parametrize("kind", OTHERS)
def test_nothing_is_written_through_what_has_the_name(folder, tmp_path, kind):
    put_odd(tmp_path / "f" / "x", kind, HOSTNAME)
    before = os.lstat(tmp_path / "f" / "x")

    with pytest.raises(FileExistsError):
        folder.create("x", b"data")
    assert folder.touch("x") is False

    assert os.lstat(tmp_path / "f" / "x").st_ino == before.st_ino
    assert os.listdir(tmp_path / "f") == ["x"]


@pytest.mark.parametrize("kind", OTHERS)
def test_a_log_with_something_else_in_its_place_goes_on(folder, tmp_path, kind):
    put_odd(tmp_path / "f" / "log", kind, HOSTNAME)

    append_line(folder, "log", b"line\n", max_bytes=100, older="old")

    assert (tmp_path / "f" / "log").read_bytes() == b"line\n"
    assert not (tmp_path / "f" / "log").is_symlink()


def test_a_log_is_not_written_into_somebody_elses_file(folder, tmp_path):
    (tmp_path / "precious").write_text("mine")
    os.link(tmp_path / "precious", tmp_path / "f" / "log")

    append_line(folder, "log", b"line\n", max_bytes=100, older="old")

    assert (tmp_path / "precious").read_text() == "mine"
    assert (tmp_path / "f" / "log").read_bytes() == b"line\n"


def test_the_first_writer_wins(folder):
    folder.create("x", b"first")

    with pytest.raises(FileExistsError):
        folder.create("x", b"second")

    assert folder.read("x") == b"first"
    assert os.listdir(folder.fd) == ["x"]


def test_a_file_changes_whole(folder, tmp_path):
    folder.replace("x", b"first")
    with (tmp_path / "f" / "x").open("rb") as reader:
        folder.replace("x", b"second")
        assert reader.read() == b"first"

    assert folder.read("x") == b"second"


def test_a_swapped_path_redirects_nothing(folder, tmp_path):
    """It is held by descriptor: what its path leads to later does not matter."""
    (tmp_path / "f").rename(tmp_path / "moved")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "f").symlink_to("elsewhere")

    folder.create("x", b"data")

    assert os.listdir(tmp_path / "elsewhere") == []
    assert (tmp_path / "moved" / "x").read_bytes() == b"data"


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "file"])
def test_error_a_folder_that_is_something_else(folder, tmp_path, kind):
    path = tmp_path / "f" / "sub"
    if kind == "file":
        path.touch()
    else:
        put_odd(path, kind, tmp_path)

    with pytest.raises(StateRefused) as caught:
        folder.folder("sub")

    assert str(caught.value) == (
        f"{path}: not a folder of its own; remove it; hostbridge follows no link"
    )


def test_error_a_file_larger_than_any_of_ours(folder, tmp_path):
    with (tmp_path / "f" / "x").open("wb") as file:
        file.truncate(1 << 30)

    with pytest.raises(NotAPlainFile) as caught:
        folder.read("x")

    assert str(caught.value) == (f"{tmp_path}/f/x: 1073741824 bytes, over 268435456")


def test_each_beat_gives_the_time_of_now(folder, tmp_path):
    beat = tmp_path / "f" / "x"
    times = []
    for _ in range(2):
        folder.beat("x")
        times.append(beat.stat().st_mtime)
        os.utime(beat, (1, 1))

    assert min(times) > time.time() - 60
    assert beat.read_bytes() == b""


def test_names_leave_out_temporaries(folder):
    folder.prepare("x.json", b"")
    folder.create("y.json", b"")
    folder.create(".z.json", b"")

    assert folder.names() == ["y"]


def test_a_descriptor_is_not_inherited(folder):
    with folder.folder("sub") as sub:
        assert not os.get_inheritable(folder.fd)
        assert not os.get_inheritable(sub.fd)


def test_a_file_is_read_whole_however_little_the_kernel_gives(folder, monkeypatch):
    folder.create("x", b"0123456789")
    read = os.read
    monkeypatch.setattr(os, "read", lambda fd, _count: read(fd, 3))

    assert folder.read("x") == b"0123456789"


def test_a_file_that_changed_is_read_again(folder, tmp_path):
    """What is kept from a first look must never stand for another file."""
    folder.keeps = 2
    folder.create("a", b"one")
    assert [folder.read("a"), folder.read("a")] == [b"one", b"one"]
    folder.replace("a", b"two")
    assert folder.read("a") == b"two"
    (tmp_path / "f" / "a").write_bytes(b"six")
    assert folder.read("a") == b"six"
    folder.remove("a")
    assert folder.read("a") is None
