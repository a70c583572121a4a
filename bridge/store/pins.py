"""Where an open session belongs: decided once, when it is first seen.

    pins/<session>.<pid>/by-<kind>  which of several installs acts for it
    pins/<session>.<pid>/state      a link to its state directory
    pins/<session>.<pid>/project    a link to its project
    pins/<session>.<pid>/main       a link to the main worktree of that, if there is one
    pins/<session>.<pid>/host       its process
    pins/<session>.<pid>/agents     an agent of ours may be among its subagents

They lie in the guard of the state directory: `~/.hostbridge`, or BRIDGE_STATE_DIR. A
project that is renamed, or that becomes part of a repository above it, keeps the state
in which its open sessions began. `/clear` and `/resume` give a process another session
id: the pin of the earlier one tells where it belongs.

The shell half of a hook (hooks/lib.sh) looks at these names and reads no file, so
nothing that lies there can delay it. A pin appears whole or not at all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from bridge.config import Settings
from bridge.errors import StateUnavailable
from bridge.protocol import plain_json
from bridge.protocol.claim import HostProcess
from bridge.store.host_process import Liveness, identify, liveness
from bridge.store.location import Place
from bridge.store.plain_file import read_start
from bridge.store.store import Store

_BY = "by-"
_AGENTS = "agents"
_MAX_BYTES = 4096
_LEFT_OVER_S = 3600


class Pins:
    """The pins in one guard. No link among them is followed."""

    def __init__(self, guard: Path) -> None:
        """Look in this guard."""
        self._guard = guard
        self._folder = f"{guard}/pins"
        self._hosts: dict[str, HostProcess] = {}

    @classmethod
    def of(cls, settings: Settings) -> Pins:
        """The pins of the sessions that have these settings."""
        return cls(settings.state_dir or settings.home)

    def find(
        self, session_id: str, host: HostProcess, *, starts: bool = False
    ) -> Place | None:
        """Where the session of a process belongs; None if that is not yet decided.

        A session that only `starts` follows no earlier session of its process.
        """
        own = _name(session_id, host)
        others = (name for name in self._names() if name.endswith(f".{host.pid}"))
        for name in (own, *(() if starts else others)):
            if self._host(name) == host:
                return self._place(name)
        return None

    def places(self) -> list[Place]:
        """Where any session belongs, each once."""
        found = map(self._place, self._names())
        return list(dict.fromkeys(place for place in found if place is not None))

    def clients(self) -> set[int]:
        """The processes of all sessions that are open."""
        hosts = filter(None, map(self._host, self._names()))
        return {host.pid for host in hosts if liveness(host) is Liveness.ALIVE}

    def of_processes(self, pids: Iterable[int]) -> Iterator[tuple[int, Place]]:
        """Where the sessions of processes belong, and of which.

        A process that cannot be seen from here (in a sandbox) is known only by its pid.
        """
        names = self._names()
        for pid in pids:
            mine = [name for name in names if name.endswith(f".{pid}")]
            seen = identify(pid) if mine else None
            held = (name for name in mine if seen in (None, self._host(name)))
            places = filter(None, map(self._place, held))
            yield from ((pid, place) for place in dict.fromkeys(places))

    def own(
        self,
        store: Store,
        session_id: str,
        kind: str,
        host: HostProcess,
        *,
        starts: bool = False,
    ) -> bool:
        """Whether the install `kind` acts for a session: the first one that asks does.

        This is decided again if another process resumes the session: it may have other
        installs. If nothing can be written, every install acts: a repeated denial does
        no harm, but a missing one lets an agent's dialog reach the user.
        """
        with store.state():
            pass  # makes and checks the guard, in which the pins lie
        name = _name(session_id, host)
        try:
            if self._host(name) != host:
                # A session that is first seen now may already have agents of ours.
                agents = [] if starts else [_AGENTS]
                self._make(store, name, host, [_BY + kind, *agents])
            elif not self._kinds(name):
                self._write(f"{name}/{_BY}{kind}")
        except (OSError, StateUnavailable):
            return True
        # If an uninstall has just taken it away again, no other acts either.
        return self._host(name) != host or self._kinds(name)[:1] in ([], [kind])

    def note_agents(self, session_id: str, host: HostProcess) -> None:
        """Let the shell handle permission requests of this session from now on."""
        with suppress(FileNotFoundError):  # no install: the events come from a test
            self._write(f"{_name(session_id, host)}/{_AGENTS}")

    def forget(self, session_id: str, host: HostProcess) -> None:
        """Remove the pin of a session."""
        self._remove(_name(session_id, host))

    def disown(self, kind: str, place: Place | None = None) -> None:
        """An install is gone: let another act for the sessions it acted for.

        Only for those that belong to `place`, if it is given.
        """
        for name in self._names():
            if place is None or self._belongs(name, place):
                self._remove(f"{name}/{_BY}{kind}")

    def unserved(
        self, place: Place | None = None
    ) -> Iterator[tuple[str, HostProcess, Place]]:
        """The open sessions that no install acts for: id, process, where they belong.

        Only those that belong to `place`, if it is given.
        """
        for name in self._names():
            if self._kinds(name) or not (place is None or self._belongs(name, place)):
                continue
            host, where = self._host(name), self._place(name)
            if host and where and liveness(host) is not Liveness.GONE:
                yield name.rpartition(".")[0], host, where

    def acts(self, kind: str, place: Place) -> bool:
        """Whether an install acts for any open session that belongs to `place`."""
        return any(
            kind in self._kinds(name) and self._belongs(name, place)
            for name in self._names()
        )

    def forget_gone(self) -> None:
        """Remove the pins of processes that are gone, and leftovers of a kill."""
        for name in self._names(temporary=True):
            host = self._host(name)
            is_gone = host is not None and liveness(host) is Liveness.GONE
            if is_gone or (name[0] == "." and self._age_s(name) > _LEFT_OVER_S):
                self._remove(name)

    def _names(self, *, temporary: bool = False) -> list[str]:
        with suppress(OSError):
            names = os.listdir(self._folder)
            return [name for name in names if temporary or name[0] != "."]
        return []

    def _host(self, name: str) -> HostProcess | None:
        """The process of a pin, read once; None for anything but a pin."""
        if name in self._hosts:
            return self._hosts[name]
        data = read_start(f"{self._folder}/{name}/host", _MAX_BYTES)
        if not data:
            return None
        with suppress(ValueError):
            self._hosts[name] = HostProcess.model_validate(plain_json.loads(data))
            return self._hosts[name]
        return None

    def _kinds(self, name: str) -> list[str]:
        """The installs that act for a session; if two tried at once, the first does."""
        with suppress(OSError):
            found = sorted(os.listdir(f"{self._folder}/{name}"))
            return [each.removeprefix(_BY) for each in found if each.startswith(_BY)]
        return []

    def _link(self, name: str, key: str) -> str | None:
        """The target of a pin's link; None if there is none."""
        with suppress(OSError):
            return os.readlink(f"{self._folder}/{name}/{key}")
        return None

    def _belongs(self, name: str, place: Place) -> bool:
        return self._link(name, "state") == str(place.state)

    def _place(self, name: str) -> Place | None:
        """The place that a pin names; None if it is not one that we would write."""
        state, project = self._link(name, "state"), self._link(name, "project")
        main = self._link(name, "main")
        if state is None or project is None:
            return None
        below = Path(state)
        if not below.is_relative_to(self._guard):
            return None
        if ".." in below.relative_to(self._guard).parts:
            return None
        reason = "the session began in it"
        return Place(
            Path(project), below, self._guard, reason, Path(main) if main else None
        )

    def _age_s(self, name: str) -> float:
        with suppress(OSError):
            return time.time() - os.lstat(f"{self._folder}/{name}").st_mtime
        return 0

    def _make(
        self, store: Store, name: str, host: HostProcess, signs: list[str]
    ) -> None:
        """Make a pin, unless another install is quicker.

        The pin of another process is replaced.
        """
        place = store.place
        links = {"state": place.state, "project": place.project, "main": place.main}
        temporary = f".{name}.{os.urandom(6).hex()}"
        with suppress(FileExistsError):
            os.mkdir(self._folder, 0o700)
        try:
            os.mkdir(f"{self._folder}/{temporary}", 0o700)
            for key, target in links.items():
                if target is not None:
                    os.symlink(target, f"{self._folder}/{temporary}/{key}")
            self._write(f"{temporary}/host", plain_json.dumps(host.to_data()))
            for sign in signs:
                self._write(f"{temporary}/{sign}")
            try:
                self._rename(temporary, name)
            except OSError:
                with store.exclusive():
                    if self._host(name) == host:
                        return
                    self._remove(name)
                    self._rename(temporary, name)
        finally:
            self._remove(temporary)

    def _write(self, file: str, data: bytes = b"") -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        fd = os.open(f"{self._folder}/{file}", flags, 0o600)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)

    def _rename(self, temporary: str, name: str) -> None:
        """Fails if there is anything but an empty folder."""
        self._hosts.pop(name, None)
        os.rename(f"{self._folder}/{temporary}", f"{self._folder}/{name}")

    def _remove(self, name: str) -> None:
        """Remove a pin, or a sign of it, if it is there."""
        self._hosts.pop(name, None)
        path = f"{self._folder}/{name}"
        try:
            os.unlink(path)
        except FileNotFoundError:
            return
        except OSError:
            # Most hooks remove nothing, and the import is slow.
            import shutil

            shutil.rmtree(path, ignore_errors=True)


def _name(session_id: str, host: HostProcess) -> str:
    return f"{session_id}.{host.pid}"
