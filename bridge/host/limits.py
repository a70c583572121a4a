"""Limits that end an agent of ours early: checked before each tool call.

Its request may have ended (answered, cancelled, overdue), the bridge may be switched
off, its time or its turns may be up, or its definition keeps the tool from it. The same
holds for agents that ours has started.

The decision is printed even if it cannot be recorded (a full disk, a busy lock):
otherwise the agent would go on.
"""

from contextlib import suppress

from bridge.bound.call_notes import before_tool, forget_call, has_turns, note_denied
from bridge.errors import StateUnavailable
from bridge.host.context import HookContext
from bridge.policy.tool_lists import permits
from bridge.protocol.failure_codes import FailureCode
from bridge.protocol.hook_output import HookOutput, deny
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.wording import MAX_NOTE, one_line
from bridge.store import subagent_runs, switch
from bridge.store.clock import uptime
from bridge.store.subagent_runs import AgentRun

MAX_WARNINGS = 2
_MAX_CALL = 80
# How long before its deadline an agent is told to answer, at most.
LAST_MS = 60_000


def note_bound(
    hook: HookContext, run: AgentRun, *, background: bool | None = None
) -> None:
    """Write the subagent's id into the claim, for people and for Stop."""
    if run.nested:
        return
    update: dict[str, object] = {"agent_id": run.agent_id or None}
    if background is not None:
        update["background"] = background
    with suppress(StateUnavailable):
        hook.store.change_claim(
            RequestId(run.request_id), run.host, lambda claim: claim.with_(**update)
        )


def refuse(hook: HookContext, run: AgentRun) -> HookOutput | None:
    """Why an agent may not make this tool call; None if it may: then it is noted."""
    if run.depth > hook.settings.max_depth:
        # A skill that runs as an agent starts one without an Agent call.
        return _too_deep(hook, run.depth, stop=True)
    request_id = RequestId(run.request_id)
    request = hook.store.find_unfinished(request_id)
    left_ms = request.deadline_ms - hook.now_ms() if request else 0
    if request is not None and left_ms <= 0:
        # A tool ran on past the deadline, and nobody has ended the request since.
        with suppress(StateUnavailable):
            hook.store.sweep()
    if request is None or left_ms <= 0:
        with suppress(StateUnavailable):
            subagent_runs.end(hook.store, run)
        return deny("hostbridge: this request has ended; stop working.", stop=True)
    if is_off(hook):
        with suppress(StateUnavailable):
            hook.store.give_back(request_id, run.host)
            subagent_runs.end(hook.store, run)
        return deny("hostbridge was switched off; stop working.", stop=True)
    if _is_of_earlier_try(run, request):
        with suppress(StateUnavailable):
            subagent_runs.end(hook.store, run)
        return deny("hostbridge: this try has failed; stop working.", stop=True)
    # The second for a run that was written down without the first.
    is_late = hook.store.clock.monotonic_s() * 1000 >= run.answer_at
    if is_late and left_ms <= LAST_MS:
        return _hurry(hook, run, "the time for this request is", "timeout")
    folder, known, tool = hook.agents_folder, run.to_data(), hook.event.tool
    if has_turns(folder, known, run.agent_id):
        if not permits(run.tools, run.blocked_tools, tool):
            return _keep_from(hook, run, tool)
        if before_tool(folder, hook.event.raw, known, run.agent_id, tool):
            return None
    limit = f"the {run.max_turns} tool calls of this request are"
    return _hurry(hook, run, limit, "turn_limit")


def _is_of_earlier_try(run: AgentRun, request: Request) -> bool:
    """Whether an agent works for a try that has failed.

    Not where its process was taken for dead: its answer may still be the first.
    """
    claim, failures = request.claim, request.failures
    if not failures or failures[-1].code == "host_gone":
        return False
    if claim is None:
        return True
    if run.nested:
        return run.launched_at < claim.at
    return claim.tool_use_id != run.tool_use_id


def note_refusal(hook: HookContext, run: AgentRun, why: str, *, is_turn: bool) -> None:
    """Write down why a call was refused, for `hostbridge show`: agents say little.

    A refused call is a turn of the agent, too, where nothing else counts it.
    """
    command = hook.event.command or hook.event.tool
    call = one_line(command, _MAX_CALL)
    if is_turn:
        note_denied(hook.agents_folder, run.agent_id, hook.event.tool_use_id)
    with suppress(StateUnavailable):
        if is_turn:
            subagent_runs.change(
                hook.store, run, lambda r: r.with_(refused=r.refused + 1)
            )
        with hook.store.state() as state:
            said = one_line(why.removeprefix("hostbridge: "), MAX_NOTE)
            state.note("refused", run.request_id, call=call, why=said)


def take_back(hook: HookContext, run: AgentRun, why: str) -> None:
    """Refuse a call that `refuse` has let through and noted: that was its turn."""
    call = hook.event.tool_use_id
    note_refusal(hook, run, why, is_turn=not call)
    if call:
        forget_call(hook.agents_folder, run.agent_id, call)


def is_off(hook: HookContext) -> bool:
    """Whether the user switched the bridge off, in whatever way."""
    return hook.settings.off or switch.is_off(hook.store, hook.session.session_id)


def _keep_from(hook: HookContext, run: AgentRun, tool: str) -> HookOutput:
    """Say that the definition denies this tool to the agent."""
    from bridge.bound.forks import OF_THE_MAIN_THREAD

    why = f"the definition of this agent keeps {tool} from it"
    if run.is_fork and tool in OF_THE_MAIN_THREAD:
        why = f"a fork of the session has no {tool}"
    if run.tools is None and permits((tool,), run.blocked_tools, tool):
        why = f"this agent ends with its request, which keeps {tool} from it"
    note_refusal(hook, run, why, is_turn=True)
    has = "no tools" if run.tools == () else ", ".join(run.tools or ())
    others = f" It has: {has}." if run.tools is not None else ""
    return deny(
        f"hostbridge: {why}.{others} Work without it, or answer that you are blocked "
        "and by what."
    )


def _hurry(
    hook: HookContext, run: AgentRun, what: str, code: FailureCode
) -> HookOutput:
    """A limit is nearly reached: twice a warning, then the end.

    All calls of one message get the same warning: until they are over, the agent has
    not heard of it.
    """
    from bridge.host import transcript

    call_id = hook.event.text("tool_use_id")
    message = transcript.message_of(hook.event, run.agent_id, call_id) or call_id
    note_denied(hook.agents_folder, run.agent_id, call_id)
    if message in run.warned_in or len(run.warned_in) < MAX_WARNINGS:
        with suppress(StateUnavailable):
            subagent_runs.change(hook.store, run, lambda r: _warned(r, message))
        return deny(
            f"hostbridge: {what} nearly up. Call no more tools; answer now, in the "
            "form your instructions ask for, with what you have."
        )
    with suppress(StateUnavailable):
        if run.nested:
            # Its words are not the answer: its caller still has time to speak.
            subagent_runs.end(hook.store, run)
        else:
            from bridge.host.run_ends import fail

            fail(hook, run, code, detail="the agent went on working", source="limit")
    return deny(f"hostbridge: {what} up.", stop=True)


def _warned(run: AgentRun, message: str) -> AgentRun:
    return run.with_(warned_in=tuple(dict.fromkeys((*run.warned_in, message))))


def refuse_nested(hook: HookContext, run: AgentRun) -> HookOutput | None:
    """Why an agent of ours may start no agent of its own; None when it may."""
    if run.depth + 1 > hook.settings.max_depth:
        return _too_deep(hook, run.depth + 1)
    from bridge.bound.budgets import find_spent
    from bridge.host.budget_news import session_now

    if spent := find_spent(session_now(hook), uptime(hook.store.clock)):
        return deny(f"hostbridge: {spent.why}. Do the work yourself.")
    if wide := _too_wide(hook, run):
        return deny(wide)
    return refuse(hook, run)


def _too_wide(hook: HookContext, run: AgentRun) -> str:
    """Why the agents of one request are enough; empty if it may have one more."""
    at_work = sum(
        each.nested and each.request_id == run.request_id and each.state != "ended"
        for each in subagent_runs.all_runs(hook.store)
    )
    most = hook.settings.fan_out
    request = hook.store.find_unfinished(RequestId(run.request_id))
    if at_work < most or (request is not None and request.approved):
        return ""
    return (
        f"hostbridge: {at_work} agents work below this one, and {most} is the limit "
        "(fan_out). Go on when one of them has ended, or do the work yourself. More "
        f"at once need a yes of the user: hostbridge reply {run.request_id} yes"
    )


def _too_deep(hook: HookContext, depth: int, *, stop: bool = False) -> HookOutput:
    return deny(
        f"hostbridge: {depth} agents stand above this call; "
        f"{hook.settings.max_depth} is the limit. "
        f"{'Stop working' if stop else 'Do the work yourself'}.",
        stop=stop,
    )
