"""The tools of flows: run one, wait for it, end it.

A model runs flows as far as it may ask agents. What is for a person, it is told: it
answers no checkpoint, and goes on with nothing that was stopped.
"""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Unpack

import anyio
from mcp_types import CallToolResult

from bridge.agents.library import FLOWS, WORKFLOWS
from bridge.api.aio import own_thread
from bridge.api.bridge import Bridge
from bridge.api.flow_result import result_of_run
from bridge.api.options import checked
from bridge.api.run_flow import Runner
from bridge.api.run_options import RunGiven
from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.view import RunView, question, view
from bridge.errors import InvalidRequest
from bridge.host.request_tokens import instruction
from bridge.mcp.caller import Caller
from bridge.mcp.flow_results import Checkpoint, flow_of, result_of
from bridge.mcp.serving import Serving, Stop
from bridge.mcp.starting import HEADLESS, next_step
from bridge.mcp.tools import WAIT_S, Call, Client, WaitS, reporter
from bridge.operation import Says
from bridge.protocol.ids import RequestId
from bridge.routes import OWN

# A progress is reported so often.
_REPORT_S = 2.0
_ON = "The flow then goes on by itself; wait_for_flow shows how far it is."
Run = Annotated[str, Says("The run that run_flow returned.")]
Mode = Annotated[
    Literal["terminal", "headless"] | None,
    Says(
        "terminal: agents of the open session; headless: processes of their own; by "
        "default a session, if one is open."
    ),
]
Wait = Annotated[bool, Says("false: return at once; wait_for_flow gets the result.")]


async def run_flow(
    call: Call,
    *,
    flow: Annotated[
        str,
        Says(
            "Its name, also a pipeline's; its file NAME.flow in the project; its text."
        ),
    ],
    params: Annotated[dict[str, Any], Says("Its parameters; of a flow, texts.")] = {},  # noqa: B006 - nobody changes it
    mode: Mode = None,
    timeout_s: Annotated[float | None, Says("When the whole run has to end.")] = None,
    wait: Wait = True,
    **options: Unpack[RunGiven],
) -> CallToolResult:
    """Run a flow: agents one after the other (->) or side by side (||).

    For example: Explore:"Find the tests of {{what}}":found -> Plan:"Plan: {found}". If
    the result has `next`, do exactly that. To cancel the call is to cancel the run.
    """

    def begin(runner: Runner) -> str:
        # As whoever finds it reads it: also `x.yaml/`, and `x.yaml/.`.
        suffix = Path(flow).suffix
        is_file = suffix not in FLOWS.suffixes and os.path.exists(flow)
        if is_file or suffix in WORKFLOWS.suffixes:
            # What is wrong in it would be shown; and a pipeline starts programs, so
            # that a model runs those that its user knows by name.
            raise InvalidRequest(f"{flow}: expected a name, a file .flow or a text")
        route = route_of(runner, mode)
        given = checked("run", {**options, "timeout_s": timeout_s, "route": route})
        return runner.begin(flow, params, given)

    return await begun(call, begin, wait=wait)


async def wait_for_flow(
    call: Call, run: Run, timeout_s: WaitS = WAIT_S
) -> CallToolResult:
    """See how far a run is, or wait for its end.

    Returns earlier if it waits for a person, or for you: then do what `next` says.
    After `timeout_s` it goes on, also if the call is cancelled.
    """
    return await followed(call.bridge, call.caller, run, timeout_s, call.client)


def cancel_flow(
    call: Call,
    run: Run,
    pause: Annotated[  # noqa: FBT002 - a tool's arguments have names
        bool, Says("true: what was asked goes on; nothing more is.")
    ] = False,
) -> CallToolResult:
    """End a run, and cancel what it has asked; only its user goes on with it."""
    bridge = call.bridge
    act = by_hand.pause if pause else by_hand.cancel
    advance(bridge.store, bridge.settings, run, act)
    return _result(bridge, run)


async def begun(
    call: Call, begin: Callable[[Runner], str], *, wait: bool
) -> CallToolResult:
    """Begin a run, see that it is served, and follow it.

    Raises:
        BridgeError: nothing was asked.
    """
    bridge, caller, serving, client = call

    def start() -> str:
        runner = runner_for(bridge, caller)
        run_id = begin(runner)
        serve(runner, run_id, serving)
        return run_id

    def stop_of(run_id: str) -> tuple[str, Stop]:
        return run_id, partial(cancel, bridge, run_id)

    # A cancelled call has its run cancelled as soon as there is one.
    with anyio.CancelScope(shield=True):
        run_id = await asyncio.to_thread(serving.started, start, stop_of)
    with serving.waiting(*stop_of(run_id)):
        wait_s = float("inf") if wait else 0.0
        return await followed(bridge, caller, run_id, wait_s, client)


def runner_for(bridge: Bridge, caller: Caller) -> Runner:
    """What begins and follows runs on behalf of a caller."""
    return Runner(
        bridge.store,
        bridge.settings,
        bridge.quick,
        asking=caller.asking,
        session=caller.session,
        otherwise=HEADLESS,
    )


def route_of(runner: Runner, mode: str | None) -> str:
    """The route of what a call begins in a mode."""
    headless = runner.usual or "claude"
    return {"terminal": "host", "headless": headless}.get(mode or "", "auto")


def serve(runner: Runner, run_id: str, serving: Serving) -> None:
    """See that somebody serves what a run asks, if no session does."""
    if runner.look(run_id).run["ask"]["route"] in OWN:
        runner.room = serving.room
        stop = partial(cancel, runner, run_id)
        serving.follow(run_id, partial(runner.follow, run_id, {}), stop)


def cancel(project: Bridge | Runner, run_id: str) -> None:
    """End a run, unless it has ended."""
    with suppress(InvalidRequest):
        advance(project.quick, project.settings, run_id, by_hand.cancel)


async def followed(
    bridge: Bridge,
    caller: Caller,
    run_id: str,
    timeout_s: float,
    ctx: Client,
) -> CallToolResult:
    """A run once it has ended, or waits for a person or its caller."""
    runner = runner_for(bridge, caller)
    tell, began_s = reporter(ctx), time.monotonic()
    then: str | None = None
    told_s = began_s

    def is_over(seen: RunView) -> bool:
        nonlocal then, told_s
        then = _next(bridge, caller, seen)
        if time.monotonic() - told_s >= _REPORT_S:
            told_s = time.monotonic()
            ended, steps = seen.ended()
            now = ", ".join(node for node, _ in seen.open_requests())
            tell(f"{ended} of {steps} steps; runs: {now}"[:200])
        is_stuck = any(seen.checkpoints()) and not any(seen.open_requests())
        return bool(then) or is_stuck

    with own_thread({"on_change": is_over}, "on_change") as (in_thread, same):
        until_s = began_s + timeout_s
        await in_thread(lambda: runner.watch(run_id, same["on_change"], until_s))
    return await asyncio.to_thread(_result, bridge, run_id, then)


def _next(bridge: Bridge, caller: Caller, seen: RunView) -> str | None:
    """What a caller must do: its own session would wait for itself."""
    if seen.run["status"] != "running":
        return None
    mine = [
        asked
        for _, asked in seen.open_requests()
        if (found := bridge.store.find(RequestId(asked)))
        and next_step(bridge, found, caller)
    ]
    return f"{instruction(mine)}\n{_ON}" if mine else None


def _result(bridge: Bridge, run_id: str, then: str | None = None) -> CallToolResult:
    done = result_of_run(bridge.store, bridge.settings, run_id)
    waits = [
        Checkpoint(
            question=question(bridge.store, run, node),
            answer_with=f"hostbridge reply {run}",
        )
        for run, node, _ in view(bridge.store, run_id).checkpoints()
    ]
    return result_of(flow_of(done, waits, then))
