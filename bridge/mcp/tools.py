"""The tools: what each takes, in whose name it acts, what it returns.

Each is an operation (`bridge.operation`): a function of the call. Its signature is the
schema, and its docstring what a model reads. `bridge.mcp.server` lists them.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

import anyio
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult

from bridge.api.aio import AsyncBridge
from bridge.api.bridge import Bridge
from bridge.api.variables import Variables as Known
from bridge.api.wait import cancel
from bridge.errors import WaitTimeout
from bridge.mcp import results
from bridge.mcp.caller import Caller, variables_for
from bridge.mcp.serving import Serving, Stop
from bridge.mcp.starting import Mode, Started, Wanted, next_step, start
from bridge.mcp.working_here import begin_here
from bridge.operation import Says
from bridge.protocol.names import GENERAL
from bridge.protocol.response import RequestFailed
from bridge.protocol.status import Stage, Status

# An interactive client moves a call to the background after two minutes.
WAIT_S = 110.0
# The request ends by its own deadline; whoever waits looks a moment later.
_GRACE_S = 1.0

Client = Context[Any, Any]
Id = Annotated[str, Says("The request_id that start_agent returned.")]
WaitS = Annotated[float, Says("How long to wait, in seconds.", least=0, most=86_400)]
Session = Annotated[
    str | None, Says("For callers outside of Claude Code: which open session.")
]


class Call(NamedTuple):
    """A call: the project as it is now, who calls, what serves agents, its client."""

    bridge: Bridge
    caller: Caller
    serving: Serving
    client: Client


class AgentOptions(TypedDict, total=False):
    """What of an agent can be said beside who it is and what it does."""

    model: Annotated[
        str,
        Says("haiku, sonnet, opus, fable; headless also FILE.gguf or openai:NAME."),
    ]
    workflow: Annotated[
        str, Says("A key of the agent's workflows: what it works through.")
    ]
    task_id: Annotated[
        str,
        Says("The task it is about, such as #42; repeated in the answer.", most=200),
    ]
    variables: Annotated[
        dict[str, Any], Says("Variables of the agent; null switches one off.")
    ]
    continues: Annotated[
        str,
        Says(
            "The request_id of an answer: asks the agent that gave it, which remembers "
            "the conversation."
        ),
    ]
    timeout_s: Annotated[
        float, Says("Its deadline in seconds; the agent's own, or 120.")
    ]


async def start_agent(
    call: Call,
    *,
    prompt: Annotated[str, Says("What to do; with a task_id not needed.")] = "",
    agent: Annotated[
        str, Says("Which agent; the prompts list those there are.")
    ] = GENERAL,
    mode: Annotated[
        Mode | None,
        Says(
            "terminal: an agent of the open session; headless: a process of its own; "
            "self: its workflow acts on you; by default what the agent's definition "
            "says."
        ),
    ] = None,
    schema: Annotated[
        dict[str, Any] | None,
        Says("The JSON Schema that the answer must satisfy."),
    ] = None,
    wait_quota: Annotated[
        bool, Says("false: fail at a usage limit, do not wait for its end.")
    ] = True,
    wait: Annotated[
        bool, Says("false: return at once; wait_for_agent gets the answer.")
    ] = True,
    **options: Unpack[AgentOptions],
) -> CallToolResult:
    """Start an agent, and wait for its checked answer.

    If the result has `next`, do exactly that: only then does the agent start. To cancel
    the call is to cancel the agent.
    """
    bridge, caller, serving, _ = call
    given = {**options, "wait_quota": wait_quota}
    wanted = Wanted(prompt, agent, mode, schema, given)
    here = await asyncio.to_thread(begin_here, bridge, caller, wanted)
    if here is not None:
        return _result(here)
    begin = partial(start, bridge, caller, wanted, serving)

    def stop_of(started: Started) -> tuple[str, Stop]:
        return started.request_id, partial(cancel, bridge.quick, started.request_id)

    # A cancelled call has its agent cancelled as soon as there is one.
    with anyio.CancelScope(shield=True):
        started = await asyncio.to_thread(serving.started, begin, stop_of)
    request_id, stop = stop_of(started)
    with serving.waiting(request_id, stop):
        if started.offer is None and wait:
            wait_s = started.timeout_s + _GRACE_S
            return _result(await wait_for(bridge, request_id, wait_s, call.client))
        found = await asyncio.to_thread(bridge.status, request_id)
        return _result(results.agent_of(found, then=started.offer))


async def wait_for_agent(
    call: Call, request_id: Id, timeout_s: WaitS = WAIT_S
) -> CallToolResult:
    """Wait for an agent's answer.

    After `timeout_s` this returns how far the agent is: it goes on, also if the call is
    cancelled.
    """
    bridge = call.bridge
    found = await asyncio.to_thread(bridge.status, request_id)
    if (then := next_step(bridge, found, call.caller)) is not None:
        return _result(results.agent_of(found, then=then))
    return _result(await wait_for(bridge, request_id, timeout_s, call.client))


def cancel_agent(call: Call, request_id: Id) -> CallToolResult:
    """Cancel an agent; one that runs is stopped at its next tool call."""
    call.bridge.cancel(request_id)
    agent = results.agent_of(call.bridge.status(request_id))
    return results.tool_result(agent, results.text_of(agent))


def status(call: Call) -> CallToolResult:
    """The open sessions, and the agents that wait or run in this project."""
    seen = results.overview_of(call.bridge.overview())
    return results.tool_result(seen, results.overview_text(seen))


def get_variables(call: Call, session: Session = None) -> CallToolResult:
    """The variables that rules read: yours, or those of an open session."""
    return _variables(variables_for(call.bridge, call.caller, session))


def set_variables(
    call: Call,
    values: Annotated[dict[str, Any], Says("By name; null switches one off.")],
    unset: Annotated[list[str], Says("These get their first values again.")] = [],  # noqa: B006 - nobody changes it
    session: Session = None,
) -> CallToolResult:
    """Set variables that belong to no person, rule or tool."""
    variables = variables_for(call.bridge, call.caller, session)
    variables.change(values, unset)
    return _variables(variables)


def _result(agent: results.StartedAgent) -> CallToolResult:
    result = results.tool_result(agent, results.text_of(agent))
    # A valid answer that reports failure is an answer.
    result.is_error = agent.status in (Status.FAILED, Status.TIMEOUT, Status.CANCELLED)
    return result


def _variables(variables: Known) -> CallToolResult:
    found = results.variables_of(variables)
    return results.tool_result(found, results.variables_text(found))


async def wait_for(
    bridge: Bridge, request_id: str, timeout_s: float, ctx: Client
) -> results.StartedAgent:
    """How a request stands once it has ended, or after `timeout_s` seconds.

    A cancelled wait leaves the request as it is.

    Raises:
        UnknownRequest: there is no such request.
    """
    tell, began_s = reporter(ctx), time.monotonic()

    def report(stage: Stage) -> None:
        # Without a total: a share of the time would be read as a share of the work.
        gone_s = time.monotonic() - began_s
        tell(f"{stage.words}, {gone_s:.0f} s of {timeout_s:.0f} s")

    stage = None
    try:
        await AsyncBridge(bridge).wait(request_id, timeout_s=timeout_s, on_stage=report)
    except WaitTimeout as exc:
        stage = exc.stage
    except RequestFailed:
        # An end, too; the record says how.
        pass
    return results.agent_of(
        await asyncio.to_thread(bridge.status, request_id), stage=stage
    )


def reporter(ctx: Client) -> Callable[[str], None]:
    """What reports progress: called in another thread, every few seconds."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()

    def report(words: str) -> None:
        news = ctx.report_progress(loop.time() - began_s, None, words)
        # The loop may be closed: the server ends.
        with suppress(RuntimeError):
            asyncio.run_coroutine_threadsafe(news, loop)

    return report
