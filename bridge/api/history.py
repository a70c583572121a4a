"""The whole history of one request, from every file that mentions it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.api.hosts import near_budgets, waits_for
from bridge.protocol.contract import prompt_for
from bridge.protocol.ids import check_id
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.status import Status
from bridge.protocol.usage import Usage
from bridge.store import subagent_runs
from bridge.store.charges import final_usage
from bridge.store.store import Store
from bridge.store.subagent_runs import AgentRun
from bridge.store.tool_calls import seen_calls

if TYPE_CHECKING:
    from bridge.bound.budgets import HeldBack
    from bridge.protocol.claimed_commands import ToolCall

# In the log of a run: a message that the run begins with.
_MESSAGE = "told"


@dataclass(frozen=True, slots=True)
class Story:
    """What is known about a request.

    Attributes:
        request_id: which one.
        status: how far it is; None if only traces of it are left, or it cannot be read.
        problem: why its file cannot be read, and what to do.
        request, response: the records, if there are any.
        history: its lines of the journal, oldest first.
        runs: the agents that were started for it, as far as still on record.
        calls: the tool calls seen in them.
        messages: role and text of each message that its agent began with.
        turns: the log of its run on the route local or endpoint, oldest first.
        evidence: rejected answers, with the reason.
        files: all of these files, to be read with `cat`.
        held_back: the limit of a session that it waits for.
        near: the budgets, nearly used up, of the session that holds it.
        usage: what its agent took in all, also after its answer; None if nobody tells.
    """

    request_id: str
    status: Status | None
    problem: str | None
    request: Request | None
    response: Response | None
    history: tuple[dict[str, Any], ...]
    runs: tuple[AgentRun, ...]
    calls: tuple[ToolCall, ...]
    messages: tuple[tuple[str, str], ...]
    turns: tuple[dict[str, Any], ...]
    evidence: tuple[dict[str, Any], ...]
    files: tuple[Path, ...]
    held_back: HeldBack | None = None
    near: tuple[str, ...] = ()
    usage: Usage | None = None


def tell(store: Store, request: str) -> Story:
    """Gather the history of a request.

    Raises:
        UnknownRequest: nothing is known about it.
    """
    request_id = check_id(request)
    if not store.exists():
        raise store.unknown(request_id)
    with store.open() as opened:
        found = opened.find(request_id)
        known = subagent_runs.all_runs(opened)
        runs = tuple(run for run in known if run.request_id == request_id)
        history = tuple(opened.history(request_id))
        turns = tuple(opened.run_log(request_id))
        files = opened.files_about(request_id, [run.agent_id for run in runs])
        if found is None and not history and not files:
            raise opened.unknown(request_id)
        asked = found.request if found else None
        live = asked if found and found.response is None else None
        return Story(
            request_id=request_id,
            status=found.status if found else None,
            problem=None if found else opened.why_unreadable(request_id),
            request=asked,
            response=found.response if found else None,
            history=history,
            runs=runs,
            calls=tuple(
                call for run in runs for call in seen_calls(opened, run.agent_id)
            ),
            messages=_messages_to(asked, turns),
            turns=tuple(event for event in turns if event.get("event") != _MESSAGE),
            evidence=tuple(opened.evidence(request_id)),
            files=tuple(files),
            held_back=waits_for(opened, asked),
            near=near_budgets(opened, live),
            usage=final_usage(found.response if found else None, history),
        )


def _messages_to(
    request: Request | None, turns: Iterable[dict[str, Any]]
) -> tuple[tuple[str, str], ...]:
    """Role and text of each message that the agent began with, as far as recorded.

    In an open session and for `claude -p` they follow from the request. A run of our
    own has them in its log, where long texts are cut.
    """
    logged = [event for event in turns if event.get("event") == _MESSAGE]
    if logged:
        return tuple((str(e.get("role")), str(e.get("text"))) for e in logged)
    claim = request.claim if request else None
    if request is None or claim is None:
        return ()
    if claim.route == "host":
        words = prompt_for(request)
        return (("user", words),) if claim.launched_at is not None else ()
    if claim.route == "claude":
        from bridge.claude_cli.command import prompt_of

        return (("user", prompt_of(request)),)
    return ()
