"""What each event does: the table, and the handlers that belong to no other room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.host import bells, endings, runs, sessions
from bridge.host.capture import before_handback, fail, subagent_stop
from bridge.host.instruct import INTRODUCTION
from bridge.host.launch import before_agent
from bridge.host.notices import (
    is_notice,
    parse_notice,
    take_notice,
    take_stop_by_user,
)
from bridge.host.offers import MAX_STOP_OFFERS, agents_run, offer
from bridge.host.reaction import (
    SILENT,
    Reaction,
    context,
    deny,
    refuse_permission,
    specific,
    wake,
)
from bridge.protocol.ids import RequestId

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.host.runs import AgentRun
    from bridge.host.scene import Scene

MAX_WARNINGS = 2


def session_start(scene: Scene) -> Reaction:
    """Introduce ourselves and hang the bell; the same for every source."""
    bell = bells.hang(scene.store, scene.session.host)
    scene.store.sweep(everything=True)
    return specific("SessionStart", additionalContext=INTRODUCTION, watchPaths=[bell])


def file_changed(scene: Scene) -> Reaction:
    """The bell rang. Silence it first: a ring after this look is a new one."""
    if not bells.silence(scene.store, scene.session.host) or scene.session.one_shot:
        # In one-shot mode what this hook says reaches nobody: an offer would be lost.
        return SILENT
    scene.store.sweep()
    made = offer(scene)
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
    made = offer(scene)
    return context("UserPromptSubmit", made) if made else SILENT


def stop(scene: Scene) -> Reaction:
    """The turn ends: settle what ended unseen, then offer, within our own limit."""
    endings.reconcile(scene)
    if agents_run(scene) or scene.session.stop_offers >= MAX_STOP_OFFERS:
        return SILENT
    made = offer(scene, repeat_at_once=True)
    if made is None:
        return SILENT
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
    if run.nested or event.tool in ("Agent", "Task"):
        return SILENT
    endings.note_bound(scene, run)
    found = scene.store.find(RequestId(run.request_id))
    if found is None or found.response is not None:
        runs.end(scene.store, run)
        return deny("hostbridge: this request has ended; stop working.", stop=True)
    if sessions.is_off(scene.store, scene.session.session_id):
        scene.store.give_back(RequestId(run.request_id), run.host, lambda r: r)
        runs.end(scene.store, run)
        return deny("hostbridge was switched off; stop working.", stop=True)
    if scene.now_ms() >= run.answer_by:
        return _hurry(scene, run)
    from bridge.host.gate import before_tool

    agents = f"{scene.store.place.state}/agents/"
    told = run.model_dump(mode="json", by_alias=True)
    before_tool(agents, event.raw, told, run.agent_id, event.tool)
    return SILENT


def _hurry(scene: Scene, run: AgentRun) -> Reaction:
    """Time is nearly up: twice a warning, then the end."""
    if run.warnings < MAX_WARNINGS:
        runs.save(scene.store, run.with_(warnings=run.warnings + 1))
        return deny(
            "hostbridge: the time for this request is nearly up. Call no more tools; "
            "answer now, in the form your instructions ask for, with what you have."
        )
    fail(scene, run, "timeout", detail="the agent went on working", source="limit")
    return deny("hostbridge: the time for this request is up.", stop=True)


def permission_request(scene: Scene) -> Reaction:
    """No dialog from our agents: whatever the user is typing could answer it."""
    run = runs.find_run(scene.store, scene.event)
    if run is None:
        return SILENT
    tool = scene.event.tool or "this tool"
    return refuse_permission(
        f"hostbridge: {tool} is not granted to this agent, and nobody is there to ask. "
        "Work without it, or answer that you are blocked and by what."
    )


def session_end(scene: Scene) -> Reaction:
    """The session is over; not on clear: the process and its agents live on."""
    if scene.event.text("reason") != "clear":
        endings.release_all(scene)
        sessions.forget(scene.store, scene.session.session_id)
    return SILENT


def pre_tool_use(scene: Scene) -> Reaction:
    """Two hooks share this event: one for Agent calls, one for calls in subagents."""
    if scene.event.tool in ("Agent", "Task"):
        return before_agent(scene)
    return subagent_tool(scene) if scene.event.agent_id else SILENT


def post_agent(scene: Scene) -> Reaction:
    """PostToolUse: of an Agent call, or of any other."""
    if scene.event.tool in ("Agent", "Task"):
        return endings.after_agent(scene)
    return post_tool_use(scene)


def tool_failed(scene: Scene) -> Reaction:
    """PostToolUseFailure: only Agent calls concern us."""
    if scene.event.tool in ("Agent", "Task"):
        return endings.agent_call_failed(scene)
    return SILENT


HANDLERS: dict[str, Callable[[Scene], Reaction]] = {
    "SessionStart": session_start,
    "SessionEnd": session_end,
    "FileChanged": file_changed,
    "UserPromptSubmit": user_prompt,
    "Stop": stop,
    "StopFailure": endings.stop_failure,
    "PreToolUse": pre_tool_use,
    "PostToolUse": post_agent,
    "PostToolUseFailure": tool_failed,
    "PermissionRequest": permission_request,
    "SubagentStop": subagent_stop,
}
