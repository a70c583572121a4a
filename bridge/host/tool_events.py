"""Agent calls, and everything in our subagents: their calls, dialogs and ends."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Literal

from bridge.host import interim, limits, lost_agents, output, runs, unseen_ends
from bridge.host.agent_calls import before_agent, before_message
from bridge.host.context import HookContext
from bridge.host.events import HookEvent
from bridge.host.seen_ends import before_handback, subagent_stop
from bridge.host.user_rules import rules_of
from bridge.policy.tool_classes import MESSAGE, QUESTION, is_own
from bridge.policy.tool_lists import is_unasked
from bridge.protocol.wording import one_line
from bridge.store.callers import Agent, SessionAgent, note_caller
from bridge.store.live_runs import some_live
from bridge.store.subagent_runs import AgentRun

if TYPE_CHECKING:
    from bridge.policy.permissions import Call

# What plan mode allows an agent: a grant must not override the user's choice.
READ_ONLY = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead"})
READ_ONLY |= {"WebFetch", "WebSearch"}

MAX_REASON = 400


def pre_tool_use(hook: HookContext) -> output.HookOutput:
    """For Agent calls, calls in subagents, and commands and MCP tools of ours."""
    event = hook.event
    if is_own(event.tool):
        agent = Agent(agent_id=event.agent_id, agent_type=event.text("agent_type"))
        caller = SessionAgent(hook.session.session_id, agent)
        note_caller(hook.store, caller, event.text("tool_use_id"))
    if event.tool == "Bash" and (refused := _for_the_user(event)):
        return refused
    if event.tool == QUESTION and some_live(hook.store.place):
        from bridge.host.checkpoints import before_question

        return before_question(hook)
    run = runs.find_run(hook.store, event)
    if event.agent_id and run is None:
        refused = lost_agents.refuse(hook)
        if refused != output.SILENT:
            return refused
    if event.is_agent_call:
        return before_agent(hook, run)
    if event.tool == MESSAGE and not event.agent_id:
        return before_message(hook)
    if run is None:
        return output.SILENT
    if event.tool == "SubagentHandback":
        return before_handback(hook, run)
    return _tool_call(hook, run)


def _for_the_user(event: HookEvent) -> output.HookOutput | None:
    """Why a model must not run a command of ours; None for any other."""
    command = event.table("tool_input").get("command")
    if not isinstance(command, str) or "bridge" not in command:
        return None
    from bridge.policy.own_commands import find_refused

    refused = find_refused(command, time.process_time)
    if refused is None:
        return None
    return output.deny(
        f"hostbridge: `{refused}` is for the user, in a terminal of their own: a model "
        "must not undo or raise what its user set. Ask them to run it."
    )


def _tool_call(hook: HookContext, run: AgentRun) -> output.HookOutput:
    """A tool call in our subagent that the gate did not simply allow."""
    event = hook.event
    unseen_ends.note_bound(hook, run)
    refused = limits.refuse(hook, run) or _held_to_grants(hook, run)
    if refused is None and event.tool == MESSAGE:
        refused = interim.refuse_message(hook, run)
    return refused or output.SILENT


def permission_request(hook: HookContext) -> output.HookOutput:
    """No dialog from our agents: whatever the user is typing could answer it."""
    run = runs.find_run(hook.store, hook.event)
    if run is None:
        return lost_agents.refuse(hook)
    tool = hook.event.tool or "this tool"
    if hook.event.text("permission_mode") == "plan" and tool not in READ_ONLY:
        why = f"the session is in plan mode, where {tool} is granted to nobody"
        return output.refuse_permission(_refused(hook, run, why))
    from bridge.policy.permissions import is_granted

    call = _call_of(hook, run)
    if is_granted(run.allow, call):
        if not is_granted(_rules_of_user(hook, "ask"), call):
            return output.grant_permission()
        why = f"the user's settings ask about this use of {tool}"
        return output.refuse_permission(_refused(hook, run, why))
    return output.refuse_permission(_refused(hook, run, _not_granted(run, call)))


def _held_to_grants(hook: HookContext, run: AgentRun) -> output.HookOutput | None:
    """Why a call may not run that the session's mode may allow; None if it may.

    What the definition does not grant is refused in every mode, unless it only looks
    or the user's own settings allow it.
    """
    if not is_unasked(run.to_data(), hook.event.raw):
        return None
    from bridge.policy.looking import only_looks
    from bridge.policy.permissions import is_granted

    call = _call_of(hook, run)
    may = (
        is_granted(run.allow, call)
        or (call.tool == "Bash" and only_looks(hook.event.command, call.is_inside))
        or is_granted(_rules_of_user(hook, "allow"), call)
    )
    return None if may else output.deny(_refused(hook, run, _not_granted(run, call)))


def _call_of(hook: HookContext, run: AgentRun) -> Call:
    """The call that an event is about, and how paths resolve where it is made."""
    from bridge.policy.permissions import Call

    project = run.folder or str(hook.store.place.project)
    cwd = hook.event.text("cwd") or project
    return Call(
        hook.event.tool,
        hook.event.table("tool_input"),
        project,
        lambda path: os.path.realpath(os.path.join(cwd, path)),
    )


def _rules_of_user(hook: HookContext, behavior: Literal["allow", "ask"]) -> list[str]:
    return rules_of(hook.settings.claude_dir, hook.store.place.project, behavior)


def _not_granted(run: AgentRun, call: Call) -> str:
    from bridge.policy.permissions import why_not_granted
    from bridge.policy.shell_signs import shell_sign

    tool = call.tool or "this tool"
    close = why_not_granted(run.allow, call)
    if close is None and (sign := shell_sign(call.command or "")):
        close = f"a grant covers one plain command, not {sign!r}"
    # The reason quotes what a model wrote.
    why = f": {one_line(close, MAX_REASON)}" if close else ""
    return f"{tool} is not granted to this agent{why}"


def _refused(hook: HookContext, run: AgentRun, why: str) -> str:
    """What the agent is told of a refused call, which is written down."""
    limits.note_refusal(hook, run, why, is_turn=False)
    return (
        f"hostbridge: {why}. Nobody is there to ask. Work without it, or answer that "
        "you are blocked and by what."
    )


def agent_stopped(hook: HookContext) -> output.HookOutput:
    """SubagentStop: the last words of our agents count, if their record is there."""
    run = runs.find_run(hook.store, hook.event)
    return lost_agents.refuse(hook) if run is None else subagent_stop(hook, run)


def tool_failed(hook: HookContext) -> output.HookOutput:
    """PostToolUseFailure: only what starts an agent, or asks one again, concerns us."""
    if hook.event.is_agent_call:
        return unseen_ends.agent_call_failed(hook)
    if hook.event.tool == MESSAGE:
        from bridge.host.messages import message_failed

        return message_failed(hook)
    return output.SILENT


HANDLERS = {
    "PreToolUse": pre_tool_use,
    "PostToolUseFailure": tool_failed,
    "PermissionRequest": permission_request,
    "SubagentStop": agent_stopped,
}
