"""The agents that a step asks: `spawn_agent`.

The request has the key of the deed as its id, so that one that is done again after a
kill asks nothing twice. In a session the agent is offered to the conversation whose
step it is, which is told to start it; `mode: headless` has a process of its own, for
whose answer the model may wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.bound.rule_request import Delegator, NotPossible
from bridge.host.handover import can_start, offer_to_caller
from bridge.host.headless import Begin, begin_beside, is_headless, own_route
from bridge.host.request_tokens import instruction
from bridge.policy.rule_decision import Spawn
from bridge.policy.step_change import Said
from bridge.protocol.digest import sha256_of
from bridge.store.tool_calls import find_handover

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.host.context import HookContext
    from bridge.policy.step_record import Action
    from bridge.protocol.request import Request
    from bridge.routes import RouteName
    from bridge.store.subagent_runs import AgentRun

    Json = dict[str, Any]

_NO_SESSION = "no session is here to start it in; with `mode: headless` it needs none"
# What a request takes as it is written.
_FIELDS = ("workflow", "task_id", "variables")


def _begun(_request: Request) -> None:
    """Count nothing."""


@dataclass(frozen=True, slots=True)
class StepRequests:
    """Asks agents for the workflow of one conversation.

    Attributes:
        delegator: in whose name.
        hook: the session that it is in; None for an agent that no session runs.
        route: of such an agent: those that it asks are asked on the same one.
        run: the record of the agent, if it is one of ours in a session.
        agent_type: the client's name for that agent; None for the main thread.
        begin: called before an agent of a process of its own is started.
    """

    delegator: Delegator
    hook: HookContext | None = None
    run: AgentRun | None = None
    agent_type: str | None = None
    begin: Begin = _begun
    route: RouteName | None = None

    def act(self, action: Action, given: Json, key: str) -> Any:
        """Do a `spawn_agent`, or a `call_tool`, once for one key.

        Raises:
            BridgeError: it cannot be done.
        """
        if action["do"] == "spawn_agent":
            return self.spawn(given, key)
        from bridge.policy.earlier_names import with_old_names
        from bridge.tasks.claims import holder_in, holder_of_run
        from bridge.tasks.task import Holder
        from bridge.tasks.tool_table import call
        from bridge.tasks.tools import ToolContext

        delegator = self.delegator
        texts: list[str] = []

        def start_agent(*, dedup_key: str, **asked: Any) -> str:
            said = self.start(asked, dedup_key)
            texts.append(said.text)
            return str(said.value["request_id"])

        # As the tools that the model calls itself: what a step claims is its own.
        holder = holder_of_run(delegator.store, delegator.parent)
        if holder is None and self.hook is not None:
            holder = holder_in(self.hook.session, delegator.agent_id, delegator.parent)
        elif holder is None:
            holder = Holder(f"agent {delegator.holder}", request=delegator.parent)
        context = ToolContext(delegator.store, delegator.settings, holder, start_agent)
        result = with_old_names(call(context, action["tool"], given, key))
        return Said(result, "\n".join(texts)) if texts else result

    def start(self, given: Json, dedup_key: str) -> Said:
        """As `spawn`, once for a text."""
        return self.spawn(given, _id_of(dedup_key))

    def spawn(self, given: Json, key: str) -> Said:
        """Ask an agent; the value names the request.

        Raises:
            BridgeError: it cannot be asked.
        """
        agent = str(given.get("agent"))
        delegator = self.delegator
        earlier = find_handover(delegator.store, delegator.holder, key)
        if earlier is not None:
            return _offered(agent, key)
        spawn = _spawn_of(agent, given, self._prompt(given))
        definition = delegator.find_definition(spawn)
        mode = given.get("mode") or ("headless" if self._is_alone(definition) else "")
        if mode == "headless":
            route = self.route or own_route(definition, delegator.settings)
            request = self._request(spawn, definition, given, key, route)
            begin_beside(delegator, request, key, begin=self.begin)
            return _works(agent, key)
        if self.hook is None:
            raise NotPossible(_NO_SESSION)
        if not can_start(self.agent_type, self.run, delegator.depth):
            raise NotPossible("this agent has no tool to start others")
        request = self._request(spawn, definition, given, key, "host")
        session = self.hook.session.session_id
        offer_to_caller(self.hook, request.with_(session=session), key)
        return _offered(agent, key)

    def _prompt(self, given: Json) -> str:
        """What the agent is told: without a prompt, what its task says.

        Raises:
            BridgeError: it is told nothing, or there is no such task.
        """
        prompt = str(given.get("prompt") or "")
        if prompt.strip():
            return prompt
        if given.get("task_id") is None:
            raise NotPossible("it has neither a prompt nor a `task_id`")
        from bridge.tasks.task_data import prompt_of  # with SQLite

        return prompt_of(self.delegator.store, str(given["task_id"]))

    def _is_alone(self, definition: Definition | None) -> bool:
        return self.hook is None or is_headless(definition)

    def _request(
        self,
        spawn: Spawn,
        definition: Definition | None,
        given: Json,
        key: str,
        route: RouteName,
    ) -> Request:
        more = {name: given[name] for name in _FIELDS if given.get(name) is not None}
        if given.get("schema") is not None:
            more["answer_schema"] = given["schema"]
        if given.get("timeout") is not None:
            more["timeout"] = int(float(given["timeout"]) * 1000)
        return self.delegator.request_of(
            spawn,
            definition,
            request_id=key,
            requester="a step workflow",
            route=route,
            **more,
        )


def _works(agent: str, request_id: str) -> Said:
    return Said(
        {"request_id": request_id, "agent": agent},
        f"hostbridge: {agent} works on this by itself, as request {request_id}: "
        "the tool wait_for_agent gives its answer.",
    )


def _offered(agent: str, request_id: str) -> Said:
    return Said(
        {"request_id": request_id, "agent": agent},
        f"{instruction([request_id])}\nGo on with its answer.",
    )


def _spawn_of(agent: str, given: Json, prompt: str) -> Spawn:
    rule: Json = {"name": "step", "file": "", "line": 0}
    rule["spawn_agent"] = {
        "agent": agent,
        "arguments": given.get("arguments") or {},
        "model": given.get("model"),
    }
    return Spawn(rule, prompt, is_handover=False)


def _id_of(dedup_key: str) -> str:
    """The id of what is asked once for a key."""
    return f"a-{sha256_of(dedup_key.encode())[:32]}"
