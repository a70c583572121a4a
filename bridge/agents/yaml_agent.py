"""The YAML agent: its fields as they are written, and their checks."""

from typing import Annotated

from pydantic import Field

from bridge.agents import definition, fields
from bridge.agents.agent_names import Layer
from bridge.agents.files import Reader
from bridge.agents.foreign_fields import read_foreign
from bridge.agents.lint import lint
from bridge.agents.validate import check
from bridge.agents.yaml_source import Tree
from bridge.hints import did_you_mean
from bridge.policy.tool_names import rule_on_host
from bridge.protocol.json_schema import problem_of
from bridge.routes import RouteName

Routes = Annotated[tuple[RouteName, ...], Field(min_length=1, strict=False)]


class AgentFile(definition.AgentFields):
    """A YAML agent; `timeout` is in seconds."""

    name: definition.Name
    routes: Routes | None = None
    timeout: Annotated[float, Field(gt=0, le=31_536_000)] | None = None


def read_agent(
    tree: Tree,
    layer: Layer,
    reader: Reader,
    steps: definition.OwnSteps | None = None,
) -> definition.Definition | None:
    """Read a YAML agent. Problems go into the tree; None if it cannot be used.

    `steps` were in the file, too, and are out of the tree.
    """
    _refuse_inline(tree)
    system_prompt = read_foreign(tree)
    agent, salvaged = check(AgentFile, tree)
    _check_fields(salvaged, tree)
    if steps is not None:
        _check_alone(salvaged, tree)
    model = salvaged.model and fields.read_model(
        tree, ("model",), salvaged.model, reader
    )
    if agent is None:
        return None
    routes = _routes(agent)
    _check_answers(agent, tree)
    lint(agent, tree, routes)
    kept = dict(agent)
    kept |= {
        "timeout_s": kept.pop("timeout"),
        "model": model or None,
        "routes": routes,
        "context": tuple(dict.fromkeys(agent.context)),
        "allow": tuple(map(rule_on_host, agent.allow)),
        "system_prompt": system_prompt,
        "steps": steps,
        "has_no_rules": tree.value.get("lifecycle_workflow", "") is None,
    }
    source = definition.Source(
        file=tree.file, layer=layer, spelling="yaml", digest=reader.digest
    )
    return definition.Definition(**kept, source=source)


def _routes(agent: AgentFile) -> tuple[RouteName, ...]:
    """The routes as written, or those that follow from provider and mode."""
    if agent.routes is not None:
        return tuple(dict.fromkeys(agent.routes))
    if agent.provider in ("local", "endpoint"):
        return (agent.provider,)
    # With `self`, what has no caller to act on is in a conversation of its own.
    if agent.mode in definition.ROUTES_BY_MODE:
        return definition.ROUTES_BY_MODE[agent.mode]
    if agent.provider == "claude":
        return ("host", "claude")
    return ("host", "claude", "local", "endpoint")


def _check_fields(agent: AgentFile, tree: Tree) -> None:
    for field in ("default_variables", "lifecycle_variables"):
        fields.check_variables(tree, (field,), getattr(agent, field))
    if agent.prompt is not None:
        own = {*agent.default_variables, *agent.lifecycle_variables}
        known = {*own, *fields.RESERVED, "task_id"}
        names = fields.check_template(tree, ("prompt",), agent.prompt, known)
        if names is not None and "task" not in names:
            message = "has no {{ task }}, so the task is added at the end"
            tree.warn(("prompt",), message)
    fields.check_tools(tree, ("tools",), agent.tools or ())
    fields.check_tools(tree, ("blocked_tools",), agent.blocked_tools)
    fields.check_rules(tree, ("allow",), agent.allow)
    _check_workflows(agent, tree)


def _refuse_inline(tree: Tree) -> None:
    """Complain of workflows that are written out in the agent's own file."""
    workflows = tree.value.get("workflows") if isinstance(tree.value, dict) else None
    if not isinstance(workflows, dict):
        return
    for key, value in workflows.items():
        if isinstance(value, dict) and "steps" in value:
            message = (
                "a workflow has a file of its own: move it to workflows/"
                f"{key}.yaml beside this folder, and write file: {key}.yaml here"
            )
            tree.error(("workflows", key, "steps"), message)
            # No further problems: its fields are right in that file.
            workflows[key] = {"file": f"{key}.yaml"}


def _check_workflows(agent: AgentFile, tree: Tree) -> None:
    """Whether the workflow that is used without a choice is one that it has."""
    default = agent.default_workflow
    if default is not None and default not in agent.workflows:
        known = agent.workflows
        hint = did_you_mean(default, known) or (
            f"; it has {', '.join(map(repr, known))}" if known else ""
        )
        tree.error(("default_workflow",), f"`workflows` has no {default!r}{hint}")
    if agent.workflow is not None and agent.workflows:
        message = "`workflow` is for an agent with one; name it in `workflows`, too"
        tree.error(("workflow",), message)


def _check_alone(agent: AgentFile, tree: Tree) -> None:
    """An agent with steps of its own has no other workflow."""
    for name in ("workflow", "workflows"):
        if getattr(agent, name):
            way = "they are its workflow, so take one of the two out"
            tree.error((name,), f"this agent has `steps`: {way}")


def _check_answers(agent: AgentFile, tree: Tree) -> None:
    """The schema, the examples' answers, and whether evidence fits in."""
    schema = agent.output_schema
    place = ("output_schema",)
    if schema is None or not fields.check_schema(tree, place, schema):
        return
    for position, example in enumerate(agent.examples):
        if problem := problem_of(schema, example.answer):
            message = f"does not satisfy output_schema: {problem}"
            tree.error(("examples", position, "answer"), message)
    needs_evidence = agent.require_verified_evidence
    if needs_evidence and "evidence" not in (schema.get("properties") or {}):
        message = "require_verified_evidence needs a property `evidence` here"
        tree.error(place, message)
