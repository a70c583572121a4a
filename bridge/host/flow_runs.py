"""Flows in the open session: what a hook has ended leads on, with no process of ours.

Loaded only while a run lives. An answer is one look into its run; what that asks next
rings the bell of every session. Its user reads a line when a run ends, is paused, or
waits for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.engine.advance import advance
from bridge.engine.run_ids import is_called
from bridge.host.hook_log import log_failure
from bridge.host.told_later import tell_later
from bridge.store.live_runs import live_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.engine.run import Run
    from bridge.host.context import HookContext


def go_on(hook: HookContext) -> None:
    """Advance the runs that live; one that cannot be is left for its user to see."""
    with hook.store.state() as state:
        live = live_runs(state)
    # Those that others called go on with them.
    for run_id in [each for each in live if not is_called(each)]:
        try:
            before = hook.now_ms()
            run = advance(hook.store, hook.settings, run_id)
            if run["at"] >= before and (lines := [*_news(hook, run)]):
                tell_later(hook, lines)
        except Exception:  # noqa: BLE001 - the answer to the event counts
            log_failure("flows")


def _news(hook: HookContext, run: Run) -> Iterator[str]:
    """What its user should know of a run that has just changed."""
    name = f"flow {run['name'] or run['run']}"
    if run["status"] == "completed":
        yield f"{name} is done: hostbridge runs show {run['run']}"
    elif run["status"] != "running":
        why = f"{run['status']} ({run['why']})"
        yield f"{name} is {why}: hostbridge runs show {run['run']}"
    elif not run["open"] or run["parent"]:
        return
    elif any(run["nodes"][node].get("at") == run["at"] for node in run["open"]):
        from bridge.engine.view import view

        for checkpoint, _ in view(hook.store, run["run"]).checkpoints():
            yield f"{name} waits for you: hostbridge approve {checkpoint}"
