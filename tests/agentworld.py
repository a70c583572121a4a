"""A home, a project, and files of definitions in them."""

from pathlib import Path
from textwrap import dedent
from typing import Any

from bridge.agents import trust
from bridge.agents.agent_names import OF_PROJECT, Layer
from bridge.agents.definition import Definition
from bridge.agents.load import Loaded, load
from bridge.agents.registry import Registry
from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.errors import NotTrusted
from bridge.protocol.request import Request

# A subagent definition, and beside it the files that it names.
LINT = """\
name: lint
model: models/lint.gguf
initial_context:
  system_prompt: You are a linter.
  node_context: |
    {{ node_type }} {{ node_name }} in {{ file_path }}:
    {{ node_text }}
tools:
  - name: run_linter
    pym: tools/run.pym
    description: Runs the linter
    parameters: {type: object, properties: {}, additionalProperties: false}
    context_providers: [tools/config.pym]
  - name: submit_result
    pym: tools/submit.pym
    description: Ends the run
    parameters:
      type: object
      additionalProperties: false
      required: [summary]
      properties: {summary: {type: string}}
"""


class World:
    """Three layers of ours, and the client's two."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = root / "project"
        self.folders: dict[Layer, Path] = {
            "claude-user": root / "claude" / "agents",
            "claude-project": self.project / ".claude" / "agents",
            "built-in": root / "built-in",
            "user": self.home / "agents",
            "project": self.project / ".bridge" / "agents",
        }
        self.home.mkdir(mode=0o700)
        for folder in self.folders.values():
            folder.mkdir(parents=True)
        self.registry = Registry(self.folders, self.home, self.project)

    def write(self, name: str, text: str, layer: Layer = "user") -> Path:
        """Write a file of a layer."""
        file = self.folders[layer] / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
        return file

    def load(self, name: str, text: str, layer: Layer = "user") -> Loaded:
        """Write and load one definition."""
        return load(self.write(name, text, layer), layer)

    def defined(self, fields: str, name: str = "a") -> Definition:
        """The definition that these fields make."""
        found = self.load(f"{name}.yaml", f"name: {name}\n{fields}\n")
        assert found.definition is not None, found.problems
        return found.definition

    def problems(self, name: str, text: str, layer: Layer = "user") -> list[str]:
        """The problems of one file, relative to its folder."""
        found = self.load(name, text, layer)
        return [str(p).removeprefix(f"{found.file.parent}/") for p in found.problems]

    def trust(self) -> None:
        """Trust whatever the project brings."""
        found = [e.loaded for e in self.registry.entries()]
        mine = [each for each in found if each.layer in OF_PROJECT and each.definition]
        trust.record(Settings(home=self.home), self.project, mine, clients=())


def asked(**fields: Any) -> Request:
    """A request."""
    return Request(**{"request_id": "r-1", "prompt": "Do it.", **fields})


def define(project: Any, name: str, text: str, *, layer: Layer = "project") -> Path:
    """Write a definition for the command line's project, or for its user."""
    folder: Path = project.folder / ".bridge" / "agents"
    if layer == "user":
        folder = project.bridge.settings.home / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text)
    return file


def trust_project(opened: Bridge) -> None:
    """Trust whatever the project of a bridge brings."""
    home, project = opened.settings.home, opened.store.place.project
    found = [e.loaded for e in Registry.open(opened.settings, project).entries()]
    mine = [each for each in found if each.layer in OF_PROJECT]
    trust.record(Settings(home=home), project, mine, clients=())


def lint_problems(world: World, old: str, new: str) -> list[str]:
    """The problems of `LINT` with one thing in it replaced."""
    text = LINT.replace(old, new, 1)
    assert text != LINT
    problems = world.problems("lint.yaml", text)
    return [each.replace(str(world.folders["user"]), "DIR") for each in problems]


def fields_of(found: Loaded) -> dict[str, Any]:
    """What a definition says, without what it leaves open."""
    assert found.definition is not None, found.problems
    return found.definition.model_dump(exclude_defaults=True, exclude={"source"})


def is_found(world: World, name: str = "a") -> bool:
    """Whether a definition may be used; not if it is not trusted."""
    try:
        return world.registry.find(name) is not None
    except NotTrusted:
        return False
