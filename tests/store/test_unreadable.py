"""A file that cannot be read is in nobody's way: what else waits goes on."""

import errno
import hmac  # noqa: F401 - as those below: before a child that may not read it
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faultlab import scratch
from storeworld import (
    FakeClock,
    answer,
    claim_all,
    drop,
    path_of,
    quarantined,
    request,
    store_in,
)
from systemcalls import collect, start

# What is imported on demand, before a child that may not read our files.
from bridge.config import Settings
from bridge.errors import StateRefused, StateUnavailable
from bridge.store import prune, sweep  # noqa: F401
from bridge.store.config_file import in_files
from bridge.store.directory import Folder, Forbidden

NOBODY = 65_534


@pytest.fixture
def somewhere():
    """A folder in which a user without rights may write."""
    folder = scratch()
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


def as_a_user(act: Callable[[], object]) -> Any:
    """What `act` gives where rights count, which for root they do not."""

    def without_rights():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)

    pid, go, report = start(act, without_rights)
    with open(go, "wb") as pipe:
        pipe.write(b"!")
    outcome = collect(pid, report)
    assert outcome.status == "returned", outcome.message
    return outcome.value


def forbid(path: Path) -> None:
    """No one may read it, as a file of root's is to any other user."""
    path.chmod(0)


def test_error_a_file_that_one_may_not_read(somewhere):
    def read():
        (somewhere / "x").write_text("data")
        forbid(somewhere / "x")
        with Folder.open(str(somewhere)) as folder:
            try:
                folder.read("x")
            except Forbidden as exc:
                return str(exc), exc.cure
        return "", ""

    assert as_a_user(read) == (
        f"{somewhere}/x: Permission denied",
        "make it your own and readable, or move it away",
    )


@pytest.mark.parametrize("name", ["1k0t3fvvgkr-h-hj92wn", "foreign", "not an id"])
def test_what_one_may_not_read_stops_no_queue(somewhere, name):
    """A program under sudo dropped it; a rename needs no right on the file."""

    def work():
        store = store_in(somewhere, clock=FakeClock())
        store.submit(request("a"))
        forbid(drop(store, "requests", f"{name}.json", "{}"))
        waiting = store.waiting()
        found = store.find(name)
        claimed = [one.request_id for one in claim_all(store)]
        swept = store.sweep(everything=True)
        store.prune(max_bytes=10_000)
        assert list(quarantined(store)) == [f"{name}.json"]
        assert os.listdir(path_of(store, "requests")) == []
        return "a" in waiting, found, claimed, swept

    assert as_a_user(work) == (True, None, ["a"], 0)


def test_what_one_may_not_read_is_told_by_name(somewhere):
    def work():
        store = store_in(somewhere, clock=FakeClock())
        forbid(drop(store, "requests", "b.json", "{}"))
        return str(store.unknown("b"))

    path = path_of(store_in(somewhere), "requests", "b")
    assert as_a_user(work) == (
        f"request b cannot be read: {path}: Permission denied; make it your own and "
        "readable, or move it away"
    )


def test_error_a_key_that_one_may_not_read_voids_no_answer(somewhere):
    """It says nothing of the answers: they stay where they are."""

    def work():
        store = store_in(somewhere, clock=FakeClock())
        store.submit(request("a", dedup_key="k"))
        (mine,) = claim_all(store)
        store.publish(answer(mine), source="test")
        forbid(path_of(store, "key"))
        try:
            store.submit(request("b", dedup_key="k"))
        except StateRefused as exc:
            return str(exc), os.listdir(path_of(store, "responses"))
        return "", []

    path = path_of(store_in(somewhere), "key")
    assert as_a_user(work) == (
        f"{path}: Permission denied; make it your own and readable again",
        ["a.json"],
    )


def fail_on(monkeypatch, name: str, number: int = errno.EIO) -> None:
    """The disk fails to give this file; every other is as it was."""
    system_open = os.open

    def failing(path, *how, **more):
        if path == name:
            raise OSError(number, os.strerror(number), path)
        return system_open(path, *how, **more)

    monkeypatch.setattr("bridge.store.directory.os.open", failing)


@pytest.mark.parametrize("name", ["1k0t3fvvgkr-h-hj92wn", "b"])
def test_what_the_disk_fails_to_give_stops_no_queue(store, monkeypatch, name):
    """It stays where it is: the disk may give it the next time."""
    store.submit(request("a"))
    store.submit(request(name))
    with monkeypatch.context() as failing:
        fail_on(failing, f"{name}.json")

        assert "a" in store.waiting()
        assert [one.request_id for one in claim_all(store)] == ["a"]
        assert store.sweep(everything=True) == 0

    assert quarantined(store) == {}
    assert [one.request_id for one in claim_all(store)] == [name]


def test_error_what_is_claimed_is_not_taken_as_absent(store, monkeypatch):
    """Its agent's words would become evidence; the error names the file."""
    store.submit(request("a"))
    (mine,) = claim_all(store)
    with monkeypatch.context() as failing:
        fail_on(failing, "a.json")

        with pytest.raises(StateUnavailable) as caught:
            store.publish(answer(mine), source="test")

    path = path_of(store, "processing", "a")
    assert str(caught.value) == f"{path}: Input/output error; see `hostbridge doctor`"
    assert store.publish(answer(mine), source="test")


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOMEM])
def test_error_a_machine_without_means_spoils_no_file(store, monkeypatch, number):
    store.submit(request("a"))
    with monkeypatch.context() as failing:
        fail_on(failing, "a.json", number)

        with pytest.raises(StateUnavailable):
            claim_all(store)

    assert [one.request_id for one in claim_all(store)] == ["a"]


def test_error_settings_that_nobody_may_read(somewhere):
    file = somewhere / "config.toml"
    file.write_text("slots = 2\n")
    forbid(file)

    problems = as_a_user(lambda: in_files(Settings(home=somewhere), somewhere)[1])

    cure = "make it your own and readable, or move it away"
    assert problems == [f"{file}: Permission denied; {cure}"]


# What the system refuses, in our words


def test_error_the_key_is_something_else(store, mine):
    path = path_of(store, "key")
    path.symlink_to("/etc/hostname")

    with pytest.raises(StateRefused) as caught:
        store.publish(answer(mine), source="test")

    assert str(caught.value) == f"{path}: not a plain file; move it away"


def test_error_no_more_files_can_be_opened(store):
    store.submit(request("a"))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    fd = os.open("/", os.O_RDONLY)
    os.close(fd)
    resource.setrlimit(resource.RLIMIT_NOFILE, (fd + 2, limits[1]))
    try:
        with pytest.raises(StateUnavailable) as caught:
            claim_all(store)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    assert str(caught.value) == (
        f"{store.place.state}: Too many open files; see `hostbridge doctor`"
    )
    assert len(claim_all(store)) == 1
