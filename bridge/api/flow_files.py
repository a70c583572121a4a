"""The flows of a project, and the one that is meant: by path, name, or its text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.agents.named_files import NamedFiles
from bridge.errors import BridgeError, InvalidRequest, NotTrusted
from bridge.flow.checks import Surroundings, check_flow
from bridge.flow.compiler import compile_flow
from bridge.flow.library import SUFFIX, Library, digest_of, text_of
from bridge.flow.parameters import wrong_arguments
from bridge.flow.parser import parse_flow
from bridge.flow.problems import InvalidFlow
from bridge.flow.syntax_tree import Head
from bridge.rules.agents_named import agent_check
from bridge.shipped import flows_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bridge.config import Settings
    from bridge.engine.view import RunView
    from bridge.flow.plan import Plan
    from bridge.flow.syntax_tree import Flow

_PLACES = {"project": ".bridge", "user": "~/.hostbridge", "built-in": "built-in"}
# A name or a path; anything else is the text of a flow.
NAMED = re.compile(r"[^\s\"'()\[\]|]+")


@dataclass(frozen=True, slots=True)
class KnownFlow:
    """A flow that has a name, and where it is from; with a problem it cannot run."""

    name: str
    file: Path
    place: str
    head: Head
    trusted: bool = True
    problem: str = ""


class Flows(NamedFiles):
    """The flows that a project can run; those `for_model` are named by one."""

    what = "flow"
    folder = "flows"
    suffixes = (SUFFIX,)

    def __init__(
        self, settings: Settings, project: Path, *, for_model: bool = False
    ) -> None:
        super().__init__(settings, project)
        self.for_model = for_model

    def shipped(self) -> Path | None:
        """The folder of the built-in ones, if this installation has one."""
        return flows_folder()

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
            raise InvalidRequest(self.unknown(said))
        return known.get(said, path)

    def known(self) -> Iterator[KnownFlow]:
        """Every flow that has a name, and what is wrong with it."""
        around = self.around()
        for name, file in self.names().items():
            place = _PLACES[self.layer(file) or "user"]
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
        own = self.in_project(file)
        file = own or file
        given = [self.folders[each] for each in self.folders if each != "project"]
        is_given = self.for_model and file.parent not in given
        text = _text_inside(self.project, file) if is_given else text_of(file)
        # What was trusted is what is parsed: the file is read once.
        self.check_trust(own, text.encode())
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

        The run continues with what it began with.
        """
        source, flows = seen.run["source"], seen.details["flows"]
        folders = [*([Path(source).parent] if source else []), *self.folders.values()]
        files = {Path(source): seen.run["text"]} if source else {}
        for name, plan in flows.items():
            named = [folder / f"{name}{SUFFIX}" for folder in folders]
            # One that is gone has changed, too.
            file = next((file for file in named if file.is_file()), named[0])
            files[file] = plan["source"]
        return [file for file, digest in files.items() if digest_of(file) != digest]

    def around(
        self, file: Path | None = None, read: Callable[[Path], str] | None = None
    ) -> Surroundings:
        """What a flow in this file can name; `read` reads those that it calls."""
        beside = [file.parent] if file else []
        library = Library([*beside, *self.folders.values()], read or self._text)
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
        InvalidRequest: the file is missing, or is not a flow inside the project.
    """
    from bridge.agent_loop.workspace import Project, Refused

    inside = file.relative_to(project) if file.is_relative_to(project) else file
    try:
        return Project(project).read(str(inside))
    except Refused as exc:
        raise InvalidRequest(str(exc)) from None


def _name(file: Path | None) -> str:
    return str(file or "the flow")


def _check_params(name: str, flow: Flow, params: Mapping[str, str]) -> None:
    python = 'run(flow, {"NAME": "VALUE"})'
    way = f"; give it with --param NAME=VALUE (in Python: {python})"
    for problem in wrong_arguments(flow, params, way=way):
        raise InvalidRequest(f"{name}: {problem}")
