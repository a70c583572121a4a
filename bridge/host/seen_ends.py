"""An agent of ours stops or hands its answer back: the ends that a hook sees.

SubagentStop has the agent's last message. In auto mode the answer comes through the
tool SubagentHandback instead, before the agent stops.
"""

from bridge.host import agent_usage, interim, lost_agents, runs
from bridge.host.capture import take_words
from bridge.host.context import HookContext
from bridge.host.run_ends import RECEIPT
from bridge.protocol.hook_output import (
    MAX_CONTEXT,
    SILENT,
    HookOutput,
    allow,
    block,
    deny,
)
from bridge.store import subagent_runs
from bridge.store.subagent_runs import AgentRun

WAIT = (
    "hostbridge: agents that you started still work. You will be woken when they are "
    "done; hand your answer over then."
)

ASKED = (
    "hostbridge has your question. You go on when there is a reply: stop working now."
)


def agent_stopped(hook: HookContext) -> HookOutput:
    """SubagentStop: the last words of our agents count, if their record is there."""
    run = runs.find_run(hook.store, hook.event)
    return lost_agents.refuse(hook) if run is None else _stopped(hook, run)


def _stopped(hook: HookContext, run: AgentRun) -> HookOutput:
    """The agent wants to end; its last message is the answer."""
    run, ahead = interim.look_ahead(hook, run)
    words = hook.event.text("last_assistant_message")
    if not run.nested:
        complaint = take_words(hook, run, words, source="SubagentStop", ahead=ahead)
        if complaint is not None:
            return block(complaint, MAX_CONTEXT)
        if not run.waits_for:
            subagent_runs.note_sign(hook.store, run, "stopped")
        return SILENT
    agent_usage.charge(hook, run)
    # The answer of an agent's own agent is for the agent that started it.
    if ahead.reports:
        return block(ahead.reports, MAX_CONTEXT)
    if run.waits_for:
        return SILENT
    if run.parent:
        if words:
            subagent_runs.keep_report(hook.store, run, words)
        subagent_runs.end(hook.store, run)
    else:
        # Whoever used the skill waits for it, and is told by the client.
        subagent_runs.drop(hook.store, run)
    return SILENT


def before_handback(hook: HookContext, run: AgentRun) -> HookOutput:
    """PreToolUse(SubagentHandback): the agent hands its answer over."""
    run, ahead = interim.look_ahead(hook, run)
    tool_input = hook.event.table("tool_input")
    message = tool_input.get("message")
    words = message if isinstance(message, str) else ""
    complaint = None
    if not run.nested:
        complaint = take_words(hook, run, words, source="SubagentHandback", ahead=ahead)
    if ahead.agents:
        # An agent that is ended here sleeps until it is woken.
        return deny(WAIT, stop=True)
    if ahead.reports:
        return deny(ahead.reports, limit=MAX_CONTEXT)
    if complaint is not None:
        return deny(complaint, limit=MAX_CONTEXT)
    if run.nested:
        # Its caller has the report now, before this one stops.
        agent_usage.charge(hook, run)
        subagent_runs.keep_report(hook.store, run, words)
        subagent_runs.end(hook.store, run)
        return SILENT
    from bridge.host import asking

    if asking.waits(hook, run.request_id) and not hook.session.one_shot:
        return deny(ASKED, stop=True)
    if run.answer_to_host and not subagent_runs.is_awaited(hook.store, run):
        return SILENT
    if not hook.session.one_shot:
        # Handed back, it would come to the host as a message with a notice behind it;
        # the message can be swallowed, but no hook sees the notice (as measured on
        # 2.1.330). An agent that is ended here leaves one notice, which `notices`
        # swallows.
        return deny(RECEIPT, stop=True)
    return allow({**tool_input, "message": RECEIPT})


HANDLERS = {"SubagentStop": agent_stopped}
