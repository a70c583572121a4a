"""Agents of ours whose record is gone or unreadable: they may do nothing more.

The state was removed, a file was cut, or the agent was continued after its end. The
client's own notes show that they are ours (`gate.is_ours`); what they may do, how much
time they have left and what they must answer is lost. Their permission dialog would
take the user's next key for a yes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.errors import StateUnavailable
from bridge.host import runs
from bridge.host.call_notes import name_of
from bridge.host.gate import is_ours
from bridge.host.offers import look_soon
from bridge.host.output import SILENT, HookOutput, deny, refuse_permission
from bridge.host.request_tokens import described_ids
from bridge.protocol.failure_codes import explain
from bridge.protocol.ids import RequestId, is_id
from bridge.protocol.response import failed
from bridge.store import subagent_runs

if TYPE_CHECKING:
    from bridge.host.context import HookContext

_WHY = (
    "hostbridge has no record of this agent's request any more, so nothing is granted "
    "to it; stop working."
)
_LOST = "what was written down about its agent is lost or damaged"


def refuse(hook: HookContext) -> HookOutput:
    """Answer for an agent without a known run; silent if it is not ours."""
    event = hook.event
    agent_id = event.agent_id
    if not is_id(agent_id) or not is_ours(hook.agents_folder, event.raw, agent_id):
        return SILENT
    with suppress(StateUnavailable):
        _fail(hook)
    if event.name == "PermissionRequest":
        # Its record, whatever it holds, makes the gate check its next calls.
        return refuse_permission(_WHY)
    with suppress(StateUnavailable):
        subagent_runs.forget_agent(hook.store, agent_id)
    return deny(_WHY, stop=True) if event.name == "PreToolUse" else SILENT


def _fail(hook: HookContext) -> None:
    """Fail the request, if it can still be identified."""
    meta = runs.client_notes(hook.event, hook.event.agent_id)
    for request_id in described_ids(f"{meta.get('description')}"):
        found = hook.store.find(RequestId(request_id))
        if found is None or found.request is None or found.response is not None:
            continue
        claim = found.request.claim
        if claim is None or claim.host != hook.session.host:
            continue
        if claim.tool_use_id == name_of(meta.get("toolUseId")):
            message = explain("agent_error", _LOST)
            response = failed(
                found.request, "agent_error", message, now_ms=hook.now_ms()
            )
            hook.store.publish(response, source=hook.event.name)
            look_soon(hook)
