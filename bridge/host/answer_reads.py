"""Keep what the answer of an agent of a session rests on, for `ask --cached`."""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import chain

from bridge.errors import BridgeError
from bridge.host.context import HookContext
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.store import tool_calls
from bridge.store.subagent_runs import AgentRun


def keep_reads(
    hook: HookContext, run: AgentRun, request: Request, response: Response
) -> None:
    """Keep it; if that fails, the answer is never reused."""
    from bridge.freshness import kept_reads
    from bridge.freshness.noted import looks_of
    from bridge.freshness.surroundings import of_client, with_repository

    project = str(hook.store.place.project)
    with suppress(BridgeError, OSError), hook.store.open() as store:
        noted = looks_of(
            tool_calls.notes_on(store, run.agent_id),
            project,
            now_ms=hook.now_ms(),
            up_ms=int(time.monotonic() * 1000),
        )
        # The session may have read its memory files when it began.
        since_ms = min(hook.session.registered_at, run.launched_at)
        looks = chain(of_client(request, project, since_ms), with_repository(noted))
        with store.state() as state:
            kept_reads.keep(state, request, response, looks)
