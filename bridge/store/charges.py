"""Charge a session for what its agents took, by their calls (see `store.spending`)."""

from contextlib import suppress

from bridge.errors import StateUnavailable
from bridge.protocol.claim import HostProcess
from bridge.store import live_runs
from bridge.store.clock import uptime
from bridge.store.sessions import change_spending
from bridge.store.spending import Spending
from bridge.store.store import Store


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
