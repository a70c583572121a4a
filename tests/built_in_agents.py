"""The built-in agents, by name."""

import os
import sys

from bridge.agents.definition import Definition
from bridge.agents.load import Loaded, load
from bridge.shipped import agents_folder

NAMES = (
    "architect",
    "developer",
    "flow-designer",
    "merge",
    "qa-reviewer",
    "researcher",
    "task-ops",
    "task-validator",
    "validation-runner",
    "validator-integration",
    "validator-logic",
    "validator-security",
    "validator-syntax",
)
PATH = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])


def load_built_in(name: str) -> Loaded:
    return load(agents_folder() / f"{name}.yaml", "built-in")


def definition_of(name: str) -> Definition:
    found = load_built_in(name).definition
    assert found is not None
    return found
