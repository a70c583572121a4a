"""Which definitions of projects the user has trusted: `<home>/trust.json`, `trusted/`.

Each project (by its real path) has a list of definition files, and of rules files. Each
of these has the SHA-256 of the file and of every script and model of the project that
it names. Any change ends the trust in that one definition, and the file itself is
compared before a byte of it is parsed. A record that cannot be read trusts nothing.
Nothing can be trusted from inside a Claude Code session, whose model might be the one
that agrees.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Literal, Protocol

import orjson

from bridge.agents.files import Unreadable, digest_of_model, read_bytes
from bridge.config import SIGN_OF_AN_AGENT, SIGNS_OF_A_CLIENT, Settings
from bridge.errors import BridgeError, NewerSchema, StateRefused
from bridge.protocol.names import MODEL_FILE
from bridge.protocol.record import refuse_unknown
from bridge.store.directory import Folder, NotAPlainFile
from bridge.store.host_process import (
    UNSEEN_PID,
    behind,
    environment_of,
    has_terminal_from_below,
    is_left_behind,
)
from bridge.store.location import Place, open_state
from bridge.store.lock import locked

FILE = "trust.json"
# The texts of what was trusted, as they were, each by its SHA-256: with them, what has
# changed since can be shown. Nothing is trusted by them, and none counts whose text has
# another digest.
FOLDER = "trusted"
# All of them together; a definition that has no room is shown whole.
MAX_KEPT_BYTES = 16 * 1024 * 1024
VERSION = 1
_MAX_BYTES = 16 * 1024 * 1024
_LOCK_WAIT_S = 10.0

# The SHA-256 of each file, by its path in the project.
Digests = dict[str, str]


class Digested(Protocol):
    """What can be trusted: a definition, or a file of rules."""

    @property
    def file(self) -> Path:
        """The file itself."""

    @property
    def digests(self) -> dict[Path, str]:
        """The SHA-256 of it, and of each file that it names."""


class Trust:
    """What is trusted in one project, as it was when this was read."""

    def __init__(self, project: Path, definitions: Mapping[str, Digests]) -> None:
        self.project = project
        self._definitions = definitions

    @classmethod
    def read(cls, home: Path, project: Path) -> Trust:
        """Read the record; an unreadable one trusts nothing."""
        record = {}
        with suppress(BridgeError, OSError):
            record = _read(home)
        return cls(project, _definitions(record, project))

    def admits(self, file: Path, data: bytes) -> bool:
        """Whether a definition's file was trusted with exactly these bytes."""
        known = self._definitions.get(self._name(file), {})
        digest = hashlib.sha256(data).hexdigest()
        return known.get(self._name(file)) == digest

    def knows(self, file: Path) -> bool:
        """Whether a definition's file was ever trusted."""
        return self._name(file) in self._definitions

    def covers(self, loaded: Digested) -> bool:
        """Whether a definition is trusted with every file that was read for it."""
        known = self._definitions.get(self._name(loaded.file))
        return known is not None and known == self.digests_of(loaded)

    def changes_in(self, loaded: Digested) -> tuple[str, ...]:
        """Which of its files differ from the trusted ones; none if it is new."""
        known = self._definitions.get(self._name(loaded.file))
        if known is None:
            return ()
        now = self.digests_of(loaded)
        names = sorted(known.keys() | now.keys())
        return tuple(name for name in names if known.get(name) != now.get(name))

    def recorded(self, loaded: Digested) -> Digests:
        """What was recorded when a definition was trusted; empty if it is new."""
        return self._definitions.get(self._name(loaded.file), {})

    def digests_of(self, loaded: Digested) -> Digests:
        """What trusting a definition records."""
        return {self._name(path): digest for path, digest in loaded.digests.items()}

    def _name(self, file: Path) -> str:
        if file.is_relative_to(self.project):
            return str(file.relative_to(self.project))
        return str(file)


class InsideSession(BridgeError):
    """This runs inside a Claude Code session, whose model might be the one to agree."""

    code = "inside_session"


def refuse_inside_a_session(
    settings: Settings, clients: Collection[int], command: str = "hostbridge trust"
) -> None:
    """Check that no model can be behind this command.

    `clients` are the pids of the open sessions, `UNSEEN_PID` if one cannot be seen.

    Raises:
        InsideSession: an agent has started this, on whatever route; or a client is
            among the processes above this one or holds its terminal, or their
            environment names one, or the terminal was made by a process that detached
            itself after a session began, or a client may be above the processes that
            can be seen.
    """
    if settings.parent_request is not None or _has_above({SIGN_OF_AN_AGENT}):
        raise InsideSession(
            "an agent could have started this, and its model decide; run "
            f"`{command}` in a terminal of your own"
        )
    if settings.host_pid is not None or settings.inside_client or _is_below(clients):
        raise InsideSession(
            "this runs inside a Claude Code session, whose model could decide; run "
            f"`{command}` in a terminal of your own"
        )
    if UNSEEN_PID in clients:
        raise InsideSession(
            "a Claude Code session is open that cannot be seen from here (in another "
            "PID namespace, as of a container), whose model could have started this; "
            f"run `{command}` where that session runs, or when it has ended"
        )
    if has_terminal_from_below(os.getpid(), clients):
        raise InsideSession(
            "this may run inside a Claude Code session, whose model could decide: what "
            "holds this terminal (a tmux?) began after that and has left its parents; "
            f"run `{command}` in another terminal, or in a tmux that is older"
        )


def refuse_unless_by_hand(
    settings: Settings, clients: Collection[int], command: str = "hostbridge trust"
) -> None:
    """As `refuse_inside_a_session`, for what nothing but a person should start.

    While a session is open, it takes a terminal, or a process that accounts for it.

    Raises:
        InsideSession: also if there is no terminal, and what started this has ended.
    """
    refuse_inside_a_session(settings, clients, command)
    if is_left_behind(os.getpid(), clients):
        raise InsideSession(
            f"`{command}` is refused: a Claude Code session is open, and its model "
            "could have started this, which has no terminal and has outlived what "
            "started it; run it in a terminal of your own"
        )


def _is_below(clients: Collection[int]) -> bool:
    """Whether the kernel shows a client, whatever our own environment says."""
    others = behind(os.getpid())
    return not set(clients).isdisjoint(others) or _has_above(SIGNS_OF_A_CLIENT)


def _has_above(signs: Collection[str]) -> bool:
    """Whether a process behind this one has any of these variables."""
    others = behind(os.getpid())
    return any(not environment_of(pid).keys().isdisjoint(signs) for pid in others)


def record(
    settings: Settings,
    project: Path,
    definitions: Iterable[Digested],
    *,
    clients: Collection[int],
) -> None:
    """Trust exactly these definitions and rules of the project, as they were read.

    `clients` are the pids of the open sessions.

    Raises:
        InsideSession: as `refuse_unless_by_hand`.
        StateRefused: the home is not safe to write to, or its record is broken.
    """
    refuse_unless_by_hand(settings, clients)
    trust = Trust(project, {})
    trusted = {trust._name(d.file): trust.digests_of(d) for d in definitions}  # noqa: SLF001
    _change(settings.home, project, trusted)


def revoke(home: Path, project: Path) -> bool:
    """End all trust in a project; False if there was none."""
    return _change(home, project, None)


def trusted_projects(home: Path) -> dict[str, dict[str, Digests]]:
    """Every project with its trusted definitions, by their files.

    Raises:
        StateRefused, NewerSchema: the record cannot be read.
    """
    record = _read(home)
    return {
        name: dict(sorted(_definitions(record, Path(name)).items()))
        for name in sorted(record.get("projects", {}))
    }


def changes(project: Path, digests: Digests) -> dict[str, Literal["changed", "gone"]]:
    """Which files of a trusted definition have changed since."""
    found: dict[str, Literal["changed", "gone"]] = {}
    for name, digest in digests.items():
        path = project / name
        try:
            if name.endswith(MODEL_FILE):
                now = digest_of_model(path)
            else:
                data = read_bytes(path, follow_links=False)
                now = hashlib.sha256(data).hexdigest()
        except Unreadable:
            found[name] = "changed" if os.path.lexists(path) else "gone"
            continue
        if now != digest:
            found[name] = "changed"
    return found


def _change(home: Path, project: Path, trusted: Mapping[str, Digests] | None) -> bool:
    with _home(home) as folder, locked(folder, wait_s=_LOCK_WAIT_S):
        record = _load(folder)
        projects = record.setdefault("projects", {})
        had = projects.pop(str(project), None) is not None
        if trusted is not None:
            projects[str(project)] = {"agents": trusted}
        record["schemaVersion"] = VERSION
        data = orjson.dumps(record, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
        folder.replace(FILE, data + b"\n")
        files = {
            project / name: digest
            for digests in (trusted or {}).values()
            for name, digest in digests.items()
        }
        keep(folder, files, _all_digests(record))
    return had


def _all_digests(record: Mapping[str, Any]) -> set[str]:
    return {
        digest
        for name in record["projects"]
        for digests in _definitions(record, Path(name)).values()
        for digest in digests.values()
    }


def _home(home: Path) -> AbstractContextManager[Folder]:
    return open_state(Place(home, home, home, "trust"))


def _read(home: Path) -> dict[str, Any]:
    """The record; empty if there is none. Raises as `_load`."""
    if not (home / FILE).exists():
        return {}
    with _home(home) as folder:
        return _load(folder)


def _load(folder: Folder) -> dict[str, Any]:
    """The record; empty if there is none.

    Raises:
        StateRefused: it is not a valid record.
        NewerSchema: a newer hostbridge wrote it.
    """
    path = Path(folder.path, FILE)
    cure = "move it away and trust again"
    try:
        data = folder.read(FILE, _MAX_BYTES)
        record = orjson.loads(data) if data is not None else {}
    except (NotAPlainFile, orjson.JSONDecodeError) as exc:
        raise StateRefused(path, f"cannot be read ({exc})", cure) from None
    if not isinstance(record, dict) or not isinstance(record.get("projects", {}), dict):
        raise StateRefused(path, "not a record of trusted definitions", cure)
    version = record.get("schemaVersion", VERSION)
    if version != VERSION:
        raise NewerSchema(f"{path}: schemaVersion {version!r}; update hostbridge")
    refuse_unknown(record, ("schemaVersion", "projects"), file=str(path))
    for of_project in record.get("projects", {}).values():
        if isinstance(of_project, dict):
            refuse_unknown(of_project, ("agents",), file=str(path))
    return record


def _definitions(record: Mapping[str, Any], project: Path) -> dict[str, Digests]:
    """The valid entries of a project; anything else in the record trusts nothing."""
    try:
        found = record["projects"][str(project)]["agents"]
        return {
            file: digests
            for file, digests in found.items()
            if isinstance(digests, dict)
            and all(isinstance(digest, str) for digest in digests.values())
        }
    except (KeyError, TypeError, AttributeError):
        return {}


def keep(home: Folder, files: Mapping[Path, str], wanted: Collection[str]) -> None:
    """Keep the texts of files that have these digests, as far as there is room.

    Those that are not `wanted` any more are removed. It is no error if one cannot be
    kept: then it is shown whole when it has changed.
    """
    with suppress(OSError, BridgeError), home.folder(FOLDER) as folder:
        left = MAX_KEPT_BYTES
        for entry in list(folder.entries()):
            if entry.name in wanted:
                left -= entry.stat(follow_symlinks=False).st_size
            else:
                folder.remove(entry.name)
        for file, digest in files.items():
            data = _text_of(file, digest)
            if data is not None and len(data) <= left and not folder.has(digest):
                folder.create(digest, data)
                left -= len(data)


def _text_of(file: Path, digest: str) -> bytes | None:
    """The bytes of a text file, if they have this digest."""
    try:
        data = read_bytes(file, follow_links=False)
    except Unreadable:
        return None
    is_it = hashlib.sha256(data).hexdigest() == digest and b"\0" not in data
    return data if is_it else None


def find_text(file: Path, digest: str, home: Path) -> str | None:
    """The text with this digest: of the file itself, or the one that was kept.

    An undecodable byte becomes a lone surrogate.
    """
    for place in (file, home / FOLDER / os.path.basename(digest)):
        data = _text_of(place, digest)
        if data is not None:
            return data.decode("utf-8", "surrogateescape")
    return None
