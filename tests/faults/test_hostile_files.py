"""Something else in place of each file and folder, also while one looks."""

import contextlib
import ctypes
import json
import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
from faultlab import scratch, tell
from storeworld import (
    START_US,
    FakeClock,
    answer,
    claim_all,
    dead_process,
    finish_everything,
    make_socket,
    request,
    store_in,
)
from thoroughness import crossed

from bridge.errors import BridgeError
from bridge.freshness import kept_reads
from bridge.freshness.looks import Look
from bridge.protocol.ids import RequestId
from bridge.protocol.question import Asked
from bridge.protocol.response import failed
from bridge.store import questions
from bridge.store.store import Store

pytestmark = pytest.mark.faults

A = RequestId("a")

KEY = "8254c329a92850f6d539dd376f4816ee2764517da5e0235514af433164480d7a"
FILES = (
    *(f"{room}/a.json" for room in ("requests", "processing", "responses", "done")),
    *(f"sessions/session-1.{end}" for end in ("json", "beat", "passed")),
    *(f"questions/a.1.{end}" for end in ("json", "reply.json")),
    "requests/.a.json.tmp",
    "evidence/a.1-0.json",
    "quarantine/a.json.1",
    f"dedup/{KEY}.json",
    "locks/store.lock",
    "events.jsonl",
    "key",
)
FOLDERS = (
    "requests", "processing", "responses", "done", "evidence", "quarantine", "dedup",
    "locks", "sessions", "questions", "reads",
)  # fmt: skip


def a_folder(path: Path) -> None:
    path.mkdir()
    (path / "inner").write_text("x")


KINDS: dict[str, Callable[[Path, Path], object]] = {
    "link to a file": lambda path, outside: path.symlink_to(outside / "precious"),
    "link to a folder": lambda path, outside: path.symlink_to(outside),
    "dangling link": lambda path, outside: path.symlink_to(outside / "new"),
    "link to itself": lambda path, _: path.symlink_to(path.name),
    "hard link": lambda path, outside: os.link(outside / "precious", path),
    "pipe": lambda path, _: os.mkfifo(path),
    "socket": lambda path, _: make_socket(path),
    "folder": lambda path, _: a_folder(path),
    "empty file": lambda path, _: path.write_text(""),
    "device": lambda path, _: os.mknod(path, 0o20600, os.makedev(1, 5)),
}


@pytest.fixture
def world():
    folder = scratch()
    (folder / "outside").mkdir()
    (folder / "outside" / "precious").write_text("mine")
    yield folder
    shutil.rmtree(folder)


def ask_and_reply(store: Store) -> None:
    """The agent of `a` asks, and somebody replies."""
    with store.state() as state:
        asked = questions.ask(state, A, lambda _: True, Asked("Which one?", {}))
    store.open_questions()
    store.take_reply(A)
    if asked is not None and store.find_unfinished(A).asks is not None:
        store.reply(A, "red", by="test", number=1)


def keep_and_find(store: Store) -> None:
    """What the answer to `a` rests on is kept, and asked for."""
    looks = [Look("file", "/etc/passwd", "", START_US // 1000)]
    for mine in store.claimed():
        with store.state() as state:
            project = store.place.project
            kept_reads.keep(state, mine, answer(mine), looks, project=project)
            kept_reads.find(state, mine, "host", project)
            list(kept_reads.all_kept(state, project))


def everything(store: Store) -> Iterator[Callable[[], object]]:
    """One of each thing that a store does, on the request `a`."""
    asked = request("a", dedup_key="a key")
    yield lambda: store.submit(asked)
    yield lambda: store.find(A)
    yield store.has_waiting
    yield lambda: claim_all(store, dead_process())
    yield store.claimed
    yield lambda: store.sweep(everything=True)
    yield lambda: claim_all(store)
    yield lambda: ask_and_reply(store)
    yield lambda: keep_and_find(store)
    yield lambda: store.keep_evidence("a", reason="r", source="s", words="w")
    yield lambda: store.evidence(A)
    yield lambda: list(store.wait([A], timeout_s=0))
    yield lambda: store.publish(answer(asked), source="test")
    yield lambda: store.publish(
        failed(asked, "cancelled", "again", now_ms=START_US // 1000), source="test"
    )
    yield lambda: store.prune(older_than_days=0)


def try_everything(store: Store) -> list[str]:
    """What it said where it would not; anything but our own errors is a failure."""
    told = []
    for act in everything(store):
        # A pipe that was opened to read would take for ever.
        try:
            act()
        except BridgeError as exc:
            told.append(str(exc))
    return told


def outside_of(world: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in (world / "outside").iterdir()}


@pytest.mark.parametrize(("name", "kind"), crossed(FILES, KINDS))
def test_something_else_in_place_of_a_file_does_no_harm(world, name, kind):
    store = store_in(world, clock=FakeClock(), lock_wait_s=0.2)
    path = store.place.state / name
    path.parent.mkdir(mode=0o700, parents=True)
    store.place.guard.chmod(0o700)
    with contextlib.suppress(PermissionError):
        KINDS[kind](path, world / "outside")

    told = try_everything(store)

    assert outside_of(world) == {"precious": b"mine"}
    # In the way of these two nothing works; everything else is put aside, or ignored.
    if name not in ("key", "locks/store.lock"):
        assert not [t for t in told if "used before" not in t], told
    if os.path.lexists(path):
        shutil.rmtree(
            path
        ) if path.is_dir() and not path.is_symlink() else path.unlink()
    store.submit(request("later"))
    assert "later" in finish_everything(store)


@pytest.mark.parametrize(
    ("name", "kind"), crossed(FOLDERS, [k for k in KINDS if k != "folder"])
)
def test_something_else_in_place_of_a_folder_is_refused(world, name, kind):
    store = store_in(world, clock=FakeClock(), lock_wait_s=0.2)
    store.submit(request("before"))
    path = store.place.state / name
    if path.exists():
        path.rename(world / "moved")
    with contextlib.suppress(PermissionError):
        KINDS[kind](path, world / "outside")

    told = try_everything(store)

    assert outside_of(world) == {"precious": b"mine"}
    refused = f"{path}: not a folder of its own; remove it; hostbridge follows no link"
    assert set(told) <= {
        refused,
        "request id 'a' was used before; choose another, or none",
    }
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    if (world / "moved").exists():
        (world / "moved").rename(path)
    store.submit(request("later"))
    assert {"before", "later"} <= finish_everything(store).keys()


def swap(folder: Path, link: Path, is_over: Event) -> None:
    """Now it is a folder, now a link that leads out; nothing in between."""
    libc, here, exchange = ctypes.CDLL(None), -100, 2
    rounds = 0
    while not is_over.is_set() or rounds % 2:
        names = os.fsencode(folder), os.fsencode(link)
        assert libc.renameat2(here, names[0], here, names[1], exchange) == 0
        rounds += 1
        time.sleep(0.0005)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["requests", "responses", "locks", "done", "@"])
def test_a_folder_swapped_while_one_looks_leads_nowhere(world, name):
    store = store_in(world, lock_wait_s=0.2)
    store.submit(request("before"))
    finish_everything(store)
    state = store.place.state
    folder = state if name == "@" else state / name
    (world / "link").symlink_to(world / "outside")
    until = time.monotonic() + 1.5
    fork = multiprocessing.get_context("fork")
    is_over = fork.Event()
    swapper = fork.Process(target=swap, args=(folder, world / "link", is_over))
    swapper.start()
    accepted = []
    number = 0
    while time.monotonic() < until or not accepted:
        number += 1
        with contextlib.suppress(BridgeError):
            store.submit(request(f"r-{number}"))
            accepted.append(f"r-{number}")
        for act in (claim_all, lambda s: s.sweep()):
            with contextlib.suppress(BridgeError):
                act(store)
    is_over.set()
    swapper.join()

    assert swapper.exitcode == 0
    assert outside_of(world) == {"precious": b"mine"}
    assert accepted
    assert set(accepted) <= finish_everything(store).keys()
    tell(f"{number} rounds, {len(accepted)} accepted while {name} was swapped")


def test_case_twins_are_two_requests(world):
    """Where the file system tells them apart, so do we."""
    store = store_in(world, clock=FakeClock())
    (world / "probe").write_text("")
    if (world / "PROBE").exists():
        pytest.skip("this file system knows no case")
    store.submit(request("abc"))
    store.submit(request("ABC"))

    assert finish_everything(store).keys() == {"abc", "ABC"}


def test_files_of_the_future_do_no_harm(world):
    """File times a day ahead."""
    store = store_in(world, clock=FakeClock())
    store.submit(request("a", dedup_key="k"))
    body = {"requestId": "hand", "agentType": "Explore", "prompt": "?"}
    hand = store.place.state / "requests" / "hand.json"
    hand.write_text(json.dumps(body))
    ahead = START_US / 1e6 + 86_400
    for path in store.place.state.rglob("*"):
        os.utime(path, (ahead, ahead))

    assert store.sweep(everything=True) == 0
    assert finish_everything(store).keys() == {"a", "hand"}
    assert store.prune(older_than_days=365).requests == 0
