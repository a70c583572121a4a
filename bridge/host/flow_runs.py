"""Flows in the open session: what a hook has ended leads on, with no process of ours.

Loaded only while a run lives. An answer is one look into its run; what that asks next
rings the bell of every session. Its user reads a line when a run ends, is paused, or
waits for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.engine.advance import advance, news_of
from bridge.engine.run_ids import is_called
from bridge.host.told_later import tell_later
from bridge.store.hook_log import log_failure
from bridge.store.live_runs import live_runs

if TYPE_CHECKING:
    from bridge.host.context import HookContext


def go_on(hook: HookContext) -> None:
    """Advance the runs that live; one that cannot be is left for its user to see."""
    with hook.store.state() as state:
        live = live_runs(state)
    # Those that others called go on with them.
    for run_id in [each for each in live if not is_called(each)]:
        try:
            before, reached = hook.now_ms(), set[str]()
            run = advance(hook.store, hook.settings, run_id, reached=reached)
            if lines := [*news_of(run, reached, since_ms=before)]:
                tell_later(hook, lines)
        except Exception:  # noqa: BLE001 - the answer to the event counts
            log_failure("flows")
