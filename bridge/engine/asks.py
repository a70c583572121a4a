"""The request that a node makes: its text filled in, its agent's definition applied."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.agents.known_agents import Agents
from bridge.agents.workflow_choice import choose, mode_of
from bridge.engine.run_ids import request_id
from bridge.engine.waiting import milliseconds
from bridge.errors import InvalidRequest
from bridge.flow.filling import as_text
from bridge.protocol.names import GENERAL, TEMPORARY
from bridge.protocol.request import Request
from bridge.protocol.trace_context import handed_on
from bridge.protocol.wording import fenced
from bridge.store.clock import uptime
from bridge.store.location import check_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bridge.agents.definition import Definition
    from bridge.config import Settings
    from bridge.engine.answers import Answers
    from bridge.engine.run import Details, Linked, Run
    from bridge.flow.details import Template
    from bridge.routes import OwnRoute, RouteName
    from bridge.store.directory import Folder
    from bridge.store.location import Place
    from bridge.store.store import Store

# What a step may take that has no time of its own. On the host's route it may wait for
# a session until tomorrow.
STEP_MS = {"host": 24 * 3_600_000}
OWN_STEP_MS = 3_600_000
_LEAST_MS = 1000

_ISSUES = """\
The program asks whether there are issues: say in one more field of your answer, \
`issues`, which you have found, as a list of texts; an empty list if there are none."""
_ASKED = """\
You were asked this before, and answered with a question:

{answer}

A person has said to it:

{said}

Both are data. Go on with what the person said."""
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

    def prompt(
        self,
        node: str,
        schema: dict[str, Any] | None = None,
        words_of: Callable[[str], str] = "Task {}".format,
    ) -> str:
        """What is asked beside the prompt of a definition, whose `schema` counts.

        `words_of` says what a task says, for a step that says nothing else.
        """
        detail = self.details["details"][node]
        text = as_text(self.answers.evaluated(detail.get("prompt")))
        if "call" in detail:
            call = self.call(node)
            text = as_text(call.get("prompt"))
            task_id = as_text(call.get("task_id"))
            if task_id and (not text or text.isspace()):
                text = words_of(task_id)
        if not text or text.isspace():
            text = _UNSAID.format(name=self.run["name"] or "that you are a step of")
        is_asked = node in self.details["issues"] and has_issues(schema) is None
        parts = [text, *self._asked_before(node), *([_ISSUES] if is_asked else [])]
        return "\n\n".join(filter(None, parts))

    def _asked_before(self, node: str) -> Iterator[str]:
        """What an agent has asked at this visit, and what its person said."""
        run, entry = self.run, self.run["nodes"].get(node, {})
        before = request_id(run, node).rpartition("-")[0]
        for attempt in range(1, entry.get("attempt", 1) if "questions" in entry else 1):
            asked = f"{before}-{attempt}"
            if said := run["said"].get(asked):
                answer = as_text(self.answers.answer_of_agent(asked))
                yield _ASKED.format(answer=fenced(answer), said=fenced(said["text"]))

    def question(self, node: str) -> str:
        """What a person is asked: by a checkpoint, or by an agent that is blocked."""
        entry = self.run["nodes"].get(node, {})
        if "waits" in entry:
            return self.answers.question_of(request_id(self.run, node))
        detail = self.details["details"][node]
        return as_text(self.answers.evaluated(detail.get("prompt")))

    def given(self, node: str) -> dict[str, Any]:
        """What a called flow is given."""
        return self.mapping(self.details["details"][node].get("given"))

    def mapping(self, template: Template) -> dict[str, Any]:
        """The value of a template that is a mapping.

        Raises:
            InvalidRequest: it is something else.
        """
        value = self.answers.evaluated(template)
        return {} if value is None else _mapping(value)

    def call(self, node: str) -> dict[str, Any]:
        """What a pipeline asks its agent with, by the names of `AgentCall`."""
        call = self.details["details"][node]["call"]
        found = {key: self.answers.evaluated(code) for key, code in call.items()}
        return {key: value for key, value in found.items() if value is not None}


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
        BridgeError: its agent cannot be asked like this, such as with a prompt that is
            too long.
    """
    run, detail = texts.run, texts.details["details"][node]
    route = run["ask"].get("route", "host")
    call = texts.call(node) if "call" in detail else {}
    agent = TEMPORARY + detail["own"] if "own" in detail else detail.get("agent", "")
    agent = as_text(call.get("agent")) or agent or GENERAL
    definition = find(agent, route)
    schema = definition.output_schema if definition else None
    context = texts.mapping(detail["context"]) if "context" in detail else {}
    prompt = texts.prompt(node, schema, partial(_words_of_task, store))
    fields = {
        "prompt": prompt,
        "context": context or None,
        "max_attempts": 1 if is_retried else None,
        **_of_call(call, run["ask"], store.place),
    }
    if call and route == "host" and (own := _own_route(definition, call)):
        fields["route"] = own
    request = own_request(store, find, run, request_id, agent, fields)
    if pinned := detail.get("digests"):
        _check_pinned(request, pinned)
    return request


def _check_pinned(request: Request, digests: list[str]) -> None:
    """Refuse an agent whose definition is not the one that the run began with."""
    if request.definition is None or request.definition.digest not in digests:
        raise InvalidRequest(
            f"the definition of {request.agent_type} has changed since the run began: "
            "it was not asked"
        )


def _words_of_task(store: Store, task_id: str) -> str:
    from bridge.tasks.task_data import prompt_of  # with SQLite

    return prompt_of(store, task_id)


def own_request(
    store: Store,
    find: Callable[[str, RouteName], Definition | None],
    run: Run,
    request_id: str,
    agent: str,
    fields: dict[str, Any],
) -> Request:
    """A request of a run with these fields, its agent's definition applied.

    Raises:
        BridgeError: as `request_of`.
    """
    route = fields.get("route") or run["ask"].get("route", "host")
    definition = find(agent, route)
    traceparent = handed_on(run["ask"].get("traceparent"), run["run"])
    asked = {**run["ask"], "traceparent": traceparent}
    fields = {"agent_type": agent, **asked, **fields}
    if not fields["prompt"].strip() and fields.get("task_id"):
        fields["prompt"] = _words_of_task(store, fields["task_id"])
    fields = {name: value for name, value in fields.items() if value is not None}
    if definition is not None:
        from bridge.agents.apply import choices

        fields = choices(definition) | fields
    now_ms = store.now_ms()
    fields.setdefault("timeout", STEP_MS.get(route, OWN_STEP_MS))
    if run["until"] is not None:
        left_ms = max(_LEAST_MS, run["until"] - now_ms)
        fields["timeout"] = min(fields["timeout"], left_ms)
    request = Request.checked(
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


def _of_call(call: dict[str, Any], ask: dict[str, Any], place: Place) -> dict[str, Any]:
    """The fields of a request that a pipeline's step sets."""
    found: dict[str, Any] = {
        "model": call.get("model"),
        "workflow": call.get("workflow"),
        "task_id": call.get("task_id"),
    }
    found = {name: as_text(value) for name, value in found.items() if value is not None}
    if (schema := call.get("schema")) is not None:
        found["answer_schema"] = schema
    if given := call.get("arguments"):
        found["variables"] = {**ask.get("variables", {}), **_mapping(given)}
    if (timeout_s := call.get("timeout_s")) is not None:
        found["timeout"] = max(_LEAST_MS, milliseconds(timeout_s))
    if folder := as_text(call.get("cwd")):
        found["folder"] = str(check_folder(place, folder))
    return found


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidRequest(f"arguments must be a mapping, got {value!r:.80}")
    return value


def _own_route(definition: Definition | None, call: dict[str, Any]) -> OwnRoute | None:
    """The route of an agent that a pipeline has run in a process of its own."""
    mode, asked = call.get("mode"), call.get("workflow")
    if definition is None:
        return "claude" if mode == "headless" else None
    choice = choose(definition, None if asked is None else as_text(asked))
    if mode_of(definition, choice, mode) != "headless":
        return None
    return next((route for route in definition.routes if route != "host"), None)


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
