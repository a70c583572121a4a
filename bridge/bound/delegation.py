"""Work that is given to an agent: by whom, as which request, and what is said of it.

A rule gives away what a call was to do, or asks an agent beside an event; a step of a
workflow asks one, and so does a tool of ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.config import Settings
from bridge.errors import BridgeError
from bridge.policy.rule_decision import Spawn
from bridge.policy.rule_set import label_of, place_of
from bridge.protocol.digest import sha256_of
from bridge.protocol.failure_codes import FailureCode
from bridge.protocol.ids import new_request_id
from bridge.protocol.request import Request
from bridge.protocol.response import failed
from bridge.store.charges import settle
from bridge.store.clock import uptime
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.agents.definition import Definition
    from bridge.routes import RouteName
    from bridge.tasks.task import Holder as TaskHolder

_NO_SESSION = "no session is here to start it in; with `mode: headless` it needs none"


class Told(NamedTuple):
    """What comes of it: why the call is refused, or why it runs after all.

    `notes` are for the user beside it.
    """

    text: str
    is_refusal: bool = False
    notes: tuple[str, ...] = ()


class NotPossible(BridgeError):
    """The work cannot be given to the agent."""

    code = "declined"


def not_started(spawn: Spawn, why: object) -> Told:
    """The call runs, and the user is told why; a rule may require the agent."""
    said = f"rule {label_of(spawn.rule)} could not start {spawn.agent}: {why}"
    if spawn.is_handover and spawn.rule.get("required"):
        return Told(f"hostbridge: {said}. The rule requires it.", is_refusal=True)
    return Told(said)


class Delegator:
    """Who gives work to an agent, where no session can start one.

    Attributes:
        holder: whose record has what was given away (`store.tool_calls`): the request
            of an agent on a route of ours; or the session, see `bridge.host.handover`.
        parent: the request that the giver serves; None in a session's main thread.
        depth: how many agents stand above what is asked.
        variables: the giver's own.
        route: on which agents without a session are asked; None for their own.
        agent_id: the subagent in a session; empty for any other giver.
        is_over: whether nobody waits for an answer any more.
    """

    has_session = False

    def __init__(
        self,
        settings: Settings,
        store: Store,
        holder: str,
        *,
        parent: str | None,
        depth: int,
        variables: Mapping[str, Any],
        route: RouteName | None = None,
        agent_id: str = "",
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self.settings = settings
        self.store = store
        self.holder = holder
        self.parent = parent
        self.depth = depth
        self.variables = variables
        self.route = route
        self.agent_id = agent_id
        self.is_over = is_over

    def count(self, request: Request) -> None:
        """Count an agent that is about to start; raises NotPossible if it must not."""

    def check_can_offer(self) -> None:
        """Check that the giver could be asked to start an agent by itself.

        Raises:
            NotPossible: it could not.
        """
        raise NotPossible(_NO_SESSION)

    def offer(self, _request: Request, _key: str, /) -> None:
        """Submit a request that only the giver may start, once for a key."""
        raise NotPossible(_NO_SESSION)

    def how_to_start(self, request_id: str) -> str:
        """What tells the giver to start an agent that was offered."""
        return request_id

    def hand_over(self, _spawn: Spawn, _definition: Definition | None, /) -> Told:
        """Give what a rule says to an agent of the session.

        Raises:
            BridgeError: it cannot be given.
        """
        raise NotPossible(_NO_SESSION)

    def task_holder(self) -> TaskHolder:
        """As whom the giver claims tasks."""
        from bridge.tasks.claims import holder_of_run
        from bridge.tasks.task import Holder

        known = holder_of_run(self.store, self.parent)
        return known or Holder(f"agent {self.holder}", request=self.parent)

    def find_definition(self, spawn: Spawn) -> Definition | None:
        """The definition of the agent that a rule names; None if it needs none.

        Raises:
            BridgeError: there is no such agent, or it cannot be used.
        """
        from bridge.agents.known_agents import Agents

        agents = Agents.open(self.settings, self.store.place.project)
        return agents.find(spawn.agent)

    def request_of(
        self, spawn: Spawn, definition: Definition | None, **more: Any
    ) -> Request:
        """The request, with the definition of its agent applied.

        Raises:
            BridgeError: the agent cannot be asked like this.
        """
        fields: dict[str, Any] = {}
        if definition is not None:
            from bridge.agents.apply import applied, choices

            fields = choices(definition)
        if spawn.model is not None:
            if "route" not in more:
                from bridge.agents.known_agents import check_model

                check_model(spawn.model)
            fields["model"] = spawn.model
        now_us = self.store.clock.now_us()
        priority = fields.pop("priority", "high")
        known = more.pop("request_id", None)
        request = Request.checked(
            request_id=known or new_request_id(now_us, priority),
            agent_type=spawn.agent,
            prompt=spawn.prompt,
            arguments=spawn.arguments,
            created_at=now_us // 1000,
            uptime=uptime(self.store.clock),
            requester=more.pop("requester", f"rule {spawn.rule['name']}")[:60],
            parent_request_id=self.parent,
            depth=self.depth,
            priority=priority,
            answer_to_host=True,
            **{**fields, **more},
        )
        if definition is None:
            return request.with_(variables=dict(self.variables))
        return applied(definition, request, self.variables)

    def key_of(self, spawn: Spawn) -> str:
        """Stands for the rule, who makes the call, and what it says."""
        said = [place_of(spawn.rule), self.agent_id, spawn.agent, spawn.prompt]
        return sha256_of(json.dumps(said).encode("utf-8", "replace"))


def give_up(store: Store, request: Request, code: FailureCode, why: str) -> None:
    """End a request that nobody will serve."""
    response = failed(request, code, why, now_ms=store.now_ms())
    store.publish(response, source="rule")
    settle(store, request.request_id, None)
