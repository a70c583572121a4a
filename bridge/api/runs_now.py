"""The runs of flows that have not ended: how far each is, and its open steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import BridgeError
from bridge.store.live_runs import live_runs

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.engine.view import RunView
    from bridge.store.state import State
    from bridge.store.store import Store

SHOWN_RUNS = 20
SHOWN_STEPS = 8


class LiveStep(NamedTuple):
    """An open step of a run: what it does, how far it is, for how many seconds.

    `request_id` is what it has asked, if it is an agent.
    """

    node: str
    what: str
    says: str
    for_s: float | None
    request_id: str | None


class LiveRun(NamedTuple):
    """One run of a flow that has not ended; `ways` is what its user can type.

    `open` are its open steps, the first few in written order.
    """

    run: str
    flow: str
    status: str
    steps_ended: int
    steps: int
    waits_for: str
    ways: tuple[str, ...] = ()
    age_s: float = 0.0
    open: tuple[LiveStep, ...] = ()


def runs_now(store: Store, state: State, settings: Settings) -> Iterator[LiveRun]:
    """The runs that nobody called, the oldest first, as far as they can be read."""
    for run_id in live_runs(state)[:SHOWN_RUNS]:
        if not run_id.startswith("r"):
            continue
        from bridge.engine.view import view_in

        with suppress(BridgeError):
            seen = view_in(state, run_id)
            waits_for, ways = _waits_for(seen)
            yield LiveRun(
                run_id,
                seen.run["name"],
                seen.run["status"],
                *seen.ended(),
                waits_for,
                ways,
                max(0, state.now_ms() - seen.run["createdAt"]) / 1000,
                tuple(_open_steps(store, settings, seen)),
            )


def _open_steps(store: Store, settings: Settings, seen: RunView) -> Iterator[LiveStep]:
    from bridge.api.run_steps import steps_of

    steps = steps_of(store, settings, seen, only_open=True, whole=False)
    for each in islice(steps, SHOWN_STEPS):
        what = each.what.strip()
        yield LiveStep(each.node, what, each.says, each.took_s, each.request_id)


def _waits_for(seen: RunView) -> tuple[str, tuple[str, ...]]:
    run = seen.run
    if run["status"] == "paused":
        from bridge.engine.view import resume_command

        return f"you: paused ({run['why']})", (resume_command(run),)
    nodes = [node for node, _ in seen.open_requests()]
    ways = tuple(f"hostbridge reply {each}" for each, _, _ in seen.checkpoints())
    return ", ".join(["you"] * bool(ways) + nodes), ways
