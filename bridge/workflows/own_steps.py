"""The step workflow that stands in an agent's own file, read as one of a file is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.agents.files import as_parsed
from bridge.agents.load import OTHERS_NAME, fields_of
from bridge.agents.registry import Registry
from bridge.agents.yaml_source import read_tree
from bridge.errors import InvalidRequest
from bridge.protocol.digest import sha256_of

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.agents.agent_names import Layer
    from bridge.agents.definition import OwnSteps
    from bridge.agents.known_agents import Agents
    from bridge.agents.load import Loaded
    from bridge.agents.registry import Entry
    from bridge.agents.yaml_source import Tree
    from bridge.config import Settings
    from bridge.workflows.reader import StepWorkflow

CheckAgent = Callable[[str], str | None]


def read_steps(
    steps: OwnSteps, check_agent: CheckAgent = lambda _name: None
) -> StepWorkflow:
    """The workflow, from the text that was read with its agent; it may have errors."""
    # Most agents have no steps.
    from bridge.workflows.reader import read_in

    tree = read_tree(steps.text, steps.file, keeps_source=True)
    # The agent's reader has said what is wrong with the YAML.
    tree.problems.clear()
    if isinstance(tree.value, dict):
        tree.value = fields_of(tree.value)
        _rename(tree)
    digest = sha256_of(as_parsed(steps.text).encode("utf-8", "replace"))
    return read_in(tree, steps.layer, digest, name=steps.agent, check_agent=check_agent)


def with_steps(loaded: Loaded, check_agent: CheckAgent) -> Loaded:
    """An agent's file, also with what is wrong with its steps."""
    if loaded.steps is None:
        return loaded
    read = read_steps(loaded.steps, check_agent)
    problems = sorted((*loaded.problems, *read.problems), key=lambda p: p.line)
    definition = None if read.errors else loaded.definition
    return replace(loaded, definition=definition, problems=tuple(problems))


def entries_with_steps(agents: Agents) -> list[Entry]:
    """Every definition, each also with what is wrong with its steps."""
    return [
        entry._replace(loaded=with_steps(entry.loaded, agents.wrong))
        for entry in agents.entries()
    ]


def find_steps(
    settings: Settings, project: Path, agent: str, layer: Layer
) -> StepWorkflow:
    """The workflow in the file of an agent of this layer; it may have errors.

    Raises:
        InvalidRequest: the agent has gone, or has no steps any more.
        BadDefinition, NotTrusted: its definition cannot be used.
    """
    definition = Registry.open(settings, project).find(agent, (layer,))
    if definition is None or definition.steps is None:
        raise InvalidRequest(
            f"agent {agent!r} has no steps in its file any more, and its request asks "
            "for them: ask it again"
        )
    return read_steps(definition.steps)


def _rename(tree: Tree) -> None:
    """Have places under others' name for `variables` found by our own."""
    known = {("variables", *p[1:]): p for p in tree.lines if p[:1] == (OTHERS_NAME,)}
    for ours, theirs in known.items():
        tree.lines.setdefault(ours, tree.lines[theirs])
        tree.columns.setdefault(ours, tree.columns[theirs])
