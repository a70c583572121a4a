"""The YAML agent: its fields as they are written, and their checks."""

from typing import Annotated

from pydantic import Field

from bridge.agents import definition, fields
from bridge.agents.agent_names import Layer
from bridge.agents.files import Reader
from bridge.agents.lint import lint
from bridge.agents.validate import check
from bridge.agents.yaml_source import Tree
from bridge.policy.tool_names import rule_on_host
from bridge.protocol.json_schema import problem_of
from bridge.protocol.request import RouteName

Routes = Annotated[tuple[RouteName, ...], Field(min_length=1, strict=False)]


class AgentFile(definition.AgentFields):
    """A YAML agent; `timeout` is in seconds."""

    name: definition.Name
    routes: Routes | None = None
    timeout: Annotated[float, Field(gt=0, le=31_536_000)] | None = None


def read_agent(
    tree: Tree, layer: Layer, reader: Reader
) -> definition.Definition | None:
    """Read a YAML agent. Problems go into the tree; None if it cannot be used."""
    agent, salvaged = check(AgentFile, tree)
    _check_fields(salvaged, tree)
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
        "has_no_rules": tree.value.get("lifecycle_workflow", "") is None,
    }
    source = definition.Source(
        file=tree.file, layer=layer, spelling="yaml", digest=reader.digest
    )
    return definition.Definition(**kept, source=source)


def _routes(agent: AgentFile) -> tuple[RouteName, ...]:
    """The routes as written, or those that follow from provider and mode."""
    if agent.mode == "self":
        return ()
    if agent.routes is not None:
        return tuple(dict.fromkeys(agent.routes))
    if agent.provider in ("local", "endpoint"):
        return (agent.provider,)
    if agent.mode is not None:
        return definition.ROUTES_BY_MODE[agent.mode]
    if agent.provider == "claude":
        return ("host", "claude")
    return ("host", "claude", "local", "endpoint")


def _check_fields(agent: AgentFile, tree: Tree) -> None:
    for field in ("default_variables", "lifecycle_variables"):
        fields.check_variables(tree, (field,), getattr(agent, field))
    if agent.prompt is not None:
        known = {*agent.default_variables, *agent.lifecycle_variables, *fields.RESERVED}
        names = fields.check_template(tree, ("prompt",), agent.prompt, known)
        if names is not None and "task" not in names:
            message = "has no {{ task }}, so the task is added at the end"
            tree.warn(("prompt",), message)
    fields.check_tools(tree, ("tools",), agent.tools or ())
    fields.check_tools(tree, ("blocked_tools",), agent.blocked_tools)
    fields.check_rules(tree, ("allow",), agent.allow)
    for what in agent.unsupported():
        field = what.partition(":")[0]
        message = f"this version does not run {what}: the agent cannot be asked yet"
        tree.warn((field,), message)


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
