"""Flows and workflows by their names: which file is meant, whose it is, what it says.

    <project>/.bridge/flows/NAME.flow, workflows/NAME.yaml    after `hostbridge trust`
    ~/.hostbridge/flows, ~/.hostbridge/workflows
    built in

The first file of a name counts. A file is read whole and once: what was trusted is what
is parsed. Of a project's own files nothing is read through a link, and none that has
changed since its user agreed to it is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.agents.agent_names import LAYERS, OwnLayer
from bridge.agents.files import (
    MAX_BYTES,
    Unreadable,
    as_parsed,
    place_in,
    read_bytes,
)
from bridge.agents.trust import Trust
from bridge.errors import BridgeError, InvalidRequest, NotTrusted
from bridge.hints import did_you_mean
from bridge.protocol.digest import sha256_of
from bridge.shipped import optional_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bridge.agents.diagnostic import Diagnostic
    from bridge.config import Settings


class Kind(NamedTuple):
    """A kind of files; the first suffix is that of a new one."""

    what: str
    suffixes: tuple[str, ...]
    max_bytes: int = MAX_BYTES

    @property
    def folder(self) -> str:
        """The name of their folder in each layer."""
        return f"{self.what}s"


FLOWS = Kind("flow", (".flow",), 16 * 1024 * 1024)
WORKFLOWS = Kind("workflow", (".yaml", ".yml"))


@dataclass(frozen=True, slots=True)
class Found:
    """A file that was looked at, and what is wrong with it.

    Attributes:
        name: what it is run or activated by.
        file: where it is.
        layer: whose it is; None if it lies in no library.
        kind: flow, pipeline or steps.
        description: what it is for, in a line.
        inputs: what it takes, or the variables of a step workflow: of each a default,
            and whether it has to be given.
        steps: their names, or in a flow their places, in written order.
        trusted: whether it may be used as it is.
        problems: errors and warnings at their places.
        problem: why it cannot be read at all.
        content: itself, if it was read.
    """

    name: str
    file: Path
    layer: OwnLayer | None
    kind: str
    description: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    trusted: bool = True
    problems: tuple[Diagnostic, ...] = ()
    problem: str = ""
    content: Any = None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The problems that keep it from being used."""
        return tuple(each for each in self.problems if each.level == "error")

    @property
    def wrong(self) -> str:
        """Why it cannot be used; empty if it can."""
        return self.problem or "\n".join(map(str, self.errors))


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file of a project, as `hostbridge trust` records it."""

    file: Path
    data: bytes

    @property
    def digests(self) -> dict[Path, str]:
        """The SHA-256 of the file."""
        return {self.file: sha256_of(self.data)}


class Library:
    """The files of one kind that a project can use.

    Attributes:
        folders: the folder of each layer, the first that counts first.
    """

    def __init__(
        self,
        kind: Kind,
        settings: Settings,
        project: Path,
        *,
        read: Callable[[Path], bytes] | None = None,
    ) -> None:
        """`read` reads what is in no folder of the user's, in place of `text`."""
        self.kind = kind
        self.settings = settings
        self.project = project
        self.trust = Trust.read(settings.home, project)
        self.folders: dict[OwnLayer, Path] = {
            "project": project / ".bridge" / kind.folder,
            "user": settings.home / kind.folder,
        }
        if (shipped := optional_folder(kind.folder)) is not None:
            self.folders["built-in"] = shipped
        self._read = read

    def below(self, layer: str) -> Library:
        """What an agent of this layer finds: the layer's own files, and those below.

        An agent of Claude Code's finds the user's, since it has no library of ours.
        """
        lower = Library(self.kind, self.settings, self.project)
        layers: list[str] = [*reversed(LAYERS)]
        for above in layers[: layers.index(layer) if layer in layers else 1]:
            lower.folders.pop(above, None)  # type: ignore[call-overload]
        return lower

    def names(self) -> dict[str, Path]:
        """Every file that has a name, the first of each."""
        found: dict[str, Path] = {}
        for folder in self.folders.values():
            for file in self._files_in(folder):
                found.setdefault(file.stem, file)
        return dict(sorted(found.items()))

    def named(self, name: str) -> Path:
        """The file of a name.

        Raises:
            InvalidRequest: there is none; says which names are similar.
        """
        known = self.names()
        if name in known:
            return known[name]
        raise InvalidRequest(
            f"no {self.kind.what} is named {name!r}{did_you_mean(name, known)}; an "
            f"agent works through one of the library, not of any path: put it into "
            f"{self.folders['user']}"
        )

    def file_of(self, named: str | Path, *, here: bool = False) -> Path:
        """The file that a path or a name means; with `here` also one without a suffix.

        Raises:
            InvalidRequest: nothing has that name; says which are similar.
        """
        path = Path(named)
        if isinstance(named, Path) or path.suffix in self.kind.suffixes:
            return path
        # A name means the same in every folder, whatever files lie there.
        known = self.names()
        if named in known:
            return known[named]
        if len(path.parts) > 1 or (here and path.is_file()):
            return path
        raise unknown(named, self)

    def called(self, name: str, caller: Path | None) -> Path:
        """The file that a call in another file, or in a text, means.

        A flow that lies beside its caller is meant before those with a name; of
        workflows, which start programs, nobody's takes the place of one with a name.

        Raises:
            InvalidRequest: there is none; says which are similar.
        """
        places = [caller.parent] if caller else []
        beside = {
            each.stem: each for folder in places for each in self._files_in(folder)
        }
        known = self.names()
        both = known | beside if self.kind is FLOWS else beside | known
        if name in both:
            return both[name]
        looked = ", ".join(map(str, [*places, *self.folders.values()]))
        hint = did_you_mean(name, both) or f"; there is none in {looked}"
        raise InvalidRequest(f"no {self.kind.what} is named {name!r}{hint}")

    def layer(self, file: Path) -> OwnLayer | None:
        """Whose folder a file is in; None for one that lies elsewhere.

        One that a link leads to in the project's folder is the project's.
        """
        owners = (each for each in reversed(LAYERS) if each in self.folders)
        return next((e for e in owners if place_in(self.folders[e], file)), None)

    def in_project(self, file: Path) -> Path | None:
        """Where in the project's folder a file lies, by whatever links."""
        return place_in(self.project / ".bridge" / self.kind.folder, file)

    def text(self, file: Path, *, is_used: bool = True) -> str:
        """The text of a file, with the line ends of every system the same.

        One that is only looked at, not `is_used`, needs no trust.

        Raises:
            InvalidRequest: it is not there, no plain file, too large, or not UTF-8.
            NotTrusted: the project brings it, and its user has not agreed to that.
        """
        data = self._data(file, is_used=is_used)
        try:
            return as_parsed(data.decode())
        except UnicodeDecodeError as exc:
            byte = f"0x{data[exc.start]:02x}"
            where = f"got byte {byte} at offset {exc.start}"
            raise InvalidRequest(f"{file}: expected UTF-8, {where}") from None

    def _data(self, file: Path, *, is_used: bool) -> bytes:
        # However one comes there: a project may bring a link instead of a folder.
        own = self.in_project(file)
        file = own or file
        users = [each for each in self.folders if each != "project"]
        if self._read and file.parent not in [self.folders[each] for each in users]:
            data = self._read(file)
        else:
            most = MAX_BYTES if own else self.kind.max_bytes
            try:
                data = read_bytes(file, follow_links=own is None, most=most)
            except Unreadable as exc:
                raise InvalidRequest(str(exc)) from None
        if is_used:
            self.check_trust(own, data)
        return data

    def check_trust(self, own: Path | None, data: bytes) -> None:
        """Check that a file of the project, if it is one, was trusted as it is.

        Raises:
            NotTrusted: the project brings it, and its user has not agreed to that.
        """
        if own is not None and not self.trust.admits(own, data):
            is_changed = self.trust.knows(own)
            raise NotTrusted(own.stem, own, is_changed=is_changed, what=self.kind.what)

    def is_trusted(self, file: Path) -> bool:
        """Whether a file may be used as it is; raises as `text`."""
        try:
            self._data(file, is_used=True)
        except NotTrusted:
            return False
        return True

    def changed(
        self, source: str, digest: str, called: Mapping[str, str]
    ) -> list[Path]:
        """Which files of a run are not as they were when it began.

        `called` has the digests of those that it calls, by name.
        """
        caller = Path(source) if source else None
        files = {caller: digest} if caller else {}
        for name, was in called.items():
            try:
                files[self.called(name, caller)] = was
            except InvalidRequest:
                # One that is gone has changed, too.
                folder = caller.parent if caller else self.folders["project"]
                files[folder / f"{name}{self.kind.suffixes[0]}"] = was
        return [file for file, was in files.items() if self._digest(file) != was]

    def _digest(self, file: Path) -> str:
        try:
            return sha256_of(self.text(file, is_used=False).encode())
        except InvalidRequest:
            return ""

    def look(self, read: Callable[[Path], Found]) -> Iterator[Found]:
        """Every file that has a name; `read` says what is in one."""
        for name, file in self.names().items():
            kind = "flow" if self.kind is FLOWS else "pipeline"
            found = Found(name, file, self.layer(file), kind)
            try:
                yield read(file)
            except NotTrusted:
                yield replace(found, trusted=False)
            except BridgeError as error:
                yield replace(found, problem=str(error))

    def of_project(self) -> tuple[list[ProjectFile], list[Unreadable]]:
        """The files that the project brings, and why others cannot be trusted."""
        found, wrong = [], []
        for file in self._files_in(self.folders["project"]):
            try:
                found.append(ProjectFile(file, read_bytes(file, follow_links=False)))
            except Unreadable as exc:
                wrong.append(exc)
        return found, wrong

    def _files_in(self, folder: Path) -> Iterator[Path]:
        """The files, by name; also what is not a plain file, which is refused later."""
        if not folder.is_dir():
            return
        for file in sorted(folder.iterdir()):
            if file.suffix in self.kind.suffixes and not file.is_dir():
                yield file


def unknown(name: str, *libraries: Library) -> InvalidRequest:
    """That nothing has this name: where it was looked for, and similar names."""
    ours = [(each.kind, suffix) for each in libraries for suffix in each.kind.suffixes]
    beside = [Path(f"{name}{suffix}") for _, suffix in ours if Path(name).name]
    whats = [each.kind.what for each in libraries]
    hint = did_you_mean(name, {one for each in libraries for one in each.names()})
    if here := [each for each in beside if each.is_file()]:
        hint = f"; did you mean {'' if here[-1].is_absolute() else './'}{here[-1]}?"
    folders = " and ".join(f"{each.kind.folder}/" for each in libraries)
    above = ", ".join(str(each.parent) for each in libraries[0].folders.values())
    lists = " and ".join(f"`hostbridge {what} list`" for what in whats)
    return InvalidRequest(
        f"no {' or '.join(whats)} is named {name!r}{hint}; there is none in "
        f"{folders} of {above}; give the path of one, or see {lists}"
    )
