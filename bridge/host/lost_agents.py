"""Agents of ours whose record is gone or unreadable: they may do nothing more.

The state was removed, a file was cut, or the agent was continued after its end. The
client's own notes show that they are ours (`gate.is_ours`); what they may do, how much
time they have left and what they must answer is lost. Their permission dialog would
take the user's next key for a yes.
"""

from contextlib import suppress

from bridge.bound.call_notes import name_of
from bridge.bound.gate import is_ours
from bridge.errors import StateUnavailable
from bridge.host import runs
from bridge.host.context import HookContext
from bridge.host.request_tokens import described_ids
from bridge.host.run_ends import fail
from bridge.protocol.hook_output import SILENT, HookOutput, deny, refuse_permission
from bridge.protocol.ids import is_id
from bridge.store import subagent_runs
from bridge.store.subagent_runs import AgentRun

_WHY = (
    "hostbridge has no record of this agent's request any more, so nothing is granted "
    "to it; stop working."
)
_UNKNOWN = (
    "hostbridge cannot tell yet which agent this is; it may be one of its own. Make "
    "the same call again."
)
_LOST = "what was written down about its agent is lost or damaged"


def refuse(hook: HookContext) -> HookOutput:
    """Answer for an agent without a known run; silent if it is not ours."""
    event = hook.event
    agent_id = event.agent_id
    if not is_id(agent_id) or not is_ours(hook.agents_folder, event.raw, agent_id):
        return SILENT
    if not runs.client_notes(event, agent_id) and event.name == "PreToolUse":
        return deny(_UNKNOWN)
    with suppress(StateUnavailable):
        _fail(hook)
    if event.name == "PermissionRequest":
        # Its record, whatever it holds, makes the gate check its next calls.
        return refuse_permission(_WHY)
    with suppress(StateUnavailable):
        subagent_runs.forget_agent(hook.store, agent_id)
    return deny(_WHY, stop=True) if event.name == "PreToolUse" else SILENT


def _fail(hook: HookContext) -> None:
    """Fail the request, if it can still be identified and is still the agent's."""
    meta = runs.client_notes(hook.event, hook.event.agent_id)
    call = name_of(meta.get("toolUseId"))
    calls = dict.fromkeys(described_ids(f"{meta.get('description')}"), call)
    for request_id, call in (calls | _asked_again(hook)).items():
        run = AgentRun(
            request_id=request_id,
            tool_use_id=call,
            session=hook.session.session_id,
            host=hook.session.host,
            launched_at=hook.now_ms(),
            answer_by=hook.now_ms(),
        )
        fail(hook, run, "agent_error", detail=_LOST, source=hook.event.name)


def _asked_again(hook: HookContext) -> dict[str, str]:
    """By request, the call by which this agent was asked again.

    The client has written down only how it was called first.
    """
    return {
        request.request_id: claim.tool_use_id
        for request in hook.store.claimed()
        if (claim := request.claim) is not None
        and claim.tool_use_id is not None
        and claim.continued is not None
        and claim.continued.agent_id == hook.event.agent_id
    }
