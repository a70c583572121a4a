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

The shell half of a hook (hooks/lib.sh) looks at these names and reads no file: what
lies there instead cannot keep it. A pin appears whole or not at all.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from bridge.errors import StateUnavailable
from bridge.protocol.request import HostProcess
from bridge.store.host_process import Liveness, identify, liveness
from bridge.store.location import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.config import Settings
    from bridge.host.events import HookEvent
    from bridge.store.store import Store

_BY = "by-"
_AGENTS = "agents"
_MAX_BYTES = 4096
_LEFT_OVER_S = 3600


def reader_for(settings: Settings) -> Pins:
    """What reads the pins of these settings, for `find` and `own` in one hook."""
    return Pins(settings.state_dir or settings.home)


def find(
    pins: Pins, session_id: str, host: HostProcess, *, starts: bool = False
) -> Place | None:
    """Where the session of a process belongs; None where nobody has decided yet.

    One that only `starts` follows no earlier session of its process.
    """
    own = _name(session_id, host)
    others = (name for name in pins.names() if name.endswith(f".{host.pid}"))
    for name in (own, *(() if starts else others)):
        if pins.host(name) == host:
            return pins.place(name)
    return None


def of_process(settings: Settings, pid: int) -> list[Place]:
    """Which project the sessions of a process belong to.

    A process that cannot be seen from here (a sandbox) is known only by its pid.
    """
    pins = reader_for(settings)
    names = [name for name in pins.names() if name.endswith(f".{pid}")]
    seen = identify(pid) if names else None
    held = [name for name in names if seen in (None, pins.host(name))]
    places = (pins.place(name) for name in held)
    return list(dict.fromkeys(place for place in places if place is not None))


def own(
    pins: Pins, store: Store, event: HookEvent, kind: str, host: HostProcess
) -> bool:
    """Whether the install `kind` acts for a session: the first one that asks does.

    This is decided again for a session that another process resumes: it may have other
    installs. If nothing can be written, every install acts: a repeated denial does no
    harm, a missing one lets an agent's dialog reach the user.
    """
    with store.state():
        pass  # made and checked on the way: the pins lie above it
    name = _name(event.text("session_id"), host)
    try:
        if pins.host(name) != host:
            # A session that is first seen now may already have agents of ours.
            fresh = event.name == "SessionStart" and event.text("source") == "startup"
            _put(pins, store, name, kind, host, agents=not fresh)
        elif not pins.kinds(name):
            pins.touch(name, _BY + kind)
    except (OSError, StateUnavailable):
        return True
    return pins.host(name) != host or pins.kinds(name)[:1] == [kind]


def _put(
    pins: Pins,
    store: Store,
    name: str,
    kind: str,
    host: HostProcess,
    *,
    agents: bool,
) -> None:
    """Make a pin, unless another install is quicker; replace one of another process."""
    place = store.place
    links = {"state": place.state, "project": place.project, "main": place.main}
    temporary = pins.make(
        name, {key: str(path) for key, path in links.items() if path}, host
    )
    try:
        pins.touch(temporary, _BY + kind)
        if agents:
            pins.touch(temporary, _AGENTS)
        try:
            pins.rename(temporary, name)
        except OSError:
            with store.exclusive():
                if pins.host(name) == host:
                    return
                pins.remove(name)
                pins.rename(temporary, name)
    finally:
        pins.remove(temporary)


def note_agents(place: Place, session_id: str, host: HostProcess) -> None:
    """Let the shell handle permission requests of this session from now on."""
    with suppress(FileNotFoundError):  # no install: the events come from a test
        Pins(place.guard).touch(_name(session_id, host), _AGENTS)


def remove(place: Place, session_id: str, host: HostProcess) -> None:
    """Remove the pin of a session."""
    Pins(place.guard).remove(_name(session_id, host))


def disown(place: Place, kind: str) -> None:
    """An install is gone: let another act for the sessions it acted for."""
    pins = Pins(place.guard)
    for name in pins.names():
        if pins.link(name, "state") == str(place.state):
            pins.remove(f"{name}/{_BY}{kind}")


def acts(place: Place, kind: str) -> bool:
    """Whether an install acts for any open session of a project."""
    pins = Pins(place.guard)
    return any(
        kind in pins.kinds(name) and pins.link(name, "state") == str(place.state)
        for name in pins.names()
    )


def forget_gone(place: Place) -> None:
    """Remove the pins of processes that are gone, and leftovers of a kill."""
    pins = Pins(place.guard)
    for name in pins.names():
        host = pins.host(name)
        if host is not None and liveness(host) is Liveness.GONE:
            pins.remove(name)
    pins.remove_left_over()


def _name(session_id: str, host: HostProcess) -> str:
    return f"{session_id}.{host.pid}"


class Pins:
    """The folder of the pins, by paths: nothing here follows a link."""

    def __init__(self, guard: Path) -> None:
        """Read what lies in this guard."""
        self._folder = f"{guard}/pins"
        self._guard = str(guard)
        self._hosts: dict[str, HostProcess] = {}

    def names(self) -> list[str]:
        """The names of all pins."""
        with suppress(OSError):
            return [name for name in os.listdir(self._folder) if name[0] != "."]
        return []

    def host(self, name: str) -> HostProcess | None:
        """The process of a pin, read once; None for anything but a pin."""
        if name in self._hosts:
            return self._hosts[name]
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with suppress(OSError, ValueError):
            fd = os.open(f"{self._folder}/{name}/host", flags)
            try:
                data = orjson.loads(os.read(fd, _MAX_BYTES))
                self._hosts[name] = HostProcess.model_validate(data)
                return self._hosts[name]
            finally:
                os.close(fd)
        return None

    def kinds(self, name: str) -> list[str]:
        """The installs that act for a session; if two tried at once, the first does."""
        with suppress(OSError):
            found = sorted(os.listdir(f"{self._folder}/{name}"))
            return [each.removeprefix(_BY) for each in found if each.startswith(_BY)]
        return []

    def link(self, name: str, key: str) -> str | None:
        """The target of a pin's link; None if there is none."""
        with suppress(OSError):
            return os.readlink(f"{self._folder}/{name}/{key}")
        return None

    def place(self, name: str) -> Place | None:
        """The place that a pin names; None if it is not one that we would write."""
        state, project = self.link(name, "state"), self.link(name, "project")
        main = self.link(name, "main")
        if state is None or project is None:
            return None
        try:
            below = Path(state).relative_to(self._guard)
        except ValueError:
            return None
        if ".." in below.parts:
            return None
        return Place(
            Path(project),
            Path(state),
            Path(self._guard),
            "the session began in it",
            Path(main) if main else None,
        )

    def make(self, name: str, links: dict[str, str], host: HostProcess) -> str:
        """Prepare a pin under a temporary name."""
        with suppress(FileExistsError):
            os.mkdir(self._folder, 0o700)
        temporary = f".{name}.{os.urandom(6).hex()}"
        folder = f"{self._folder}/{temporary}"
        os.mkdir(folder, 0o700)
        try:
            for key, target in links.items():
                os.symlink(target, f"{folder}/{key}")
            data = orjson.dumps(host.to_data())
            fd = os.open(f"{folder}/host", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                os.write(fd, data)
            finally:
                os.close(fd)
        except OSError:
            self.remove(temporary)
            raise
        return temporary

    def touch(self, name: str, sign: str) -> None:
        """Add a sign to a pin."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        os.close(os.open(f"{self._folder}/{name}/{sign}", flags, 0o600))

    def rename(self, temporary: str, name: str) -> None:
        """Fails if there is anything but an empty folder."""
        self._hosts.pop(name, None)
        os.rename(f"{self._folder}/{temporary}", f"{self._folder}/{name}")

    def remove(self, name: str) -> None:
        """Remove a pin, or a sign of it."""
        self._hosts.pop(name, None)
        path = f"{self._folder}/{name}"
        with suppress(OSError):
            os.unlink(path)
            return
        _remove_tree(path)

    def remove_left_over(self) -> None:
        """Remove what a kill has left half finished."""
        for path in self._temporaries():
            with suppress(OSError):
                if time.time() - os.lstat(path).st_mtime > _LEFT_OVER_S:
                    _remove_tree(path)

    def _temporaries(self) -> Iterator[str]:
        with suppress(OSError):
            for name in os.listdir(self._folder):
                if name[0] == ".":
                    yield f"{self._folder}/{name}"


def _remove_tree(path: str) -> None:
    # Most hooks remove nothing, and the import is slow.
    import shutil

    shutil.rmtree(path, ignore_errors=True)
