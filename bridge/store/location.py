"""Where the state of a project lies, and whether it is safe to use.

The project is the nearest ancestor that holds `.git`; without one, the folder itself. A
linked worktree shares the state of its main one (bridge/store/linked_worktree.py).
The state of `/home/u/app` is `<home>/state/home/u/app/@/`: a mirror of the real path,
which a person finds with `ls`. An open session keeps the one in which it began
(bridge/store/pins.py); the hooks find it by that.

State lies outside the project it serves: a clone, a branch or an archive cannot plant a
request. A folder of ours that another user owns or can write to is refused.

An agent may work in another folder than the project, in it or in one of its linked
worktrees, as hostbridge makes them for a run (`folder` of its request). There it has
what it would have in the project: the same state, the same rules, and grants that hold
below that folder.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from bridge.config import Settings
from bridge.errors import InvalidRequest, StateRefused
from bridge.protocol.wording import in_shell
from bridge.store.directory import Folder
from bridge.store.linked_worktree import Linked, find_linked

# Ends the mirrored path. A component that begins with it gets another, so that no
# project can lie inside the state of another.
MARK = "@"
# Limits of a whole path, with what we add to it, and of one name in it.
_LONGEST = (1024 if sys.platform == "darwin" else 4096) - 300
_LONGEST_NAME = 255


class Place(NamedTuple):
    """The state directory of a project, and why it was chosen.

    Attributes:
        project: real path of the project: where its files are.
        state: the state directory; it may not exist yet.
        guard: the folder whose owner and mode are checked.
        reason: one sentence for `hostbridge where`.
        main: the main worktree where `project` is a linked one; otherwise None.
    """

    project: Path
    state: Path
    guard: Path
    reason: str
    main: Path | None = None

    @property
    def owner(self) -> Path:
        """The project whose state it is."""
        return self.main or self.project

    def words(self) -> list[str | None]:
        """The place as JSON, for another process of ours."""
        return [None if each is None else str(each) for each in self]

    @classmethod
    def of_words(cls, words: Sequence[Any]) -> Place:
        """The place that another process has written as `words`."""
        project, state, guard, reason, main = words
        paths = Path(project), Path(state), Path(guard)
        return cls(*paths, reason, main and Path(main))


def with_tilde(path: Path) -> str:
    """A path for people: below their home folder, with a `~`."""
    home = os.path.expanduser("~")
    text = str(path)
    return f"~{text[len(home) :]}" if text.startswith(f"{home}/") else text


def find_project(start: Path) -> Path:
    """The project that `start` belongs to, with links resolved.

    Raises:
        StateRefused: `start` is relative, and the working folder is gone.
    """
    try:
        here = Path(os.path.realpath(start))
    except FileNotFoundError:
        raise StateRefused(
            _working_folder(),
            "this working folder was removed",
            "cd to one that is there",
        ) from None
    for folder in (here, *here.parents):
        if os.path.lexists(folder / ".git"):
            return folder
    return here


def _working_folder() -> Path:
    """The former working folder, if the system still knows it."""
    with suppress(OSError):
        return Path(os.readlink("/proc/self/cwd").removesuffix(" (deleted)"))
    return Path()


def find_owner(start: Path) -> Path:
    """The project whose state serves `start`: for a linked worktree, the main one."""
    project = find_project(start)
    linked = find_linked(project)
    return linked.main if linked and linked.is_known else project


def locate(settings: Settings, start: Path) -> Place:
    """Find where the state for `start` lies; touches nothing.

    Raises:
        StateRefused: a directory set by the environment lies inside the project, or
            a path cannot be used.
    """
    project = find_project(start)
    linked = _with_room(find_linked(project), settings)
    main = linked.main if linked and linked.is_known else None
    for folder in (project, main or project):
        if settings.state_dir is not None:
            _refuse_inside(settings.state_dir, folder, "BRIDGE_STATE_DIR")
        elif not settings.home_is_default:
            _refuse_inside(settings.home, folder, "BRIDGE_HOME")
    _refuse_unusable(project, "rename the folder")
    if settings.state_dir is not None:
        state = settings.state_dir
        _refuse_unusable(state, "set BRIDGE_STATE_DIR to another folder")
        return Place(project, state, state, "BRIDGE_STATE_DIR names it", main)
    named = "BRIDGE_HOME" if not settings.home_is_default else "~/.hostbridge"
    whose = "the project" if main is None else "that one"
    state = mirror(settings.home, main or project)
    _refuse_unusable(state, "set BRIDGE_STATE_DIR to a folder with a shorter path")
    return Place(
        project,
        state,
        settings.home,
        f"{_what(linked)}the state lies under {named}/state, at the same path as "
        f"{whose}",
        main,
    )


def _with_room(linked: Linked | None, settings: Settings) -> Linked | None:
    """What a `.git` file claims; None if the main worktree could have no state.

    An archive may bring that, too: it would leave the session without its user's rules.
    """
    if linked is not None and settings.state_dir is None:
        try:
            _refuse_unusable(mirror(settings.home, linked.main), "")
        except StateRefused:
            return None
    return linked


def _what(linked: Linked | None) -> str:
    if linked is None:
        return ""
    if linked.is_known:
        return f"a linked worktree of {linked.main}; "
    return (
        f"no worktree of {linked.main}, though its .git file says so: that repository "
        "does not know it (`git worktree repair` there, if it should); "
    )


def mirror(home: Path, project: Path) -> Path:
    """The state directory of the real path `project` under `home`."""
    parts = (MARK + p if p.startswith(MARK) else p for p in project.parts[1:])
    return home.joinpath("state", *parts, MARK)


def check(place: Place) -> None:
    """Check the existing part of the path to the state directory; makes nothing.

    Raises:
        StateRefused: as `open_state`.
    """
    with suppress(FileNotFoundError), open_state(place, make=False):
        pass


def open_state(place: Place, *, make: bool = True) -> Folder:
    """Open the state directory, making it (0700 from the guard down) if needed.

    From the guard down no link is followed, whatever is swapped meanwhile: each folder
    is opened in the one before it.

    Raises:
        StateRefused: it is a link, not a folder, another user's, or open to others.
        FileNotFoundError: it is not there, and not to be made.
    """
    folder = _open_guard(place.guard) if make else _open_own(place.guard)
    _check(folder)
    for name in place.state.relative_to(place.guard).parts:
        with folder as above:
            folder = above.folder(name, make=make)
    _check(folder)
    return folder


def _open_guard(guard: Path) -> Folder:
    path = str(guard)
    with suppress(FileNotFoundError):
        return _open_own(guard)
    try:
        _make(guard)
    except (FileExistsError, NotADirectoryError):
        raise StateRefused(
            guard, "a file is in the way", "move it away, or set BRIDGE_HOME"
        ) from None
    except FileNotFoundError:
        raise StateRefused(
            guard, "no folder can be made here", "set BRIDGE_HOME to one of your own"
        ) from None
    return Folder.open(path)


def _open_own(guard: Path) -> Folder:
    """A folder named by the user's settings is not ours to tell anyone to remove."""
    try:
        return Folder.open(str(guard))
    except StateRefused:
        raise StateRefused(
            guard,
            "not a folder of its own",
            "set BRIDGE_HOME, or BRIDGE_STATE_DIR, to one; hostbridge follows no link",
        ) from None


def _make(folder: Path) -> None:
    """Like `mkdir -p`, but 0700 and durable for every folder it makes."""
    if folder.exists():
        return
    _make(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    above = os.open(folder.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(above)
    finally:
        os.close(above)


def _check(folder: Folder) -> None:
    try:
        _check_facts(Path(folder.path), os.fstat(folder.fd))
    except StateRefused:
        folder.close()
        raise


def _check_facts(folder: Path, facts: os.stat_result) -> None:
    if facts.st_uid != os.geteuid():
        raise StateRefused(
            folder,
            f"belongs to user {facts.st_uid}, not to you ({os.geteuid()})",
            "set BRIDGE_HOME to a folder of your own",
        )
    if facts.st_mode & 0o022:
        raise StateRefused(
            folder,
            f"others can write to it (mode {stat.S_IMODE(facts.st_mode):04o})",
            f"run: {in_shell('chmod', '700', folder)}",
        )


def _refuse_unusable(path: Path, cure: str) -> None:
    """Refuse paths that settings, records or hooks cannot hold, or no system opens."""
    name = os.fsencode(path)
    try:
        name.decode()
    except UnicodeDecodeError:
        raise StateRefused(
            path,
            "a path that is not UTF-8: neither JSON nor Claude Code can name it",
            "rename the folder",
        ) from None
    if len(name) > _LONGEST or any(len(p) > _LONGEST_NAME for p in name.split(b"/")):
        problem = f"too long a path ({len(name)} bytes) for what lies below it"
        raise StateRefused(path, problem, cure)


def _refuse_inside(folder: Path, project: Path, variable: str) -> None:
    real = Path(os.path.realpath(folder))
    if real == project or project in real.parents:
        raise StateRefused(
            folder,
            f"{variable} lies inside the project {project}, whose files anyone may "
            "write",
            f"set {variable} to a folder outside of it",
        )


def check_folder(place: Place, folder: str) -> Path:
    """The real path of a folder that an agent may work in.

    Raises:
        InvalidRequest: there is no such folder, or it is in neither.
    """
    path = Path(folder)
    real = Path(os.path.realpath(path))
    if not path.is_absolute() or not real.is_dir():
        raise InvalidRequest(
            f"an agent's folder must be an existing folder, with an absolute path; got "
            f"{folder!r}"
        )
    tree = find_project(real)
    linked = find_linked(tree)
    is_ours = linked is not None and linked.is_known and linked.main == place.owner
    if not is_ours and tree not in (place.project, place.owner):
        raise InvalidRequest(
            f"{folder!r} is neither in the project {place.project} nor in a worktree "
            "of it (`git worktree list` there shows them)"
        )
    return real


def working_in(place: Place, folder: str | None) -> Place:
    """The place of an agent that works in `folder`: the same state, other files.

    Raises:
        InvalidRequest: as `check_folder`.
    """
    if folder is None:
        return place
    return place._replace(project=check_folder(place, folder), main=place.owner)
