"""Requests may wait: the session was woken, or its main thread has called a tool."""

from bridge.errors import StateUnavailable
from bridge.host.budget_news import with_news
from bridge.host.context import HookContext
from bridge.host.offers import offer
from bridge.policy.tool_classes import MESSAGE, QUESTION
from bridge.protocol.hook_output import SILENT, HookOutput, wake, with_context
from bridge.store import sessions, wakeups
from bridge.store.host_process import is_stopped
from bridge.store.tool_calls import untold
from bridge.store.wakeups import sweep


def file_changed(hook: HookContext) -> HookOutput:
    """A wake-up came. Remove its file first, so that a later one is a new signal.

    A stopped client would keep what it is offered, and may lose the wake-up. It reports
    the file once it goes on.
    """
    if is_stopped(hook.session.host.pid):
        return SILENT
    if not wakeups.clear(hook.store, hook.session.host) or hook.session.one_shot:
        # In one-shot mode nobody reads this hook's output: an offer would be lost.
        return SILENT
    try:
        sessions.note_watch(hook.store, hook.session)
        if hook.settings.wake == "watch":
            wakeups.set_ring(hook.store, hook.session.host, may_ring=False)
        _hear_finished(hook)
        sweep(hook.store)
        made = offer(hook)
        told = _late(hook)
    except StateUnavailable:
        # The caller does not wait for this; the next second is as good.
        wakeups.wake(hook.store, [hook.session])
        raise
    said = "\n\n".join(filter(None, [made, told]))
    return wake(said) if said else SILENT


def _hear_finished(hook: HookContext) -> None:
    """Whatever its agents have said unheard: nobody else may look for long."""
    if hook.store.claimed():
        from bridge.host.missed_ends import hear_finished

        hear_finished(hook)


def _late(hook: HookContext) -> str:
    """Answers of agents that processes of their own run, if this session awaits any."""
    if not untold(hook.store, hook.session.session_id):
        return ""
    from bridge.bound.headless import late_answers

    return late_answers(hook.store, hook.session.session_id)


def post_tool_use(hook: HookContext) -> HookOutput:
    """After a tool call of the main thread, but an Agent call: offer what waits."""
    if hook.event.is_agent_call:
        from bridge.host.unseen_ends import after_agent

        return with_news(hook, after_agent(hook))
    if hook.event.agent_id:
        return SILENT
    output = SILENT
    if hook.event.tool == MESSAGE:
        from bridge.host.messages import after_message

        output = after_message(hook)
    if hook.event.tool == QUESTION:
        from bridge.host.checkpoints import after_question

        output = after_question(hook)
    if made := offer(hook):
        output = with_context(output, "PostToolUse", made)
    return with_news(hook, output)


HANDLERS = {"FileChanged": file_changed, "PostToolUse": post_tool_use}
