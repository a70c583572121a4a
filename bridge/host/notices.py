"""UserPromptSubmit: real prompts, and the client's own notices that arrive the same way.

A notice that an agent of ours has ended is the last chance to see its end. Where the host
does not need the answer the notice is swallowed: that costs no model request, and nothing
of the answer enters the host's context.

Source: measured on Claude Code 2.1.330.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.host import runs
from bridge.host.capture import ending_line, fail, take_words
from bridge.host.launch import described_ids
from bridge.host.reaction import SILENT, Reaction, swallow
from bridge.protocol.ids import RequestId

if TYPE_CHECKING:
    from bridge.host.runs import AgentRun
    from bridge.host.scene import Scene

_TASK = "<task-notification>"
_MESSAGE = re.compile(r"<agent-message\s+from=[\"']?([A-Za-z0-9_-]{1,128})")
_STOPPED = re.compile(
    r"(?:Background agent|\d+ background agents) .*stopped by the user", re.S
)
_FIELD = "<{0}>(.*?)</{0}>"


@dataclass(frozen=True, slots=True)
class Notice:
    """A client's notice about a subagent."""

    agent_id: str
    tool_use_id: str = ""
    status: str = ""
    result: str | None = None


def parse_notice(prompt: str) -> Notice | None:
    """Read a notice about an agent; None for a wake or for what a person typed."""
    text = prompt.lstrip()
    message = _MESSAGE.match(text)
    if message:
        return Notice(agent_id=message[1], status="message")
    if not text.startswith(_TASK):
        return None
    agent_id = _field(text, "task-id")
    if not agent_id:
        return None
    return Notice(
        agent_id=agent_id,
        tool_use_id=_field(text, "tool-use-id") or "",
        status=_field(text, "status") or "",
        result=_field(text, "result"),
    )


def is_notice(prompt: str) -> bool:
    """Whether the client, not a person, wrote this."""
    return prompt.lstrip().startswith((_TASK, "<agent-message", "[SYSTEM NOTIFICATION"))


def _field(text: str, name: str) -> str | None:
    found = re.search(_FIELD.format(name), text, re.S)
    return found[1].strip() if found else None


def take_notice(scene: Scene, notice: Notice) -> Reaction | None:
    """Handle a notice about an agent of ours; None when it is about another's."""
    run = runs.find_agent(scene.store, notice.agent_id)
    if run is None and notice.tool_use_id:
        run = runs.find_call(scene.store, notice.tool_use_id)
    if run is None or run.nested:
        return None
    if notice.status != "message":
        _settle(scene, run, notice)
    runs.drop(scene.store, run)
    if run.answer_to_host or scene.session.one_shot:
        return SILENT
    return swallow(_line(scene, run.request_id))


def take_stop_by_user(scene: Scene, prompt: str) -> Reaction | None:
    """A person stopped agents: the client tells by their descriptions which."""
    if not _STOPPED.match(prompt.lstrip()):
        return None
    ids = set(described_ids(prompt))
    lines = []
    for run in runs.all_runs(scene.store):
        if run.request_id in ids and not run.nested:
            fail(scene, run, "agent_stopped", detail="by the user", source="user")
            runs.drop(scene.store, run)
            lines.append(_line(scene, run.request_id))
    return swallow("; ".join(lines)) if lines else None


def _line(scene: Scene, request_id: str) -> str:
    found = scene.store.find(RequestId(request_id))
    return ending_line(found.response) if found and found.response else ""


def _settle(scene: Scene, run: AgentRun, notice: Notice) -> None:
    """The agent is over: whatever the notice tells is the last word."""
    if run.state == "ended":
        return
    if notice.status == "completed":
        take_words(
            scene,
            run,
            notice.result or "",
            source="task-notification",
            may_correct=False,
        )
    elif notice.status == "killed":
        fail(scene, run, "agent_stopped", source="task-notification")
    else:
        detail = notice.result or notice.status
        fail(
            scene, run, "agent_error", detail=detail[:1000], source="task-notification"
        )
