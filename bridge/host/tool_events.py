"""Agent calls, and everything in our subagents: their calls, dialogs and ends."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bridge.config import has_cd_path
from bridge.host import limits, runs
from bridge.host.context import HookContext
from bridge.host.events import HookEvent
from bridge.policy.tool_classes import MESSAGE, QUESTION, is_own
from bridge.protocol import hook_output as output
from bridge.protocol.wording import one_line
from bridge.store.live_runs import some_live
from bridge.store.subagent_runs import AgentRun
from bridge.store.tool_calls import Agent, SessionAgent, note_caller

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        from bridge.host import lost_agents

        refused = lost_agents.refuse(hook)
        if refused != output.SILENT:
            return refused
    if event.is_agent_call:
        from bridge.host.agent_calls import before_agent

        return before_agent(hook, run)
    if event.tool == MESSAGE and not event.agent_id:
        from bridge.host.agent_calls import before_message

        return before_message(hook)
    if run is None:
        return output.SILENT
    if event.tool == "SubagentHandback":
        from bridge.host.seen_ends import before_handback

        return before_handback(hook, run)
    return _tool_call(hook, run)


def _for_the_user(event: HookEvent) -> output.HookOutput | None:
    """Why a model must not run a command of ours; None for any other."""
    command = event.table("tool_input").get("command")
    if not isinstance(command, str) or "bridge" not in command:
        return None
    from bridge.policy.own_commands import find_refused

    refused = find_refused(command)
    if refused is None:
        return None
    return output.deny(
        f"hostbridge: `{refused}` is for the user, in a terminal of their own: a model "
        "must not undo or raise what its user set. Ask them to run it."
    )


def _tool_call(hook: HookContext, run: AgentRun) -> output.HookOutput:
    """A tool call in our subagent that the gate did not simply allow."""
    limits.note_bound(hook, run)
    refused = limits.refuse(hook, run) or _held_to_grants(hook, run)
    if refused is None and hook.event.tool == MESSAGE:
        from bridge.host import interim

        refused = interim.refuse_message(hook, run)
    return refused or output.SILENT


def permission_request(hook: HookContext) -> output.HookOutput:
    """No dialog from our agents: whatever the user is typing could answer it."""
    run = runs.find_run(hook.store, hook.event)
    if run is None:
        from bridge.host import lost_agents

        return lost_agents.refuse(hook)
    tool = hook.event.tool or "this tool"
    from bridge.policy.permissions import is_granted, is_withheld, looks

    call = _call_of(hook, run)
    # The client asks about whatever lies outside its own folder, a worktree say.
    may_look = call.main is not None and looks(call)
    is_planned = hook.event.text("permission_mode") == "plan"
    if is_planned and tool not in READ_ONLY and not may_look:
        why = f"the session is in plan mode, where {tool} is granted to nobody"
        return output.refuse_permission(_refused(hook, run, why))
    if may_look or is_granted(run.allow, call):
        if not _user_asks(hook, call) and not is_withheld(call):
            return output.grant_permission()
        why = f"the user's settings keep this use of {tool} from agents"
        return output.refuse_permission(_refused(hook, run, why))
    return output.refuse_permission(_refused(hook, run, _not_granted(run, call)))


def _held_to_grants(hook: HookContext, run: AgentRun) -> output.HookOutput | None:
    """Why a call may not run that the session's mode may allow; None if it may.

    What the definition does not grant is refused in every mode, unless it only looks
    or the user's own settings allow it. In a mode that asks, the client does not ask
    about the session's own folder: what is private there is refused.
    """
    from bridge.policy.tool_lists import is_unasked, reads_unasked

    data, raw = run.to_data(), hook.event.raw
    is_held = is_unasked(data, raw)
    if not is_held and not reads_unasked(data, raw):
        return None
    from dataclasses import replace

    from bridge.policy.permissions import is_granted, is_private, is_withheld, looks

    call = _call_of(hook, run)
    # The user's own rules are about no project, except in a copy of one.
    theirs = replace(call, anywhere=call.main is None)
    may = is_granted(run.allow, call) or is_granted(
        _rules_of_user(hook, "allow"), theirs
    )
    if is_held:
        may = (may or looks(call)) and not is_withheld(call)
    elif not may:
        may = not is_private(call)
    return None if may else output.deny(_refused(hook, run, _not_granted(run, call)))


def _call_of(hook: HookContext, run: AgentRun) -> Call:
    """The call that an event is about, and how paths resolve where it is made."""
    from dataclasses import replace

    from bridge.policy.permissions import Call
    from bridge.policy.shell_signs import is_searched
    from bridge.store.linked_worktree import find_linked, worktrees_of
    from bridge.store.real_path import real_path

    place = hook.store.place
    project = run.folder or str(place.project)
    cwd = hook.event.text("cwd") or str(place.project)
    tool_input = hook.event.table("tool_input")
    command = str(tool_input.get("command"))
    if has_cd_path() and is_searched(command):
        # The shell has it from the client, as we have, and goes where nobody can tell.
        tool_input = {**tool_input, "command": f"CDPATH=… {command}"}
    call = Call(
        hook.event.tool,
        tool_input,
        project,
        lambda path: real_path(os.path.join(cwd, path)),
    )
    if not run.folder:
        return call
    linked = find_linked(Path(project))
    others = worktrees_of(linked.main if linked else place.project)
    kept = [
        *map(os.path.realpath, (hook.settings.home, place.state)),
        *(other for other in others if not place.project.is_relative_to(other)),
    ]
    return replace(
        call,
        main=str(place.project),
        private=tuple(kept),
        below=_below,
        is_tree=linked is not None and linked.is_known,
        withheld=(*_rules_of_user(hook, "deny"), *_rules_of_user(hook, "ask")),
    )


def _below(folder: str) -> Iterator[str]:
    """All that lies below a folder, but for what git keeps there."""
    for parent, folders, files in os.walk(folder):
        yield from (os.path.join(parent, name) for name in (*folders, *files))
        folders[:] = [name for name in folders if name != ".git"]


def _user_asks(hook: HookContext, call: Call) -> bool:
    """Whether the user's settings ask about a call, or about a part of a command.

    Such a rule is about the words of a command, however they are written.
    """
    from dataclasses import replace

    from bridge.policy.looking import parts_of
    from bridge.policy.permission_rules import open_commands
    from bridge.policy.permissions import is_granted

    rules = _rules_of_user(hook, "ask")
    parts = parts_of(call.command)[::2] if call.command else []
    inputs = [call.tool_input, *({"command": part} for part in parts)]
    if any(
        is_granted(rules, replace(call, tool_input=each, main=None, anywhere=True))
        for each in inputs
    ):
        return True
    asked = open_commands(rules)
    if not asked or not call.command:
        return False
    from bridge.policy.started_programs import read

    reading = read(call.command)
    return reading.runs(asked) is not False


def _rules_of_user(
    hook: HookContext, behavior: Literal["allow", "ask", "deny"]
) -> list[str]:
    from bridge.host.user_rules import rules_of

    return rules_of(hook.settings, hook.store.place, behavior)


def _not_granted(run: AgentRun, call: Call) -> str:
    from bridge.policy.permissions import why_not_granted
    from bridge.policy.shell_signs import shell_sign

    tool = call.tool or "this tool"
    close = why_not_granted(run.allow, call)
    if close is None and (sign := shell_sign(call.after_cd().command or "")):
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


def tool_failed(hook: HookContext) -> output.HookOutput:
    """PostToolUseFailure: only what starts an agent, or asks one again, concerns us."""
    if hook.event.is_agent_call:
        from bridge.host.unseen_ends import agent_call_failed

        return agent_call_failed(hook)
    if hook.event.tool == MESSAGE:
        from bridge.host.messages import message_failed

        return message_failed(hook)
    return output.SILENT


HANDLERS = {
    "PreToolUse": pre_tool_use,
    "PostToolUseFailure": tool_failed,
    "PermissionRequest": permission_request,
}
