"""The steps of an agent that stand in its own file: a step workflow without a file.

    name: fixer
    prompt: Mend {{ task }}
    variables: {seen: false}
    steps:
      - {name: look, allowed_tools: [Read], transitions: [{to: mend, when: seen}]}
      - {name: mend}
    exit_condition: current_step == 'mend'

Here they are only told apart from the agent's other fields. Workflows stand above
agents: `bridge.workflows.own_steps` reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.definition import OwnSteps

if TYPE_CHECKING:
    from bridge.agents.agent_names import Layer
    from bridge.agents.yaml_source import Tree

# What other programs call an agent's `variables`.
OTHERS_NAME = "step_variables"
FIELDS = ("variables", "owners", "steps", "exit_condition", "on_premature_stop")


def take_steps(tree: Tree, text: str, layer: Layer) -> OwnSteps | None:
    """Take the steps, and what belongs to them, out of a tree with this text.

    None if it has no steps.
    """
    value = tree.value
    if not isinstance(value, dict) or value.get("steps") is None:
        return None
    if OTHERS_NAME in value and "variables" in value:
        tree.error((OTHERS_NAME,), "is what `variables` is: keep one of them")
    fields = fields_of(value)
    for field in (*FIELDS, OTHERS_NAME):
        value.pop(field, None)
    name = value.get("name")
    agent = name if isinstance(name, str) else tree.file.stem
    return OwnSteps(agent=agent, file=tree.file, layer=layer, text=text, fields=fields)


def fields_of(value: dict[str, Any]) -> dict[str, Any]:
    """The fields of the workflow that an agent's file holds."""
    if OTHERS_NAME in value:
        value = {"variables": value[OTHERS_NAME], **value}
    return {name: value[name] for name in FIELDS if name in value}
