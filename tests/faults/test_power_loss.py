"""The power goes at any moment; what was promised is on the disk.

All that an exchange does to files is written down, call by call. Then the disk is built
again as a power cut could have left it: names in the order in which they were made, up
to any point not before the last fsync (a journal keeps order, and an fsync writes it
out); of files that were not yet fsynced themselves, the name without the content. On
each of these disks a fresh store must find what submit and publish had promised.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from faultlab import scratch, tell
from storeworld import (
    FakeClock,
    answer,
    claimant,
    dead_process,
    finish_everything,
    request,
    store_in,
    take,
)

from bridge.protocol.ids import RequestId
from bridge.store.store import Store

pytestmark = [pytest.mark.faults, pytest.mark.slow]


@dataclass(frozen=True)
class Step:
    """One call: what it did, to which path; `inode` names the file behind it."""

    what: str
    path: str
    target: str = ""
    inode: int = 0
    data: bytes = b""


class Recorder:
    """Writes down what the process does to files, and what it has promised by when."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.root = str(root)
        self.steps: list[Step] = []
        self.promises: list[tuple[int, str, str]] = []
        for name in ("open", "write", "fsync", "link", "rename", "unlink", "mkdir"):
            patch.setattr(os, name, self._recorded(name, getattr(os, name)))

    def promise(self, kind: str, request_id: str) -> None:
        """From this moment on, no power cut may take it back."""
        self.promises.append((len(self.steps), kind, request_id))

    def _recorded(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args, **kwargs):
            result = real(*args, **kwargs)
            for step in self._steps(name, args, kwargs, result):
                if step.path.startswith(self.root):
                    self.steps.append(step)
            return result

        return call

    def _steps(self, name: str, args: Any, kwargs: Any, result: Any) -> Iterator[Step]:
        if name == "open":
            if args[1] & os.O_CREAT:
                inode = os.fstat(result).st_ino
                yield Step("create", path_at(args[0], kwargs.get("dir_fd")), "", inode)
        elif name == "write":
            inode, data = os.fstat(args[0]).st_ino, bytes(args[1])[:result]
            yield Step("write", path_of_fd(args[0]), "", inode, data)
        elif name == "fsync":
            yield Step("fsync", path_of_fd(args[0]), "", os.fstat(args[0]).st_ino)
        elif name in ("link", "rename"):
            source = path_at(args[0], kwargs.get("src_dir_fd"))
            yield Step(name, source, path_at(args[1], kwargs.get("dst_dir_fd")))
        else:
            yield Step(name, path_at(args[0], kwargs.get("dir_fd")))


def path_of_fd(fd: int) -> str:
    return os.readlink(f"/proc/self/fd/{fd}")


def path_at(name: Any, dir_fd: int | None) -> str:
    text = os.fspath(name)
    return text if dir_fd is None else f"{path_of_fd(dir_fd)}/{text}"


def build(steps: list[Step], names_until: int, cut: int, root: str, disk: Path) -> None:
    """Make the disk: names up to `names_until`, content as fsynced before `cut`."""
    synced: dict[int, int] = {}
    for number, step in enumerate(steps[:cut]):
        if step.what == "fsync":
            synced[step.inode] = number
    content: dict[int, bytes] = {}
    for number, step in enumerate(steps[:cut]):
        if step.what == "write" and number < synced.get(step.inode, -1):
            content[step.inode] = content.get(step.inode, b"") + step.data
    names: dict[str, int | None] = {}
    for step in steps[:names_until]:
        apply(step, names)
    for path, inode in sorted(names.items()):
        there = disk / os.path.relpath(path, root)
        if inode is None:
            there.mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            there.write_bytes(content.get(inode, b""))


def apply(step: Step, names: dict[str, int | None]) -> None:
    if step.what == "create":
        names.setdefault(step.path, step.inode)
    elif step.what == "mkdir":
        names[step.path] = None
    elif step.what == "link":
        names[step.target] = names[step.path]
    elif step.what == "rename":
        names[step.target] = names.pop(step.path)
    elif step.what == "unlink":
        names.pop(step.path, None)


def exchange(store: Store, recorder: Recorder) -> None:
    """Two requests: one answered, one taken by a host that dies, and given back."""
    dead = claimant(dead_process())
    store.submit(request("a", dedup_key="k", max_attempts=9))
    recorder.promise("there", "a")
    (mine,) = store.claim(dead, 1, take)
    store.submit(request("b", max_attempts=9))
    recorder.promise("there", "b")
    store.change_claim(RequestId("a"), dead.host, lambda c: c)
    assert store.publish(answer(mine, "for ever"), source="test")
    recorder.promise("answered", "a")
    store.publish(answer(mine, "too late"), source="test")
    store.claim(dead, 9, take)
    store.sweep(everything=True)
    (mine,) = store.claim(dead, 9, take)
    store.submit(request("c", max_attempts=9))
    recorder.promise("there", "c")
    assert store.publish(answer(mine, "for ever"), source="test")
    recorder.promise("answered", mine.request_id)


def test_no_power_cut_takes_a_promise_back(monkeypatch):
    folder = scratch()
    with monkeypatch.context() as patch:
        recorder = Recorder(folder / "live", patch)
        (folder / "live").mkdir()
        exchange(store_in(folder / "live", clock=FakeClock()), recorder)
    steps = recorder.steps
    cases = 0
    for cut in range(len(steps) + 1):
        written = max(
            (n + 1 for n, step in enumerate(steps[:cut]) if step.what == "fsync"),
            default=0,
        )
        for names_until in range(written, cut + 1):
            disk = folder / "disk"
            disk.mkdir()
            build(steps, names_until, cut, str(folder / "live"), disk)
            promised = [p[1:] for p in recorder.promises if p[0] <= cut]
            check(disk, promised, f"cut {cut}, names until {names_until}")
            shutil.rmtree(disk)
            cases += 1
    shutil.rmtree(folder)
    assert cases > 100
    tell(f"{len(steps)} calls, {cases} disks")


def check(disk: Path, promised: list[tuple[str, str]], where: str) -> None:
    store = store_in(disk, clock=FakeClock())
    ended = finish_everything(store)
    for kind, request_id in promised:
        assert request_id in ended, (where, kind, request_id)
        summary = ended[request_id].parsed_output["summary"]
        if kind == "answered":
            assert summary == "for ever", (where, request_id)
