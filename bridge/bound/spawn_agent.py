"""The agents that a step asks: `spawn_agent`.

The request has the key of the deed as its id, so that one that is done again after a
kill asks nothing twice. In a session the agent is offered to the conversation whose
step it is, which is told to start it; `mode: headless` has a process of its own, for
whose answer the model may wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.bound.delegation import Delegator, NotPossible
from bridge.bound.headless import begin_beside, is_headless, own_route
from bridge.policy.rule_decision import Spawn
from bridge.policy.step_change import Said
from bridge.protocol.digest import sha256_of
from bridge.store.tool_calls import find_handover

if TYPE_CHECKING:
    from bridge.policy.step_record import Action
    from bridge.routes import RouteName

    Json = dict[str, Any]

# What a request takes as it is written.
_FIELDS = ("workflow", "task_id", "variables")


def act(delegator: Delegator, action: Action, given: Json, key: str) -> Any:
    """Do a `spawn_agent`, or a `call_tool`, once for one key.

    Raises:
        BridgeError: it cannot be done.
    """
    if action["do"] == "spawn_agent":
        return spawn(delegator, given, key)
    from bridge.policy.earlier_names import with_old_names
    from bridge.tasks.tool_table import call
    from bridge.tasks.tools import ToolContext

    texts: list[str] = []

    def start_agent(*, dedup_key: str, **asked: Any) -> str:
        said = start(delegator, asked, dedup_key)
        texts.append(said.text)
        return str(said.value["request_id"])

    # As the tools that the model calls itself: what a step claims is its own.
    context = ToolContext(
        delegator.store, delegator.settings, delegator.task_holder(), start_agent
    )
    result = with_old_names(call(context, action["tool"], given, key))
    return Said(result, "\n".join(texts)) if texts else result


def start(delegator: Delegator, given: Json, dedup_key: str) -> Said:
    """As `spawn`, once for a text."""
    return spawn(delegator, given, f"a-{sha256_of(dedup_key.encode())[:32]}")


def spawn(delegator: Delegator, given: Json, key: str) -> Said:
    """Ask an agent; the value names the request.

    Raises:
        BridgeError: it cannot be asked.
    """
    agent = str(given.get("agent"))
    earlier = find_handover(delegator.store, delegator.holder, key)
    if earlier is not None:
        return _offered(delegator, agent, key)
    wanted = _spawn_of(agent, given, _prompt(delegator, given))
    definition = delegator.find_definition(wanted)
    is_alone = not delegator.has_session or is_headless(definition)
    is_beside = (given.get("mode") or ("headless" if is_alone else "")) == "headless"
    route: RouteName = "host"
    if is_beside:
        route = delegator.route or own_route(definition, delegator.settings)
    else:
        delegator.check_can_offer()
    more = {name: given[name] for name in _FIELDS if given.get(name) is not None}
    if given.get("schema") is not None:
        more["answer_schema"] = given["schema"]
    if given.get("timeout") is not None:
        more["timeout"] = int(float(given["timeout"]) * 1000)
    request = delegator.request_of(
        wanted,
        definition,
        request_id=key,
        requester="a step workflow",
        route=route,
        **more,
    )
    if is_beside:
        begin_beside(delegator, request, key)
        return _works(agent, key)
    delegator.offer(request, key)
    return _offered(delegator, agent, key)


def _prompt(delegator: Delegator, given: Json) -> str:
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

    return prompt_of(delegator.store, str(given["task_id"]))


def _works(agent: str, request_id: str) -> Said:
    return Said(
        {"request_id": request_id, "agent": agent},
        f"hostbridge: {agent} works on this by itself, as request {request_id}: "
        "the tool wait_for_agent gives its answer.",
    )


def _offered(delegator: Delegator, agent: str, request_id: str) -> Said:
    return Said(
        {"request_id": request_id, "agent": agent},
        f"{delegator.how_to_start(request_id)}\nGo on with its answer.",
    )


def _spawn_of(agent: str, given: Json, prompt: str) -> Spawn:
    rule: Json = {"name": "step", "file": "", "line": 0}
    rule["spawn_agent"] = {
        "agent": agent,
        "arguments": given.get("arguments") or {},
        "model": given.get("model"),
    }
    return Spawn(rule, prompt, is_handover=False)
