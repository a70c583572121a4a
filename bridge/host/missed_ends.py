"""An agent has ended, and no hook has heard its last words: its transcript has them.

A hook may be missed: hostbridge was being installed at that moment, or the hook was
killed. What the agent said is judged as always; only it cannot be corrected any more.

The client writes `finished` into an agent's `meta.json` once the hooks of its end have
run, and takes it away when it goes on. One that will be woken, when a command or an
agent of its own ends, has it too.

Source: measured on Claude Code 2.1.330.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.host import asking, interim, runs
from bridge.host.capture import UNHEARD, let_wait, take_last_words
from bridge.host.client_errors import code_of_kind
from bridge.host.run_ends import fail
from bridge.host.transcript_end import NOTHING, Ending, ending_of
from bridge.protocol.contract import prompt_for
from bridge.protocol.ids import RequestId
from bridge.store import subagent_runs
from bridge.store.host_process import Liveness, liveness

if TYPE_CHECKING:
    from bridge.host.context import HookContext
    from bridge.protocol.failure_codes import FailureCode
    from bridge.store.subagent_runs import AgentRun

_MISSED = "the client no longer lists it among its running tasks, and it left no answer"
_STOPPED = "the client no longer lists it among its running tasks"


def end_missed(hook: HookContext, run: AgentRun, *, source: str) -> None:
    """End the request of an agent that is over, and nobody has told how."""
    if asking.waits_for_reply(hook, run.request_id):
        # The hook that held it was killed.
        let_wait(hook, run)
        return
    ending = _ending(hook, run)
    if _is_said(ending):
        _take(hook, run, ending, source)
    elif ending.is_interrupted or _notes(hook, run).get("stoppedByUser") is True:
        fail(hook, run, "agent_stopped", detail=_STOPPED, source=source)
    else:
        fail(hook, run, "agent_error", detail=_MISSED, source=source)


def end_without_words(
    hook: HookContext, run: AgentRun, code: FailureCode | None, detail: str, source: str
) -> None:
    """End the request of an agent whose end was told without what it said.

    It fails with the code, if it has said nothing that counts; without one, as if it
    had answered with no word.
    """
    ending = _ending(hook, run)
    if _is_said(ending):
        _take(hook, run, ending, source)
    elif code is None:
        take_last_words(hook, run, "", source=source)
    else:
        fail(hook, run, code, detail=detail, source=source)


def hear_finished(hook: HookContext) -> None:
    """Hear the agents that have finished, or whose client is gone, and were not heard.

    What has left no words is left for the event that tells of its end.
    """
    known = subagent_runs.all_runs(hook.store)
    for run in known:
        if (
            run.state == "running"
            and run.agent_id
            and not run.nested
            and _is_over(hook, run)
            and not interim.may_be_woken(hook, run, known)
            and _is_said(ending := _ending(hook, run))
            and not asking.waits_for_reply(hook, run.request_id)
        ):
            _take(hook, run, ending, hook.event.name)


def _is_over(hook: HookContext, run: AgentRun) -> bool:
    if run.host != hook.session.host:
        # Its session goes on with another process.
        is_same = run.session == hook.session.session_id
        return is_same and liveness(run.host) is Liveness.GONE
    return _notes(hook, run).get("finished") is True


def _notes(hook: HookContext, run: AgentRun) -> dict[str, object]:
    return runs.client_notes(hook.event, run.agent_id)


def _ending(hook: HookContext, run: AgentRun) -> Ending:
    request = hook.store.find_unfinished(RequestId(run.request_id))
    if request is None:
        return NOTHING
    return ending_of(hook.event, run, prompt_for(request))


def _is_said(ending: Ending) -> bool:
    return bool(ending.words) or ending.error is not None


def _take(hook: HookContext, run: AgentRun, ending: Ending, source: str) -> None:
    if ending.error is not None:
        kind, said = ending.error
        error = f"{kind} {said}"[:1000]
        code = code_of_kind(kind, said)
        fail(hook, run, code, detail=error, source=source)
        return
    words = ending.words or ""
    if interim.unreported(hook, run):
        fail(hook, run, "agent_error", words=words, source=source, detail=UNHEARD)
        return
    if ending.is_handed_back:
        source = "SubagentHandback"
    take_last_words(hook, run, words, source=source)
