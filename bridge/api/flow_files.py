"""The flows of a project, and the one that is meant: by path, name, or its text."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.agents.known_agents import Agents
from bridge.agents.library import FLOWS, Found, Library
from bridge.engine.asks import has_issues
from bridge.engine.link import asked_about_issues
from bridge.errors import BridgeError, InvalidRequest
from bridge.flow.checks import Surroundings, check_flow
from bridge.flow.compiler import compile_flow
from bridge.flow.parameters import wrong_arguments
from bridge.flow.parser import parse_flow
from bridge.flow.problems import InvalidFlow, diagnostics
from bridge.flow.syntax_tree import Group, Parallel, walk
from bridge.policy.condition_compiler import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.config import Settings
    from bridge.flow.plan import Plan
    from bridge.flow.syntax_tree import Flow

# A name or a path; anything else is the text of a flow.
NAMED = re.compile(r"[^\s\"'()\[\]|]+")


class Flows:
    """The flows that a project can run; those `for_model` are named by one."""

    def __init__(
        self, settings: Settings, project: Path, *, for_model: bool = False
    ) -> None:
        self.settings = settings
        self.project = project
        read = partial(_read_inside, project) if for_model else None
        self.files = Library(FLOWS, settings, project, read=read)

    def find(self, named: str | Path) -> tuple[str, Path | None]:
        """The text of a flow, and its file, None if `named` is the text itself.

        Raises:
            InvalidRequest: there is no such file, and no flow of that name.
            NotTrusted: the project brings it, and its user has not agreed to that.
        """
        if not isinstance(named, Path) and not NAMED.fullmatch(named):
            return named, None
        file = self.files.file_of(named, here=True)
        return self.files.text(file.absolute()), file

    def known(self) -> Iterator[Found]:
        """Every flow that has a name, and what is wrong with it."""
        text = self.files.text
        return self.files.look(lambda file: self.look(file, text(file), is_used=True))

    def look(
        self, file: Path, text: str | None = None, *, is_used: bool = False
    ) -> Found:
        """The flow in a file, with its problems, or the one with this text there.

        Reading runs nothing: what is only looked at, not `is_used`, needs no trust.

        Raises:
            InvalidRequest: there is no such file, or it is no text.
        """
        if text is None:
            text = self.files.text(file, is_used=is_used)
        found = Found(file.stem, file, self.files.layer(file), "flow")
        try:
            flow = parse_flow(text, file=str(file))
        except InvalidFlow as error:
            return replace(found, problems=error.problems)
        errors, warnings = check_flow(flow, self.around(file, is_used=is_used))
        if not errors:
            warnings.extend(without_issues(flow, self.settings, self.project))
        return replace(
            found,
            description=flow.head.description,
            inputs={
                each.name: {
                    "required": each.default is None,
                    "default": each.default,
                    "description": each.description,
                }
                for each in flow.head.params
            },
            steps=tuple(
                str(visit.step.at)
                for visit in walk(flow.body)
                if not isinstance(visit.step, Parallel | Group)
            ),
            problems=(
                *diagnostics(str(file), flow.source, errors),
                *diagnostics(str(file), flow.source, warnings, "warning"),
            ),
            content=flow,
        )

    def plan(self, file: Path, text: str | None = None) -> Plan:
        """The plan of a flow that is drawn: whom it asks and calls may be elsewhere.

        Raises:
            InvalidFlow: with every error in it.
            InvalidRequest: as `look`.
        """
        if text is None:
            text = self.files.text(file, is_used=False)
        return compile_flow(self.checked(text, file, Surroundings()))

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
        python = 'run(flow, {"NAME": "VALUE"})'
        way = f"; give it with --param NAME=VALUE (in Python: {python})"
        for problem in wrong_arguments(flow, params, way=way):
            raise InvalidRequest(f"{_name(file)}: {problem}")
        plan = compile_flow(flow, around.find_flow)
        plan["name"] = plan["name"] or (file.stem if file else "")
        return plan, str(file.absolute()) if file else ""

    def around(self, file: Path | None = None, *, is_used: bool = True) -> Surroundings:
        """What a flow in this file can name."""

        @cache
        def find_flow(name: str) -> Flow | str:
            try:
                called = self.files.called(name, file)
            except InvalidRequest as error:
                return str(error)
            try:
                text = self.files.text(called, is_used=is_used)
                return parse_flow(text, file=str(called))
            except InvalidFlow as error:
                wrong = (str(replace(each, quoted="")) for each in error.problems)
                return f"@call:{name} cannot be called: {'; '.join(wrong)}"
            except BridgeError as error:
                return f"@call:{name} cannot be called: {error}"

        return Surroundings(Agents.open(self.settings, self.project).wrong, find_flow)

    def checked(self, text: str, file: Path | None, around: Surroundings) -> Flow:
        """Parse a flow, and check that it can run.

        Raises:
            InvalidFlow: with every error in it.
        """
        flow = parse_flow(text, file=_name(file))
        if errors := check_flow(flow, around).errors:
            raise InvalidFlow(_name(file), flow.source, errors)
        return flow


def _read_inside(project: Path, file: Path) -> bytes:
    """The bytes of a file that a model has named, which what is wrong would show.

    Raises:
        InvalidRequest: the file is missing, or is not a flow inside the project.
    """
    from bridge.agent_loop.workspace import Project, Refused

    inside = file.relative_to(project) if file.is_relative_to(project) else file
    try:
        return Project(project).read_bytes(str(inside))
    except Refused as exc:
        raise InvalidRequest(str(exc)) from None


def _name(file: Path | None) -> str:
    return str(file or "the flow")


def without_issues(flow: Flow, settings: Settings, project: Path) -> Iterator[Problem]:
    """Where a flow without errors asks an agent whose answers have no `issues`."""
    plan = compile_flow(flow)
    details = [plan["details"][node] for node in asked_about_issues(plan)]
    first = {each["agent"]: each for each in reversed(details) if "agent" in each}
    if not first:
        return
    agents, lines = Agents.open(settings, project), flow.source.split("\n")
    for name, detail in first.items():
        definition = None
        with suppress(BridgeError):
            definition = agents.find(name)
        if definition and has_issues(definition.output_schema) is False:
            at = sum(len(line) + 1 for line in lines[: detail["line"] - 1])
            yield Problem(
                at + detail["column"] - 1,
                "a condition asks whether this step found issues, but answers of "
                f"{name} have no field `issues`: it never did",
            )
