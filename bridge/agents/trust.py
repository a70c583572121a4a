"""Which definitions of projects the user has looked at: `<home>/trust.json`.

By project (its real path), by the definition's file, the SHA-256 of that file and of
every script and model file of the project that it names. Whatever changes in any of
them ends the trust in that one definition; the file itself counts before a byte of it
is parsed. Written whole, 0600,
under a lock; a record that cannot be read trusts nothing. Whoever runs inside a Claude
Code session trusts nothing either: its model could be the one that agrees.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from bridge.agents.files import Unreadable, digest_of_model, read_bytes
from bridge.config import SIGNS_OF_A_CLIENT
from bridge.errors import BridgeError, NewerSchema, StateRefused
from bridge.protocol.names import MODEL_FILE
from bridge.store.directory import NotAPlainFile
from bridge.store.location import Place, open_state
from bridge.store.lock import locked
from bridge.store.process_lineage import behind, has_terminal_from_below, variables_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from bridge.agents.load import Loaded
    from bridge.config import Settings
    from bridge.store.directory import Folder

FILE = "trust.json"
VERSION = 1
_MAX_BYTES = 16 * 1024 * 1024
_LOCK_WAIT_S = 10.0

# Of each file, told from the project, the SHA-256.
Digests = dict[str, str]


class Trust:
    """What is trusted in one project, as it was when this was read."""

    def __init__(self, project: Path, definitions: Mapping[str, Digests]) -> None:
        self.project = project
        self._definitions = definitions

    @classmethod
    def read(cls, home: Path, project: Path) -> Trust:
        """Read the record; an unreadable one trusts nothing."""
        told: Any = {}
        with suppress(BridgeError, OSError):
            if (home / FILE).exists():
                with _home(home) as folder:
                    told = _load(folder)
        return cls(project, _definitions(told, project))

    def admits(self, file: Path, data: bytes) -> bool:
        """Whether a definition's file was trusted with just these bytes."""
        known = self._definitions.get(self._name(file), {})
        digest = hashlib.sha256(data).hexdigest()
        return known.get(self._name(file)) == digest

    def covers(self, loaded: Loaded) -> bool:
        """Whether a definition is trusted with everything that was read for it."""
        known = self._definitions.get(self._name(loaded.file))
        return known is not None and known == self.digests_of(loaded)

    def changes_in(self, loaded: Loaded) -> tuple[str, ...]:
        """Which of its files differ from those that were trusted; none were it new."""
        known = self._definitions.get(self._name(loaded.file))
        if known is None:
            return ()
        now = self.digests_of(loaded)
        names = sorted(known.keys() | now.keys())
        return tuple(name for name in names if known.get(name) != now.get(name))

    def digests_of(self, loaded: Loaded) -> Digests:
        """What trusting a definition records."""
        return {self._name(path): digest for path, digest in loaded.digests.items()}

    def _name(self, file: Path) -> str:
        if file.is_relative_to(self.project):
            return str(file.relative_to(self.project))
        return str(file)


class InsideSession(BridgeError):
    """This runs inside a Claude Code session, where nobody can say who agrees."""


def refuse_inside_a_session(
    settings: Settings, clients: Collection[int], command: str = "hostbridge trust"
) -> None:
    """Pass where no model is behind this; `clients` are the pids of the open sessions.

    Raises:
        InsideSession: a client says that it started this process, or one above it, or
            one that holds its terminal, or is one of them; or the terminal was made by
            something that has left its parents since a session began.
    """
    if settings.host_pid is not None or settings.inside_client or _is_below(clients):
        raise InsideSession(
            "this runs inside a Claude Code session, whose model could decide; run "
            f"`{command}` in a terminal of your own"
        )


def _is_below(clients: Collection[int]) -> bool:
    """Whether the kernel tells of a client, whatever our own environment says."""
    here = os.getpid()
    others = behind(here)
    return (
        not set(clients).isdisjoint(others)
        or any(variables_of(pid) & SIGNS_OF_A_CLIENT for pid in others)
        or has_terminal_from_below(here, clients)
    )


def record(
    settings: Settings,
    project: Path,
    definitions: Iterable[Loaded],
    *,
    clients: Collection[int],
) -> None:
    """Trust these definitions as they were read, and no others of the project.

    `clients` are the pids of the sessions that are open in it.

    Raises:
        InsideSession: as `refuse_inside_a_session`.
        StateRefused: the home is not safe to write to, or its record is broken.
    """
    refuse_inside_a_session(settings, clients)
    trust = Trust(project, {})
    trusted = {trust._name(d.file): trust.digests_of(d) for d in definitions}  # noqa: SLF001
    _change(settings.home, project, trusted)


def revoke(home: Path, project: Path) -> bool:
    """Trust nothing of a project any more; False when nothing was trusted."""
    return _change(home, project, None)


def trusted_projects(home: Path) -> dict[str, dict[str, Digests]]:
    """Every project with its trusted definitions, by their files."""
    told: Any = {}
    if (home / FILE).exists():
        with _home(home) as folder:
            told = _load(folder)
    projects = told.get("projects") if isinstance(told, dict) else None
    names = sorted(projects) if isinstance(projects, dict) else []
    return {
        name: dict(sorted(_definitions(told, Path(name)).items())) for name in names
    }


def changes(project: Path, digests: Digests) -> dict[str, Literal["changed", "gone"]]:
    """Which files of a trusted definition are not what they were."""
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
        told = _load(folder)
        projects = told.setdefault("projects", {})
        had = projects.pop(str(project), None) is not None
        if trusted is not None:
            projects[str(project)] = {"agents": trusted}
        told["schemaVersion"] = VERSION
        data = orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
        folder.replace(FILE, data + b"\n")
    return had


@contextmanager
def _home(home: Path) -> Iterator[Folder]:
    with open_state(Place(home, home, home, "trust")) as folder:
        yield folder


def _load(folder: Folder) -> dict[str, Any]:
    """The record; empty when there is none.

    Raises:
        StateRefused: it is not a record of ours.
        NewerSchema: a newer hostbridge wrote it.
    """
    path = Path(folder.path, FILE)
    cure = "move it away and trust again"
    try:
        data = folder.read(FILE, _MAX_BYTES)
        told = orjson.loads(data) if data is not None else {}
    except (NotAPlainFile, orjson.JSONDecodeError) as exc:
        raise StateRefused(path, f"cannot be read ({exc})", cure) from None
    if not isinstance(told, dict) or not isinstance(told.get("projects", {}), dict):
        raise StateRefused(path, "not a record of what is trusted", cure)
    version = told.get("schemaVersion", VERSION)
    if version != VERSION:
        raise NewerSchema(f"{path}: schemaVersion {version!r}; update hostbridge")
    return told


def _definitions(told: Any, project: Path) -> dict[str, Digests]:
    """What a record says of a project; whatever is not as we write it counts not."""
    try:
        found = told["projects"][str(project)]["agents"]
        return {
            file: digests
            for file, digests in found.items()
            if isinstance(digests, dict)
            and all(isinstance(digest, str) for digest in digests.values())
        }
    except (KeyError, TypeError, AttributeError):
        return {}
