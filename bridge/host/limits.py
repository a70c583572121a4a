"""What ends an agent of ours before it ends by itself: looked at before each tool call.

Its request may have ended (answered, cancelled, overdue), the bridge may be switched
off, its time may be nearly up. The same holds for agents that ours has started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.host import runs, sessions
from bridge.host.capture import fail
from bridge.host.reaction import Reaction, deny
from bridge.protocol.ids import RequestId

if TYPE_CHECKING:
    from bridge.host.runs import AgentRun
    from bridge.host.scene import Scene

MAX_WARNINGS = 2


def refuse(scene: Scene, run: AgentRun) -> Reaction | None:
    """Why an agent may make no (more) tool calls; None when it may."""
    found = scene.store.find(RequestId(run.request_id))
    if found is None or found.response is not None:
        runs.end(scene.store, run)
        return deny("hostbridge: this request has ended; stop working.", stop=True)
    if sessions.is_off(scene.store, scene.session.session_id):
        scene.store.give_back(RequestId(run.request_id), run.host, lambda held: held)
        runs.end(scene.store, run)
        return deny("hostbridge was switched off; stop working.", stop=True)
    if scene.now_ms() >= run.answer_by:
        return _hurry(scene, run)
    return None


def _hurry(scene: Scene, run: AgentRun) -> Reaction:
    """Time is nearly up: twice a warning, then the end."""
    if run.warnings < MAX_WARNINGS:
        runs.save(scene.store, run.with_(warnings=run.warnings + 1))
        return deny(
            "hostbridge: the time for this request is nearly up. Call no more tools; "
            "answer now, in the form your instructions ask for, with what you have."
        )
    if run.nested:
        # Its words are not the answer: whoever started it still has time to speak.
        runs.end(scene.store, run)
    else:
        fail(scene, run, "timeout", detail="the agent went on working", source="limit")
    return deny("hostbridge: the time for this request is up.", stop=True)


def refuse_nested(scene: Scene, run: AgentRun) -> Reaction | None:
    """Why an agent of ours may start no agent of its own; None when it may."""
    if run.depth + 1 > scene.settings.max_depth:
        return deny(
            f"hostbridge: {run.depth + 1} agents stand above this call; "
            f"{scene.settings.max_depth} is the limit. Do the work yourself."
        )
    return refuse(scene, run)
