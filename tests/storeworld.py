"""A store for tests, with requests, and hosts that live or are gone."""

import fcntl
import itertools
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bridge.protocol.claim import HostProcess
from bridge.protocol.request import Request
from bridge.protocol.response import Response, answered
from bridge.store import Claimant
from bridge.store.host_process import identify
from bridge.store.location import Place
from bridge.store.state import State
from bridge.store.store import Store

ROOMS = ("requests", "processing", "done")
START_US = 1_800_000_000_000_000

_numbers = itertools.count(1)


class FakeClock:
    """A clock that stands still until it is told to go on."""

    def __init__(self, now_us: int = START_US) -> None:
        self._now_us = now_us
        self._monotonic_s = 1000.0

    def now_us(self) -> int:
        return self._now_us

    def monotonic_s(self) -> float:
        return self._monotonic_s

    def go_on(self, seconds: float) -> None:
        """Both clocks advance."""
        self.set_wall(seconds)
        self._monotonic_s += seconds

    def set_wall(self, seconds: float) -> None:
        """Somebody sets the wall clock; time itself does not change."""
        self._now_us += int(seconds * 1_000_000)


def place_in(folder: Path) -> Place:
    """As `locate` would say it, for a project two folders deep."""
    home = folder / "home"
    state = home / "state" / "srv" / "app" / "@"
    return Place(folder / "srv" / "app", state, home, "a test names it")


def store_in(folder: Path, **how: Any) -> Store:
    """A store whose state lies in `folder`."""
    how.setdefault("lock_wait_s", 5.0)
    return Store(place_in(folder), **how)


class CountingStore(Store):
    """Counts in `opened` how often the state directory is opened."""

    opened = 0

    @contextmanager
    def open(self, *, make: bool = True) -> Iterator[State]:
        self.opened += 1
        with super().open(make=make) as state:
            yield state


def request(request_id: str = "", **fields: Any) -> Request:
    """A request of now, with a long deadline, unless `fields` say otherwise."""
    number = next(_numbers)
    # Whoever gives a key asks the same with it.
    about = fields.get("dedup_key", number)
    fields.setdefault("prompt", f"Question {about}: what is it?")
    fields.setdefault("created_at", START_US // 1000)
    fields.setdefault("timeout", 10 * 365 * 86_400_000)
    return Request(request_id=request_id or f"test-{number}", **fields)


def this_process() -> HostProcess:
    """This very process, as a host."""
    host = identify(os.getpid())
    assert host is not None
    return host


def dead_process() -> HostProcess:
    """A host whose process is gone."""
    child = subprocess.Popen(["sleep", "600"])
    host = identify(child.pid)
    child.kill()
    child.wait()
    assert host is not None
    return host


def unseen_process() -> HostProcess:
    """A host in a container: its pid means nothing here."""
    return this_process().with_(pid_namespace="pid:[4]")


def claimant(host: HostProcess | None = None, session: str = "session-1") -> Claimant:
    """A session that claims."""
    return Claimant(session, host or this_process())


def take(_request: Request) -> str:
    """The verdict of a claimer that takes everything."""
    return "take"


def claim_all(store: Store, host: HostProcess | None = None) -> list[Request]:
    """Claim whatever waits."""
    return store.claim(claimant(host), 10_000, take)  # type: ignore[arg-type]


def answer(asked: Request, text: str = "it is so", **fields: Any) -> Response:
    """A valid answer."""
    fields.setdefault("now_ms", START_US // 1000 + 1000)
    parsed = {"status": "success", "summary": text}
    raw = json.dumps(parsed)
    return answered(asked, raw=raw, parsed=parsed, route="host", **fields)


def path_of(store: Store, room: str, request_id: str = "") -> Path:
    """A folder of the state, or the file of a request in it."""
    folder = store.place.state / room
    return folder / f"{request_id}.json" if request_id else folder


def drop(store: Store, room: str, name: str, content: bytes | str) -> Path:
    """Put a file there as another program would, long ago."""
    data = content.encode() if isinstance(content, str) else content
    path = path_of(store, room) / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (START_US / 1e6 - 3600, START_US / 1e6 - 3600))
    return path


def put_odd(path: Path, kind: str, target: Path) -> None:
    """Put something there that is no plain file; a link leads to the target."""
    match kind:
        case "link":
            path.symlink_to(target)
        case "dangling":
            path.symlink_to(target.with_name("nowhere"))
        case "loop":
            path.symlink_to(path.name)
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "socket":
            make_socket(path)


def make_socket(path: Path) -> None:
    """Put a socket there; its whole path may be too long for one."""
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as end:
        os.chdir(path.parent)
        try:
            end.bind(path.name)
        finally:
            os.chdir(here)


def is_free(path: Path) -> bool:
    """Whether nobody holds a lock on the file, as another open file sees that."""
    with path.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every visible file below `folder`, with its content; None for a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


def folders_of(store: Store, request_id: str) -> list[str]:
    """In which folders the request lies."""
    return [room for room in ROOMS if path_of(store, room, request_id).exists()]


def quarantined(store: Store) -> dict[str, str]:
    """Reason by original file name, for everything in quarantine."""
    folder = path_of(store, "quarantine")
    reasons = [json.loads(path.read_text()) for path in sorted(folder.glob("*.reason"))]
    return {Path(one["from"]).name: one["reason"] for one in reasons}


def finish_everything(store: Store) -> dict[str, Response]:
    """Do all that is left to do, as a fresh process would; the responses by id."""
    store.sweep(everything=True)
    claim_all(store)
    for held in store.claimed():
        store.publish(answer(held, "finished later"), source="test")
    assert store.claimed() == []
    assert store.waiting() == []
    found = {}
    for path in path_of(store, "responses").glob("*.json"):
        one = store.find(path.stem)  # type: ignore[arg-type]
        if one is not None and one.response is not None:
            found[path.stem] = one.response
            # A prune that was killed leaves the response alone.
            assert folders_of(store, path.stem) in (["done"], []), path.stem
    return found
