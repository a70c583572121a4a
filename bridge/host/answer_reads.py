"""Keep what the answer of an agent of a session rests on, for `ask --cached`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from bridge.bound.call_notes import name_of
from bridge.errors import BridgeError
from bridge.host import transcript
from bridge.host.context import HookContext
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.store import tool_calls
from bridge.store.hook_log import log_failure
from bridge.store.store import Store
from bridge.store.subagent_runs import AgentRun

if TYPE_CHECKING:
    from bridge.freshness.looks import Look

# The hook that takes an answer goes through all of them.
MAX_CALLS = 10_000


def keep_reads(
    hook: HookContext, run: AgentRun, request: Request, response: Response
) -> None:
    """Keep it; if that fails, whatever it is, the answer counts and is never reused."""
    try:
        _keep(hook, run, request, response)
    except Exception as exc:  # noqa: BLE001 - its agent is gone, and the answer is good
        if not isinstance(exc, BridgeError | OSError):
            log_failure("what an answer rests on")


def _keep(
    hook: HookContext, run: AgentRun, request: Request, response: Response
) -> None:
    from bridge.freshness import kept_reads
    from bridge.freshness.looks import Look
    from bridge.freshness.memory_files import of_client
    from bridge.freshness.noted import looks_of
    from bridge.freshness.repository import with_repository
    from bridge.rules import freshness

    place, settings = hook.store.place, hook.settings
    project = str(place.project)
    with hook.store.open() as store:
        notes = tool_calls.notes_on(store, run.agent_id)
        seen = looks_of(
            notes[:MAX_CALLS],
            project,
            now_ms=hook.now_ms(),
            up_ms=int(time.monotonic() * 1000),
        )
        noted = list(with_repository(seen))
        if len(notes) > MAX_CALLS:
            noted.append(Look("outside", f"more than {MAX_CALLS:,} calls"))
        read = dict.fromkeys(look.path for look in noted if look.kind == "file")
        # The session may have read its memory files when it began.
        since_ms = min(hook.session.registered_at, run.launched_at)
        looks = chain(
            _unseen(hook, run, store),
            of_client(project, str(settings.claude_dir), read, since_ms),
            freshness.looks_of(settings, place, run.launched_at),
            noted,
        )
        with store.state() as state:
            kept_reads.keep(
                state,
                request,
                response,
                looks,
                project=place.project,
                model=run.model,
            )


def _unseen(hook: HookContext, run: AgentRun, store: Store) -> Iterator[Look]:
    """The calls of an agent that no hook has noted: nobody knows what they saw.

    The disk was full, or the client had stopped the hook. On a full disk the client may
    have written nothing either.
    """
    from bridge.freshness.looks import Look, look_of

    if not (run.continued_from or tool_calls.are_all_noted(store, run.agent_id)):
        yield Look("outside", "a call that was not noted")
    noted = tool_calls.noted_ids(store, run.agent_id)
    for call_id, tool in transcript.calls(hook.event, run.agent_id):
        if name_of(call_id) not in noted and look_of(tool, {}, "/", 0) is not None:
            yield Look("outside", f"a call of {tool} that was not noted")
