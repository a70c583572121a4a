"""Which run of ours a hook event belongs to.

The client tells a hook only the subagent's own id; the call that started it is in the
subagent's meta file, which is there at its first tool call and at its end.

Source: measured on Claude Code 2.1.330, `<transcript>/subagents/agent-<id>.meta.json`.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from bridge.bound.call_notes import name_of
from bridge.errors import StateUnavailable
from bridge.host.events import HookEvent
from bridge.protocol.ids import is_id
from bridge.protocol.record import json_object
from bridge.store import subagent_runs
from bridge.store.charges import note_start
from bridge.store.plain_file import read_plain
from bridge.store.store import Store
from bridge.store.subagent_runs import AgentRun
from bridge.store.variables import variables_of

_NOTES = ".meta.json"
# Each agent of a session leaves two files.
_MAX_NOTED = 10_000


def find_run(store: Store, event: HookEvent) -> AgentRun | None:
    """The run that an event happened in, bound at the first occasion.

    If the binding cannot be written down (a full disk), the next occasion binds it;
    the caller learns all the same whose agent this is.
    """
    agent_id = event.agent_id
    if not is_id(agent_id):
        return None
    run = subagent_runs.find_agent(store, agent_id)
    if run is not None:
        return run
    notes = client_notes(event, agent_id)
    tool_use_id = name_of(notes.get("toolUseId") or _loading(event))
    if tool_use_id:
        run = subagent_runs.find_launched(store, tool_use_id)
    else:
        run = _of_skill(store, event, notes)
    if run is None:
        # Another hook may have bound it between the two looks.
        return subagent_runs.find_agent(store, agent_id)
    with suppress(StateUnavailable):
        return subagent_runs.bind(store, run, agent_id)
    return subagent_runs.bound(run, agent_id)


def _loading(event: HookEvent) -> str:
    """The call by which a skill's text is loaded whose command is about to run.

    The skills of an agent's own file are loaded with it, by the call that starts it,
    before the client has written down anything of the agent.

    Source: measured on Claude Code 2.1.332, `toolu_…:preamble-0`.
    """
    call, mark, _ = event.text("tool_use_id").partition(":preamble-")
    return call if mark else ""


def _of_skill(store: Store, event: HookEvent, notes: dict[str, Any]) -> AgentRun | None:
    """The run of a skill that the client runs as an agent (`context: fork`).

    No Agent call starts it: the client names only the agent that used the skill, and
    that one waits for it.
    """
    caller = subagent_runs.find_agent(store, str(notes.get("parentAgentId")))
    if caller is None:
        return None
    run = note_below(store, caller, event.text("agent_type"), event.agent_id)
    left_ms = run.answer_at - int(store.clock.monotonic_s() * 1000)
    with suppress(StateUnavailable):
        note_start(store, run.host, event.agent_id, left_ms=left_ms)
    return run


def note_below(
    store: Store, caller: AgentRun, agent_type: str, call_id: str, *, parent: str = ""
) -> AgentRun:
    """Write down the run of an agent that one of ours starts: it may do no more.

    `parent` is the agent that is told of its end.
    """
    run = caller.with_(
        variables=variables_of(store, caller),
        above=(agent_type, *caller.above),
        tool_use_id=call_id,
        agent_id="",
        state="launched",
        nested=True,
        is_fork=False,
        parent=parent,
        depth=caller.depth + 1,
        launched_at=store.now_ms(),
        warned_in=(),
        refused=0,
        waits_for=(),
        heard_of=(),
        ended_at=None,
        ends=0,
    )
    subagent_runs.note_call(store, run)
    return run


def bind_listed(store: Store, event: HookEvent, *, everything: bool = False) -> None:
    """Bind the listed agents that no event has mentioned yet.

    With `everything` also those that are not listed any more, or never were.
    """
    calls = {
        run.tool_use_id: run
        for run in subagent_runs.all_runs(store)
        if not run.agent_id
    }
    file = event.subagent_file("any", _NOTES) if calls and everything else None
    known = noted_in(file.parent) if file else event.background_ids or ()
    for agent_id in sorted(known) if calls else ():
        run = calls.get(name_of(client_notes(event, agent_id).get("toolUseId")))
        if run is not None:
            subagent_runs.bind(store, run, agent_id)


def noted_in(folder: Path) -> Iterator[str]:
    """The agents of which the client has written something down in a folder."""
    names: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:
        names = [each.name for each in islice(entries, _MAX_NOTED)]
    for name in names:
        agent_id = name.removeprefix("agent-").removesuffix(_NOTES)
        if name.endswith(_NOTES) and is_id(agent_id):
            yield agent_id


def client_notes(event: HookEvent, agent_id: str) -> dict[str, Any]:
    """What the client has written down about a subagent; empty if nothing."""
    file = event.subagent_file(agent_id, _NOTES)
    if file is None:
        return {}
    with suppress(OSError):
        return json_object(read_plain(file))
    return {}
