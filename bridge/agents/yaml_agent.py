"""The YAML agent: the fields of a definition, as they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from bridge.agents import fields
from bridge.agents.definition import (
    ContextName,
    Definition,
    Example,
    ExampleCall,
    Source,
    not_run_yet,
)
from bridge.agents.lint import warn_of_oddities
from bridge.agents.names import MAX_NAME, NAME
from bridge.agents.validate import Written, check
from bridge.policy.tool_names import rule_on_host
from bridge.protocol.ids import Priority
from bridge.protocol.request import RouteName

if TYPE_CHECKING:
    from bridge.agents.files import Reader
    from bridge.agents.names import Layer
    from bridge.agents.yaml_source import Tree

Name = Annotated[str, Field(pattern=f"^{NAME}$", max_length=MAX_NAME)]


class WrittenCall(Written):
    """A tool call in an example."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    result: str


class WrittenExample(Written):
    """One exchange shown to a small model."""

    prompt: str
    calls: list[WrittenCall] = Field(default_factory=list)
    answer: dict[str, Any]


class AgentFile(Written):
    """A YAML agent; times are in seconds."""

    name: Name
    description: str = ""
    provider: Literal["claude", "local", "endpoint"] | None = None
    mode: Literal["terminal", "headless", "self"] | None = None
    model: str | None = None
    prompt: str | None = None
    tools: list[str] | None = None
    blocked_tools: list[str] = Field(default_factory=list)
    allow: list[str] = Field(default_factory=list)
    context: list[ContextName] = Field(default_factory=list)
    examples: list[WrittenExample] = Field(default_factory=list)
    lifecycle_variables: dict[str, Any] = Field(default_factory=dict)
    lifecycle_variables_mode: Literal["merge", "replace"] = "merge"
    lifecycle_workflow: str | dict[str, Any] | None = None
    default_variables: dict[str, Any] = Field(default_factory=dict)
    workflow: str | dict[str, Any] | None = None
    workflows: dict[str, Any] | None = None
    default_workflow: str | None = None
    output_schema: dict[str, Any] | None = None
    require_verified_evidence: bool = False
    routes: Annotated[list[RouteName], Field(min_length=1)] | None = None
    timeout: Annotated[float, Field(gt=0, le=31_536_000)] | None = None
    max_turns: Annotated[int, Field(ge=1, le=1000)] | None = None
    priority: Priority | None = None
    max_attempts: Annotated[int, Field(ge=1, le=100)] | None = None
    subagent_type: Name | None = None


def read_agent(tree: Tree, layer: Layer, reader: Reader) -> Definition | None:
    """Read a YAML agent; None, with the tree's problems longer, when it is none."""
    told, found = check(AgentFile, tree)
    _check_parts(found, tree)
    model = found.model and fields.read_model(tree, ("model",), found.model, reader)
    if told is None:
        return None
    _check_answers(told, tree)
    warn_of_oddities(told, tree, _routes(told))
    examples = tuple(
        Example(
            prompt=each.prompt,
            calls=tuple(ExampleCall(**call.model_dump()) for call in each.calls),
            answer=each.answer,
        )
        for each in told.examples
    )
    kept = told.model_dump(
        exclude={"model", "examples", "timeout", "routes", "tools", "prompt"}
    )
    kept["blocked_tools"] = tuple(told.blocked_tools)
    kept["context"] = tuple(dict.fromkeys(told.context))
    kept["allow"] = tuple(map(rule_on_host, told.allow))
    return Definition(
        **kept,
        source=Source(
            file=tree.file, layer=layer, spelling="yaml", digest=reader.digest
        ),
        prompt=told.prompt,
        model=model or None,
        routes=_routes(told),
        tools=None if told.tools is None else tuple(told.tools),
        examples=examples,
        timeout_s=told.timeout,
    )


def _routes(told: AgentFile) -> tuple[RouteName, ...]:
    """The routes as written, or those that provider and mode stand for."""
    if told.mode == "self":
        return ()
    if told.routes is not None:
        return tuple(dict.fromkeys(told.routes))
    if told.provider in ("local", "endpoint"):
        return (told.provider,)
    if told.mode is not None:
        return ("host",) if told.mode == "terminal" else ("claude",)
    if told.provider == "claude":
        return ("host", "claude")
    return ("host", "claude", "local", "endpoint")


def _check_parts(told: AgentFile, tree: Tree) -> None:
    for field in ("default_variables", "lifecycle_variables"):
        fields.check_variables(tree, (field,), getattr(told, field))
    if told.prompt is not None:
        known = {*told.default_variables, *told.lifecycle_variables, *fields.RESERVED}
        names = fields.check_template(tree, ("prompt",), told.prompt, known)
        if names is not None and "task" not in names:
            message = "never says {{ task }}: what is asked is put at its end"
            tree.warn(("prompt",), message)
    fields.check_tools(tree, ("tools",), told.tools or ())
    fields.check_tools(tree, ("blocked_tools",), told.blocked_tools)
    fields.check_rules(tree, ("allow",), told.allow)
    for what in not_run_yet(told):
        field = what.partition(":")[0]
        tree.warn((field,), f"nothing runs {what} yet: the agent cannot be asked")


def _check_answers(told: AgentFile, tree: Tree) -> None:
    """The schema, the examples against it, and whether it leaves room for evidence."""
    schema = told.output_schema
    if schema is not None and not fields.check_schema(tree, ("output_schema",), schema):
        return
    for position, example in enumerate(told.examples):
        place = ("examples", position, "answer")
        if schema is not None:
            fields.check_answer(tree, place, schema, example.answer)
    if (
        told.require_verified_evidence
        and schema is not None
        and "evidence" not in (schema.get("properties") or {})
    ):
        tree.complain(
            ("output_schema",),
            "has no property `evidence`, which require_verified_evidence looks at",
        )
