"""Conditions of a flow that no answer can meet: they ask an agent for `issues`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.agents.known_agents import Agents
from bridge.engine.asks import has_issues
from bridge.engine.link import asked_about_issues
from bridge.errors import BridgeError
from bridge.flow.compiler import compile_flow
from bridge.policy.condition_compiler import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.config import Settings
    from bridge.flow.syntax_tree import Flow


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
