"""What each event does: the table, and the handlers that belong to no other room."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.errors import StateUnavailable
from bridge.host import (
    interim,
    limits,
    lost_agents,
    registration,
    runs,
    unseen_ends,
)
from bridge.host.after_answer import ring_until_heard, settle
from bridge.host.ask_rules import ask_rules
from bridge.host.capture import before_handback, subagent_stop
from bridge.host.launch import before_agent
from bridge.host.notices import (
    is_notice,
    parse_notice,
    take_notice,
    take_stop_by_user,
)
from bridge.host.offer_text import INTRODUCTION
from bridge.host.offers import MAX_STOP_OFFERS, agents_run, offer
from bridge.host.output import (
    MAX_CONTEXT,
    SILENT,
    Reaction,
    context,
    grant_permission,
    one_line,
    refuse_permission,
    specific,
    wake,
)
from bridge.host.sweep_and_wake import sweep
from bridge.protocol.contract import again
from bridge.protocol.ids import RequestId
from bridge.store import sessions, wakeups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.host.context import Scene
    from bridge.store.subagent_runs import AgentRun

# What plan mode leaves to an agent: a grant is no answer to what the user chose.
READ_ONLY = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead"})
READ_ONLY |= {"WebFetch", "WebSearch"}


# Of why a call is not granted: it quotes what a model wrote.
MAX_REASON = 400


def session_start(scene: Scene) -> Reaction:
    """Introduce ourselves and hang the bell; the same for every source.

    Nothing else before the answer: without it the session has no watch.
    """
    if scene.event.agent_id:
        return _compacted(scene)
    bell = wakeups.prepare(scene.store, scene.session.host)
    said = specific("SessionStart", additionalContext=INTRODUCTION, watchPaths=[bell])
    return said.then(lambda: settle(scene))


def cwd_changed(scene: Scene) -> Reaction:
    """The client watches from now on what is named here, and nothing else of ours.

    Seen only where hooks/moved cannot tell by itself.
    """
    bell = wakeups.prepare(scene.store, scene.session.host)
    with suppress(StateUnavailable):
        sessions.note_watch(scene.store, scene.session)
    said = specific("CwdChanged", watchPaths=[bell])
    return said.then(lambda: ring_until_heard(scene))


def _compacted(scene: Scene) -> Reaction:
    """The conversation of a subagent was compacted: ours hears the form again."""
    run = runs.find_run(scene.store, scene.event)
    found = scene.store.find(RequestId(run.request_id)) if run else None
    if run is None or run.nested or found is None or found.request is None:
        return SILENT
    if found.response is not None:
        return SILENT
    return context("SessionStart", again(found.request.answer_schema, MAX_CONTEXT))


def file_changed(scene: Scene) -> Reaction:
    """The bell rang. Silence it first: a ring after this look is a new one."""
    if not wakeups.clear(scene.store, scene.session.host) or scene.session.one_shot:
        # In one-shot mode what this hook says reaches nobody: an offer would be lost.
        return SILENT
    try:
        sessions.note_watch(scene.store, scene.session)
        sweep(scene.store, lease_s=scene.settings.lease_s)
        made = offer(scene)
    except StateUnavailable:
        # Whoever rang has gone; the next second is as good as this one.
        wakeups.wake(scene.store, [scene.session])
        raise
    return wake(made) if made else SILENT


def post_tool_use(scene: Scene) -> Reaction:
    """After a tool call of the main thread: offer what waits."""
    if scene.event.agent_id:
        return SILENT
    made = offer(scene)
    return context("PostToolUse", made) if made else SILENT


def user_prompt(scene: Scene) -> Reaction:
    """A prompt: a notice about our agent is taken, anything else may carry an offer."""
    prompt = scene.event.text("prompt")
    notice = parse_notice(prompt)
    if notice is not None:
        taken = take_notice(scene, notice)
        if taken is not None:
            return taken
    stopped = take_stop_by_user(scene, prompt)
    if stopped is not None:
        return stopped
    if not is_notice(prompt):
        sessions.note_stop_offers(scene.store, scene.session, 0)
    sweep(scene.store, lease_s=scene.settings.lease_s)
    made = offer(scene)
    return context("UserPromptSubmit", made) if made else SILENT


def stop(scene: Scene) -> Reaction:
    """The turn ends: settle what ended unseen, then offer, within our own limit."""
    unseen_ends.reconcile(scene)
    sweep(scene.store, lease_s=scene.settings.lease_s)
    if agents_run(scene) or scene.session.stop_offers >= MAX_STOP_OFFERS:
        return SILENT
    made = offer(scene, repeat_at_once=True)
    if made is None:
        return SILENT
    # The offer counts already: it is said, whatever becomes of this.
    with suppress(StateUnavailable):
        count = scene.session.stop_offers + 1
        sessions.note_stop_offers(scene.store, scene.session, count)
    return context("Stop", made)


def subagent_tool(scene: Scene) -> Reaction:
    """A tool call in our subagent that the gate did not simply let through."""
    event = scene.event
    run = runs.find_run(scene.store, event)
    if run is None:
        return SILENT
    if event.tool == "SubagentHandback":
        return before_handback(scene)
    if event.tool in ("Agent", "Task"):
        return SILENT
    unseen_ends.note_bound(scene, run)
    refused = limits.refuse(scene, run)
    if refused is not None:
        return refused
    if event.tool == "SendMessage":
        interim.note_message(scene, run)
    from bridge.host.gate import before_tool

    agents = f"{scene.store.place.state}/agents/"
    told = run.model_dump(mode="json", by_alias=True)
    before_tool(agents, event.raw, told, run.agent_id, event.tool)
    return SILENT


def permission_request(scene: Scene) -> Reaction:
    """No dialog from our agents: whatever the user is typing could answer it."""
    run = runs.find_run(scene.store, scene.event)
    if run is None:
        return lost_agents.refuse(scene)
    tool = scene.event.tool or "this tool"
    if scene.event.text("permission_mode") == "plan" and tool not in READ_ONLY:
        return refuse_permission(
            f"hostbridge: the session is in plan mode, where {tool} is granted to "
            "nobody. Work without it, or answer that you are blocked and by what."
        )
    if run.allow and _is_granted(scene, run.allow):
        asked = ask_rules(scene.settings.claude_dir, scene.store.place.project)
        if not _is_granted(scene, asked):
            return grant_permission()
        return refuse_permission(
            f"hostbridge: the user's settings ask about this use of {tool}, and nobody "
            "is there to be asked. Work without it, or answer that you are blocked."
        )
    why = _why_not_granted(scene, run)
    return refuse_permission(
        f"hostbridge: {tool} is not granted to this agent{why and f': {why}'}. Nobody "
        "is there to ask. Work without it, or answer that you are blocked and by what."
    )


def _is_granted(scene: Scene, rules: Iterable[str]) -> bool:
    """Whether one of these rules covers this very call."""
    from bridge.policy.permissions import is_granted

    return is_granted(
        rules, scene.event.tool, scene.event.table("tool_input"), **_place_of(scene)
    )


def _why_not_granted(scene: Scene, run: AgentRun) -> str:
    """What is wrong with a call that a rule comes near to; empty for any other."""
    from bridge.policy.permissions import why_not_granted

    event = scene.event
    told = event.table("tool_input")
    why = why_not_granted(run.allow, event.tool, told, **_place_of(scene))
    return one_line(why, MAX_REASON) if why else ""


def _place_of(scene: Scene) -> dict[str, Any]:
    """Where a call is made: the project, and what a path means there."""
    project = str(scene.store.place.project)
    cwd = scene.event.text("cwd") or project
    return {
        "project": project,
        "resolve": lambda path: os.path.realpath(os.path.join(cwd, path)),
    }


def session_end(scene: Scene) -> Reaction:
    """The session is over, unless another follows: its process and agents live on."""
    if scene.event.text("reason") not in ("clear", "resume"):
        unseen_ends.release_all(scene)
        registration.forget(scene.store, scene.session)
    return SILENT


def agent_stopped(scene: Scene) -> Reaction:
    """SubagentStop: the words of our agents count, as far as their record is there."""
    if runs.find_run(scene.store, scene.event) is None:
        return lost_agents.refuse(scene)
    return subagent_stop(scene)


def pre_tool_use(scene: Scene) -> Reaction:
    """Two hooks share this event: one for Agent calls, one for calls in subagents."""
    if scene.event.agent_id and runs.find_run(scene.store, scene.event) is None:
        refused = lost_agents.refuse(scene)
        if refused != SILENT:
            return refused
    if scene.event.tool in ("Agent", "Task"):
        return before_agent(scene)
    return subagent_tool(scene) if scene.event.agent_id else SILENT


def post_agent(scene: Scene) -> Reaction:
    """PostToolUse: of an Agent call, or of any other."""
    if scene.event.tool in ("Agent", "Task"):
        return unseen_ends.after_agent(scene)
    return post_tool_use(scene)


def tool_failed(scene: Scene) -> Reaction:
    """PostToolUseFailure: only Agent calls concern us."""
    if scene.event.tool in ("Agent", "Task"):
        return unseen_ends.agent_call_failed(scene)
    return SILENT


HANDLERS: dict[str, Callable[[Scene], Reaction]] = {
    "SessionStart": session_start,
    "SessionEnd": session_end,
    "CwdChanged": cwd_changed,
    "FileChanged": file_changed,
    "UserPromptSubmit": user_prompt,
    "Stop": stop,
    "StopFailure": unseen_ends.stop_failure,
    "PreToolUse": pre_tool_use,
    "PostToolUse": post_agent,
    "PostToolUseFailure": tool_failed,
    "PermissionRequest": permission_request,
    "SubagentStop": agent_stopped,
}
