"""PostToolUse(SendMessage): an agent that is asked again has got its question, or not.

What the call is for, and what the client says to it, is in `continuing`.
"""

from contextlib import suppress

from bridge.errors import StateUnavailable
from bridge.host.context import HookContext
from bridge.host.run_ends import REPLACED, fail
from bridge.host.unseen_ends import LAUNCHED
from bridge.host.waiting import look_soon
from bridge.protocol.contract import prompt_digest
from bridge.protocol.hook_output import SILENT, HookOutput, specific
from bridge.protocol.ids import RequestId
from bridge.store import idle_agents, subagent_runs
from bridge.store.charges import note_no_launch
from bridge.store.subagent_runs import AgentRun


def after_message(hook: HookContext) -> HookOutput:
    """PostToolUse(SendMessage): the agent of the call has got it, or is gone."""
    source = "PostToolUse(SendMessage)"
    run = subagent_runs.find_call(hook.store, hook.event.tool_use_id)
    if run is None or not run.continued_from:
        return SILENT
    said = hook.event.table("tool_response")
    message = hook.event.table("tool_input").get("message")
    if said.get("success") is not True:
        _not_sent(hook, run, str(said.get("message", ""))[:1000], source)
        return SILENT
    if prompt_digest(str(message)) != run.prompt_sha256:
        fail(hook, run, "prompt_replaced", detail=REPLACED, source=source)
        return SILENT
    with suppress(StateUnavailable):
        subagent_runs.change(hook.store, run, _running)
    receipt = {"success": True, "message": LAUNCHED}
    return specific("PostToolUse", updatedToolOutput=receipt)


def _running(run: AgentRun) -> AgentRun:
    return run.with_(state="running") if run.state == "launched" else run


def message_failed(hook: HookContext) -> HookOutput:
    """PostToolUseFailure(SendMessage): the call itself failed."""
    run = subagent_runs.find_call(hook.store, hook.event.tool_use_id)
    if run is not None and run.continued_from:
        error = hook.event.text("error")[:1000]
        _not_sent(hook, run, error, "PostToolUseFailure(SendMessage)")
    return SILENT


def _not_sent(hook: HookContext, run: AgentRun, why: str, source: str) -> None:
    """The agent did not get its question: a new one does, unless it had to be this."""
    request_id = RequestId(run.request_id)
    with hook.store.state() as state:
        idle_agents.forget(state, run.agent_id)
    request = hook.store.find_unfinished(request_id)
    if request is not None and request.continues is None:
        subagent_runs.drop(hook.store, run)
        note_no_launch(hook.store, hook.session.host, run.tool_use_id)
        hook.store.give_back(request_id, hook.session.host)
        look_soon(hook)
        return
    fail(hook, run, "cannot_continue", detail=why, source=source)
    subagent_runs.drop(hook.store, run)
