"""Where flows live, and the one that is meant: by its path, its name, or its text.

<project>/.bridge/flows/NAME.flow    after `hostbridge trust`
~/.hostbridge/flows/NAME.flow
built in
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.agents.files import Unreadable, place_in, read_bytes
from bridge.agents.trust import Trust
from bridge.errors import BridgeError, InvalidRequest, NotTrusted
from bridge.flow.checks import Surroundings, check_flow
from bridge.flow.compiler import compile_flow
from bridge.flow.library import SUFFIX, Library, digest_of, text_of
from bridge.flow.parameters import wrong_arguments
from bridge.flow.parser import parse_flow
from bridge.flow.problems import InvalidFlow, near
from bridge.flow.syntax_tree import Head
from bridge.rules.agents_named import agent_check
from bridge.shipped import flows_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bridge.config import Settings
    from bridge.engine.view import RunView
    from bridge.flow.plan import Plan
    from bridge.flow.syntax_tree import Flow

OF_PROJECT = Path(".bridge", "flows")
_PLACES = (".bridge", "~/.hostbridge", "built-in")
# A name or a path; anything else is the text of a flow.
NAMED = re.compile(r"[^\s\"'()\[\]|]+")


@dataclass(frozen=True, slots=True)
class FlowFile:
    """A flow of a project, as `hostbridge trust` records it."""

    file: Path
    data: bytes

    @property
    def digests(self) -> dict[Path, str]:
        """The SHA-256 of the file."""
        return {self.file: hashlib.sha256(self.data).hexdigest()}


@dataclass(frozen=True, slots=True)
class KnownFlow:
    """A flow that has a name, and where it is from; with a problem it cannot run."""

    name: str
    file: Path
    place: str
    head: Head
    trusted: bool = True
    problem: str = ""


class Flows:
    """The flows that a project can run; those `for_model` are named by one."""

    def __init__(
        self, settings: Settings, project: Path, *, for_model: bool = False
    ) -> None:
        self.settings = settings
        self.project = project
        self.for_model = for_model
        self.trust = Trust.read(settings.home, project)
        own = [project / OF_PROJECT, settings.home / "flows"]
        built_in = flows_folder()
        self.folders = [*own, *([built_in] if built_in else [])]

    def names(self) -> dict[str, Path]:
        """Every flow that has a name, the first of each."""
        found: dict[str, Path] = {}
        for folder in self.folders:
            for file in sorted(folder.glob(f"*{SUFFIX}")):
                if file.is_file():
                    found.setdefault(file.stem, file)
        return found

    def of_project(self) -> tuple[list[FlowFile], list[Unreadable]]:
        """The flows that the project brings, and why others cannot be trusted."""
        found, wrong = [], []
        for file in sorted((self.project / OF_PROJECT).glob(f"*{SUFFIX}")):
            try:
                found.append(FlowFile(file, read_bytes(file, follow_links=False)))
            except Unreadable as exc:
                wrong.append(exc)
        return found, wrong

    def find(self, named: str | Path) -> tuple[str, Path | None]:
        """The text of a flow, and its file, None if `named` is the text itself.

        Raises:
            InvalidRequest: there is no such file, and no flow of that name.
            NotTrusted: the project brings it, and its user has not agreed to that.
        """
        if not isinstance(named, Path) and not NAMED.fullmatch(named):
            return named, None
        file = self.file_of(named)
        return self._text(file.absolute()), file

    def file_of(self, named: str | Path) -> Path:
        """The file of a flow, by its path or its name.

        Raises:
            InvalidRequest: no flow has that name; says which are similar.
        """
        said, path = str(named), Path(named)
        if path.suffix == SUFFIX:
            return path
        # A name means the same in every folder, whatever files lie there.
        known = {} if isinstance(named, Path) else self.names()
        if said not in known and not path.is_file():
            raise InvalidRequest(
                f"no flow is named {said!r}{_beside(path) or near(said, known)}; give "
                f"the path of one, put it into {self.folders[1]}/{said}{SUFFIX}, or "
                "see `hostbridge flow list`"
            )
        return known.get(said, path)

    def known(self) -> Iterator[KnownFlow]:
        """Every flow that has a name, and what is wrong with it."""
        around = self.around()
        for name, file in sorted(self.names().items()):
            place = _PLACES[self.folders.index(file.parent)]
            known = KnownFlow(name, file, place, Head())
            try:
                flow = self.checked(self._text(file), file, around)
                yield replace(known, head=flow.head)
            except NotTrusted:
                yield replace(known, trusted=False)
            except BridgeError as error:
                yield replace(known, problem=str(error))

    def _text(self, file: Path) -> str:
        # However one comes there: a project may bring a link instead of a folder.
        own = place_in(self.project / OF_PROJECT, file)
        file = own or file
        is_given = self.for_model and file.parent not in self.folders[1:]
        text = _text_inside(self.project, file) if is_given else text_of(file)
        # What was trusted is what is parsed: the file is read once.
        if own is not None and not self.trust.admits(own, text.encode()):
            is_changed = self.trust.knows(own)
            raise NotTrusted(own.stem, own, is_changed=is_changed, what="flow")
        return text

    def compiled(
        self, named: str | Path, params: Mapping[str, str]
    ) -> tuple[Plan, str]:
        """The plan of a flow, checked with what it is given, and its file.

        Raises:
            InvalidFlow: with every error in it.
            InvalidRequest: as `find`; or a parameter is missing or unknown.
            NotTrusted: as `find`.
        """
        text, file = self.find(named)
        around = self.around(file)
        flow = self.checked(text, file, around)
        _check_params(_name(file), flow, params)
        plan = compile_flow(flow, around.find_flow)
        plan["name"] = plan["name"] or (file.stem if file else "")
        return plan, str(file.absolute()) if file else ""

    def changed(self, seen: RunView) -> list[Path]:
        """The files of a run's flow, and of those it calls, that are not as they were.

        The run goes on with what it began with.
        """
        source, flows = seen.run["source"], seen.details["flows"]
        beside = [Path(source).parent] if source else []
        files = {Path(source): seen.run["text"]} if source else {}
        for name, plan in flows.items():
            named = [folder / f"{name}{SUFFIX}" for folder in beside + self.folders]
            # One that is gone has changed, too.
            file = next((file for file in named if file.is_file()), named[0])
            files[file] = plan["source"]
        return [file for file, digest in files.items() if digest_of(file) != digest]

    def around(
        self, file: Path | None = None, read: Callable[[Path], str] | None = None
    ) -> Surroundings:
        """What a flow in this file can name; `read` reads those that it calls."""
        beside = [file.parent] if file else []
        library = Library([*beside, *self.folders], read or self._text)
        return Surroundings(agent_check(self.settings, self.project), library.find)

    def checked(self, text: str, file: Path | None, around: Surroundings) -> Flow:
        """Parse a flow, and check that it can run.

        Raises:
            InvalidFlow: with every error in it.
        """
        flow = parse_flow(text, file=_name(file))
        if errors := check_flow(flow, around).errors:
            raise InvalidFlow(_name(file), flow.source, errors)
        return flow


def _text_inside(project: Path, file: Path) -> str:
    """The text of a file that a model has named, which what is wrong in it would show.

    Raises:
        InvalidRequest: it is no flow of the project's, or not in it, or there is none.
    """
    from bridge.agent_loop.workspace import Project, Refused

    inside = file.relative_to(project) if file.is_relative_to(project) else file
    try:
        return Project(project).read(str(inside))
    except Refused as exc:
        raise InvalidRequest(str(exc)) from None


def _beside(path: Path) -> str:
    """That there is such a file, if there is: a name alone means no file."""
    file = path.with_name(path.name + SUFFIX) if path.name else path
    here = file if file.is_absolute() else f"./{file}"
    return f"; did you mean {here}?" if file.is_file() else ""


def _name(file: Path | None) -> str:
    return str(file or "the flow")


def _check_params(name: str, flow: Flow, params: Mapping[str, str]) -> None:
    python = 'run(flow, {"NAME": "VALUE"})'
    way = f"; give it with --param NAME=VALUE (in Python: {python})"
    for problem in wrong_arguments(flow, params, way=way):
        raise InvalidRequest(f"{name}: {problem}")
