"""The request that a node makes: its text filled in, its agent's definition applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.agents.known_agents import Agents
from bridge.flow.filling import filled
from bridge.protocol.names import TEMPORARY
from bridge.protocol.request import Request
from bridge.store.clock import uptime

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.engine.answers import Answers
    from bridge.engine.run import Details, Linked, Run
    from bridge.flow.plan import Part
    from bridge.protocol.request import RouteName
    from bridge.store.directory import Folder
    from bridge.store.store import Store

# What a step may take that has no time of its own. On the host's route it may wait for
# a session until tomorrow.
STEP_MS = {"host": 24 * 3_600_000}
OWN_STEP_MS = 3_600_000
_LEAST_MS = 1000

_ISSUES = """\
The program asks whether there are issues: say in one more field of your answer, \
`issues`, which you have found, as a list of texts; an empty list if there are none."""
_UNSAID = "Do your part of the flow {name}: nothing else was said to you."


class Definitions:
    """The definitions of agents, each looked up once."""

    def __init__(self, settings: Settings, project: Path) -> None:
        self._agents = Agents.open(settings, project)
        self._known: dict[tuple[str, str, RouteName], Definition | None] = {}

    def find(
        self, folder: Folder, plan: Linked, agent: str, route: RouteName
    ) -> Definition | None:
        """The definition that a route needs; `folder` and `plan` are those of the run.

        Raises:
            BridgeError: as `Agents.find`, or `temporary_agent` for one of the run's.
        """
        is_own = agent.startswith(TEMPORARY)
        key = (folder.path if is_own else "", agent, route)
        if key not in self._known and is_own:
            from bridge.engine.temporary import temporary_agent  # with all of YAML

            home = self._agents.registry.home
            own = temporary_agent(folder, plan, home, agent[1:])
            self._known[key] = self._agents.with_base(own, route)
        elif key not in self._known:
            self._known[key] = self._agents.find(agent, route)
        return self._known[key]


class Texts(NamedTuple):
    """What a run says to those it asks; each text is filled in once."""

    run: Run
    details: Details
    answers: Answers

    def filled(self, parts: list[Part]) -> str:
        """A text with its values put in."""
        names = self.run["vars"]
        return filled(
            parts,
            variables=self.answers.variables(names),
            answers=self.answers.wholes(names),
            params=self.run["params"],
        )

    def prompt(self, node: str, schema: dict[str, Any] | None = None) -> str:
        """What is asked beside the prompt of a definition, whose `schema` counts."""
        text = self.question(node)
        if not text or text.isspace():
            text = _UNSAID.format(name=self.run["name"] or "that you are a step of")
        is_asked = node in self.details["issues"] and has_issues(schema) is None
        return f"{text}\n\n{_ISSUES}" if is_asked else text

    def question(self, node: str) -> str:
        """What a person is asked at a checkpoint."""
        return self.filled(self.details["details"][node].get("text", []))

    def arguments(self, node: str) -> dict[str, str]:
        """What a called flow is given."""
        given = self.details["details"][node].get("arguments", {})
        return {name: self.filled(parts) for name, parts in given.items()}


def request_of(
    store: Store,
    find: Callable[[str, RouteName], Definition | None],
    texts: Texts,
    *,
    node: str,
    request_id: str,
    is_retried: bool,
) -> Request:
    """The request of a node, as it is submitted.

    The attempts of a node that `is_retried` are the run's to count.

    Raises:
        BridgeError: its agent cannot be asked like this.
        ValueError: a field is not what it may be, such as a prompt that is too long.
    """
    run, detail = texts.run, texts.details["details"][node]
    route = run["ask"].get("route", "host")
    agent = TEMPORARY + detail["own"] if "own" in detail else detail["agent"]
    definition = find(agent, route)
    schema = definition.output_schema if definition else None
    fields: dict[str, Any] = {
        "agent_type": agent,
        "prompt": texts.prompt(node, schema),
        "max_attempts": 1 if is_retried else None,
        **run["ask"],
    }
    fields = {name: value for name, value in fields.items() if value is not None}
    if definition is not None:
        from bridge.agents.apply import choices

        fields = choices(definition) | fields
    now_ms = store.now_ms()
    fields.setdefault("timeout", STEP_MS.get(route, OWN_STEP_MS))
    if run["until"] is not None:
        left_ms = max(_LEAST_MS, run["until"] - now_ms)
        fields["timeout"] = min(fields["timeout"], left_ms)
    request = Request(
        request_id=request_id,
        created_at=now_ms,
        uptime=uptime(store.clock),
        **fields,
    )
    if definition is None:
        return request
    from bridge.agents.apply import applied, with_context

    request = with_context(definition, request, store.place.project)
    return applied(definition, request, request.variables)


def has_issues(schema: dict[str, Any] | None) -> bool | None:
    """Whether answers by a schema have `issues`; None if they have where that is asked.

    A condition holds if there is anything in that field: a list of texts, as we ask for
    it, or what the definition of the agent wants there.
    """
    if schema is None:
        return None
    if "issues" in schema.get("properties", {}):
        return True
    is_object = schema.get("type", "object") == "object"
    return None if is_object and schema.get("additionalProperties", True) else False
