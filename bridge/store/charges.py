"""Charge a session for what its agents took, by their calls (see `store.spending`).

What an answer took in the end is a line of the journal, since a response is sealed:

    {"event": "usage", "requestId": "...", "usage": {...}, "model": "..."}

It is there if an agent's end told more than its answer. The last line of a request
holds all of it, not only what was added.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from bridge.errors import StateUnavailable
from bridge.protocol.claim import HostProcess
from bridge.protocol.ids import RequestId
from bridge.protocol.response import Response
from bridge.protocol.usage import Usage
from bridge.store import live_runs
from bridge.store.clock import uptime
from bridge.store.sessions import change_spending
from bridge.store.spending import Spending
from bridge.store.store import Store

EVENT = "usage"


def note_start(store: Store, host: HostProcess, call: str, *, left_ms: int) -> None:
    """One more agent, which no call of ours has announced."""
    now = uptime(store.clock)
    until = now.ms + max(0, left_ms)
    change_spending(store, host, lambda spent: spent.started(call, now, until=until))


def note_no_launch(store: Store, host: HostProcess, call: str) -> None:
    """No agent came of a call after all."""
    change_spending(store, host, lambda spent: spent.without(call))


def note_spent(store: Store, host: HostProcess, now: Spending) -> None:
    """Write down what the session of a process has used."""
    change_spending(store, host, lambda _: now)


def note_end(
    store: Store, host: HostProcess, call: str, *, again: bool = False, tokens: int = 0
) -> None:
    """The agent of a call works no more; `again` if it may have ended before.

    `tokens` is what it took; 0 if that is not known.
    """
    now = uptime(store.clock)
    told = tokens or None
    change_spending(
        store, host, lambda spent: spent.ended(call, now, again=again).told(call, told)
    )


def note_tokens(
    store: Store,
    host: HostProcess,
    call: str,
    tokens: object,
    request_id: str = "",
    *,
    is_rough: bool = False,
) -> None:
    """Somebody tells the tokens of an agent; None if they do not.

    A rough number counts only if no other is known.
    """
    if tokens is not None:
        change_spending(
            store, host, lambda spent: spent.told(call, tokens, is_rough=is_rough)
        )
    note_in_run(store, request_id, call, tokens)


def note_in_run(store: Store, request_id: str, call: str, tokens: object) -> None:
    """What an agent took counts in the budget of the run that asked, if one did."""
    run = live_runs.run_of(store.place, request_id)
    if run and isinstance(tokens, int):
        with suppress(OSError, StateUnavailable), store.state() as state:
            live_runs.note_tokens(state, run, call, tokens)


def settle(store: Store, call: str, tokens: int | None) -> None:
    """The agent of a request that a process of ours served is over."""
    if store.exists():
        now = uptime(store.clock)
        with suppress(StateUnavailable):
            change_spending(
                store, None, lambda s: s.ended(call, now).told(call, tokens)
            )


def note_usage(store: Store, request_id: str, usage: Usage, model: str) -> None:
    """Note what the agent of a request took, unless its response says the same."""
    with suppress(OSError, StateUnavailable), store.state() as state:
        response = state.response(RequestId(request_id))
        if response is not None and response.usage != usage:
            facts = {"usage": usage.to_data(), "model": model or None}
            state.note(EVENT, request_id, **facts)


def final_usage(
    response: Response | None, history: Iterable[Mapping[str, Any]]
) -> Usage | None:
    """What an answer took, as far as anybody told; `history` is its lines."""
    told = [line.get("usage") for line in history if line.get("event") == EVENT]
    found = [each for each in told if Usage.fits(each)]
    if found:
        return Usage.model_validate(found[-1])
    return response.usage if response else None
