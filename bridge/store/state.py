"""A state directory: its folders, opened as they are needed, for one operation.

This also handles unreadable files: they are moved to quarantine if the lock is held,
and treated as absent if it is not.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Self

from bridge.errors import NewerSchema, StateRefused, StateUnavailable, StateVanished
from bridge.protocol.ids import check_id, is_id
from bridge.protocol.record import Unparsable, parse
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.status import Status
from bridge.store.clock import Clock, SystemClock, uptime
from bridge.store.directory import Folder, NotAPlainFile
from bridge.store.journal import note
from bridge.store.location import Place, open_state
from bridge.store.lock import TURN_S, LockBusy, locked
from bridge.store.records import (
    is_young,
    load_key,
    put_aside,
    read_request,
    read_response,
)

# So many files of each folder are read only once in one operation.
_KEPT_FILES = 16
# The minimum wait for the lock, even at a deadline: it is mostly held for less.
_MOMENT_S = 0.2
_NEVER_S = float("inf")
USED = "the request id was used before"


def file_of(request_id: str) -> str:
    """The file name of a request, in whichever folder.

    Raises:
        InvalidRequest: it is not an id, so it could be a path.
    """
    return f"{check_id(request_id)}.json"


@contextmanager
def in_our_words(place: Place) -> Iterator[None]:
    """Turn a system error into one that names the place and the way out."""
    try:
        yield
    except NotAPlainFile as exc:
        raise StateRefused(Path(exc.path), exc.problem, exc.cure) from None
    except OSError as exc:
        if exc.errno is None:
            raise
        if exc.errno == errno.ENOENT:
            raise StateVanished(
                f"{place.state} was removed or replaced while it was in use"
            ) from exc
        where = f"{place.state}"
        # If a single file fails, and not the machine, its reader names it.
        if exc.errno == errno.EIO and f"{exc.filename}".startswith(f"{where}/"):
            where = exc.filename
        raise StateUnavailable(
            f"{where}: {os.strerror(exc.errno)}; see `hostbridge doctor`"
        ) from exc


class _Turn:
    """Whether an open state holds the store's lock, and whether it had it before."""

    is_held = False
    was_held = False


class State:
    """A state directory: where it lies and, once it is open, its folders and records.

    Args:
        place: where it lies.
        clock: wall clock and monotonic clock.
        lock_wait_s: how long a transition without a deadline may wait for the lock.
        lease_s: how long an unseen host counts as alive after its last heartbeat.

    Attributes:
        directory: the state directory itself.
        make: whether a sub-folder that is not there is made, or is empty.
        unread: names met in `requests/` whose file stays there and cannot be read:
            it is of a newer hostbridge; or young, so that it may still be written,
            which is also said of one that the disk fails to give; or broken, and only
            who holds the lock may put it aside.
    """

    directory: Folder
    make: bool
    unread: dict[str, Literal["newer", "young", "broken"]]
    _folders: dict[str, Folder]
    _stack: ExitStack
    _turn: _Turn
    _key: bytes | None
    # The claimed requests that were read, beside the bytes they came from.
    _parsed: dict[str, tuple[bytes, Request]]
    _last_ended: tuple[bytes, Request | None]

    def __init__(
        self,
        place: Place,
        *,
        clock: Clock | None = None,
        lock_wait_s: float = 10.0,
        lease_s: float = 900.0,
    ) -> None:
        self.place = place
        self.clock = clock or SystemClock()
        self.lease_s = lease_s
        self._lock_wait_s = lock_wait_s
        self._deadline_s = _NEVER_S
        self._is_open = False

    def until(self, deadline_s: float) -> Self:
        """The same with a deadline on the monotonic clock.

        After it, an operation waits for the lock only for a moment.
        """
        return self._with(_deadline_s=deadline_s)

    def at(self, place: Place) -> Self:
        """The same for somebody who works in another folder; the same state."""
        return self._with(place=place)

    def _with(self, **changes: Any) -> Self:
        other = object.__new__(type(self))
        vars(other).update(vars(self) | changes)
        return other

    @property
    def lock_wait_s(self) -> float:
        """How long to wait for the lock from now on."""
        if self._deadline_s == _NEVER_S:
            return self._lock_wait_s
        # A deadline is all the patience that is needed, and as much.
        return max(self._deadline_s - self.clock.monotonic_s(), _MOMENT_S)

    def exists(self) -> bool:
        """Whether there is a state directory, or something in its place.

        Without one, nothing was ever asked here; readers need not make it.
        """
        return os.path.lexists(self.place.state)

    @contextmanager
    def open(self, *, make: bool = True) -> Iterator[Self]:
        """The same, held open for one operation: use it within the block.

        The directory is made unless `make` is false; then missing folders are empty.

        Raises:
            StateVanished: there is no state directory, and it is not to be made.
        """
        if self._is_open:
            yield self
            return
        with in_our_words(self.place):
            directory = open_state(self.place, make=make)
        with directory, ExitStack() as stack:
            yield self._with(
                directory=directory,
                make=make,
                unread={},
                _folders={},
                _stack=stack,
                _turn=_Turn(),
                _key=None,
                _parsed={},
                _last_ended=(b"", None),
                _is_open=True,
            )

    @contextmanager
    def state(self, *, make: bool = True) -> Iterator[Self]:
        """As `open`, with the system's errors within the block in our words."""
        with in_our_words(self.place), self.open(make=make) as opened:
            yield opened

    @contextmanager
    def folder(self, name: str) -> Iterator[Folder]:
        """One folder of records, open for the block."""
        with self.state() as state:
            yield state[name]

    def __getitem__(self, name: str) -> Folder:
        """The sub-folder `name` of an open state, made on demand."""
        if name not in self._folders:
            opened = self.directory.folder(name, make=self.make)
            folder = self._stack.enter_context(opened)
            folder.kept.limit = _KEPT_FILES
            self._folders[name] = folder
        return self._folders[name]

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the store's lock for the block; raises as `locked`.

        Inside a block that holds it already, this does nothing.
        """
        if self._turn.is_held:
            yield
            return
        with locked(self.directory, wait_s=self.lock_wait_s):
            self._turn.is_held = True
            try:
                yield
            finally:
                self._turn.is_held = False

    @contextmanager
    def hold_if_free(self) -> Iterator[None]:
        """As `hold`, but go on without the lock if it is not free in time."""
        with ExitStack() as stack:
            with suppress(LockBusy):
                stack.enter_context(self.hold())
            yield

    @contextmanager
    def hold_in_turns(self) -> Iterator[None]:
        """As `hold`, for one round of a loop: between rounds others get the lock."""
        if self._turn.was_held and not self._turn.is_held:
            time.sleep(TURN_S)
        self._turn.was_held = True
        with self.hold():
            yield

    def now_ms(self) -> int:
        """The wall clock, milliseconds since 1970."""
        return self.clock.now_us() // 1000

    def note(self, event: str, request_id: str, **facts: Any) -> None:
        """Add a line to the journal if possible."""
        note(self.directory, self.now_ms(), event, request_id, **facts)

    def key(self) -> bytes:
        """The key that seals responses."""
        if self._key is None:
            self._key = load_key(self.directory)
        return self._key

    # Records

    def find_waiting(self, name: str) -> Request | None:
        """The request in `requests/`; a claim written into it is ignored."""
        request = self._request("requests", name)
        if request is None or request.claim is None:
            return request
        return request.with_(claim=None, status=Status.PENDING)

    def find_claimed(self, name: str) -> Request | None:
        """The request in `processing/`, with its claim unless a kill came first."""
        return self._request("processing", name)

    def live(self, name: str) -> Request | None:
        """The unfinished request, wherever it is."""
        return self.find_claimed(name) or self.find_waiting(name)

    def ended(self, name: str) -> Request | None:
        """The request in `done/`."""
        with suppress(Unparsable, NewerSchema, NotAPlainFile):
            data = self["done"].read(f"{name}.json")
            # Its response is checked by it first.
            if data and data != self._last_ended[0]:
                self._last_ended = data, parse(Request, data)
            return self._last_ended[1] if data else None
        return None

    def response(self, name: str) -> Response | None:
        """The response, if hostbridge wrote it for this request.

        Raises:
            NewerSchema: a newer hostbridge wrote it.
        """
        try:
            return read_response(self["responses"], name, self.key, self._fits)
        except (Unparsable, NotAPlainFile) as exc:
            if self._turn.is_held:
                self.put_aside("responses", f"{name}.json", str(exc))
            return None

    def is_answered(self, name: str) -> bool:
        """Whether there is a response, even one of a newer hostbridge."""
        try:
            return self.response(name) is not None
        except NewerSchema:
            return True

    def _fits(self, response: Response) -> bool:
        """Whether a response belongs to the request that has its id.

        Somebody may reuse an id and put an old answer back. A response without a digest
        is from an older hostbridge: it counts if its request has ended, or if no
        request has its id.
        """
        name = response.request_id
        if self["done"].has(file_of(name)):
            request = None
            with suppress(OSError):
                request = self.ended(name)
            if request is None or request.request_id != name:
                return True
            return response.request_digest in ("", request.digest)
        # In the order of a request's life.
        for folder in ("requests", "processing", "done"):
            request = self._peek(folder, name)
            if request is not None:
                return response.request_digest == request.digest
        return True

    def _peek(self, folder: str, name: str) -> Request | None:
        """The request in a file; None if it cannot be read as one."""
        with suppress(Unparsable, NotAPlainFile, NewerSchema, OSError):
            return self._read(folder, name)
        return None

    def _read(self, folder: str, name: str) -> Request | None:
        now_ms = self.now_ms()
        known = self._parsed if folder == "processing" else None
        request = read_request(self[folder], name, now_ms, known)
        if request is None or request.uptime is None:
            return request
        return request.on_clock(now_ms, uptime(self.clock))

    def _request(self, folder: str, name: str) -> Request | None:
        unread = self.unread if folder == "requests" else {}
        unread.pop(name, None)
        try:
            return self._read(folder, name)
        except NewerSchema:
            unread[name] = "newer"
        except (Unparsable, NotAPlainFile) as exc:
            file = f"{name}.json"
            if is_young(self[folder], file, self.now_ms()):
                unread[name] = "young"
            elif self._turn.is_held:
                self.put_aside(folder, file, str(exc))
            else:
                unread[name] = "broken"
        except OSError as exc:
            # A failing disk may read it the next time: leave it there, and go on with
            # the others. A claimed request is never treated as absent.
            if exc.errno != errno.EIO or folder != "requests":
                raise
            unread[name] = "young"
        return None

    # Files

    def put_aside(self, folder: str, file: str, why: str) -> None:
        """Move a file of `folder` to quarantine, for `why`; the lock is held."""
        assert self._turn.is_held, "putting aside takes the lock"  # noqa: S101
        put_aside(self.directory, self[folder], file, why, self.now_ms())

    def make_way(self, folder: str, file: str) -> None:
        """Move away whatever has the name `file` in `folder`. The lock is held."""
        if self[folder].has(file):
            self.put_aside(folder, file, USED)

    def ids(self, folder: str) -> list[str]:
        """The ids that have a file in `folder`, unordered; other files are left out."""
        return [name for name in self[folder].names() if is_id(name)]
