"""What an agent took, and the agents that it started: from the client's transcripts.

Each block of a message is a record with the message's id, model and usage; of several
with one id the last counts. The record of the last message is there 0.06 s after its
SubagentStop at the latest, mostly before our hook looks: nobody waits for it, since
the notice of the end, or the end of the call, tells the rest.

That of a fork begins with a reference to the session's conversation and the message
that started the fork, which the session has paid for: its own begins with the first
message to it.

Anybody may write to these files: what they say is counted, and decides nothing else.

Source: measured on Claude Code 2.1.330, `<transcript>/subagents/agent-<id>.jsonl`, and
`parentAgentId` in `agent-<id>.meta.json`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.host.runs import noted_in
from bridge.host.transcript import MAX_LINE, record_in
from bridge.protocol.record import json_object
from bridge.protocol.usage import Usage, count_in
from bridge.store.charges import note_tokens, note_usage
from bridge.store.plain_file import open_plain

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.host.context import HookContext
    from bridge.host.events import HookEvent
    from bridge.store.subagent_runs import AgentRun

# Of all transcripts of one agent together; what is larger is not known.
_MAX_BYTES = 64 << 20
_MAX_NOTE_BYTES = 1 << 16
_MAX_BELOW = 200
_REQUEST = b'"type":"api-request'
_FORKED = b'"type":"fork-context-ref"'
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/\[\]-]{0,199}")
# Tools that start agents.
_STARTING = ("Agent", "Task", "Skill")


class Taken(NamedTuple):
    """What an agent took: itself, and with all that were started below it.

    `model` wrote its last message; empty if that is unknown. `begun_with` is how much
    of a session's conversation a fork got from the provider's cache, in tokens.
    """

    own: Usage
    total: Usage
    model: str = ""
    begun_with: int = 0

    @property
    def charged(self) -> int:
        """What counts against budgets: a conversation once, wherever it came from."""
        return self.own.tokens + self.begun_with


class _Read(NamedTuple):
    usage: Usage
    model: str
    has_below: bool
    size: int
    begun_with: int = 0


def taken_by(event: HookEvent, run: AgentRun) -> Taken | None:
    """What an agent took for its request; None if its transcript does not tell."""
    taken = taken_so_far(event, run.agent_id)
    if taken is None or run.took_before is None or run.took_below_before is None:
        return taken
    own, total = taken.own.less(run.took_before), run.took_below_before
    return taken._replace(own=own, total=taken.total.less(total))


def taken_so_far(event: HookEvent, agent_id: str) -> Taken | None:
    """What an agent took for all that it was asked; None if that is not known."""
    file = event.subagent_file(agent_id, ".jsonl")
    own = None if file is None else _read(file, _MAX_BYTES)
    if own is None or file is None:
        return None
    total, left = own.usage, _MAX_BYTES - own.size
    for each in _all_below(file.parent, agent_id) if own.has_below else ():
        found = _read(file.with_name(f"agent-{each}.jsonl"), left)
        if found is not None:
            total, left = total + found.usage, left - found.size
    return Taken(own.usage, total, own.model, own.begun_with)


def charge(hook: HookContext, run: AgentRun, told: object = None) -> Taken | None:
    """Charge the session, and the run that asked, for what an agent itself took.

    `told` is what the client says of it: the size of its last request and the answer,
    which counts only if nothing better is known.
    """
    taken = taken_by(hook.event, run)
    tokens = told if taken is None else taken.charged
    call, is_rough = run.tool_use_id, taken is None
    note_tokens(hook.store, run.host, call, tokens, run.request_id, is_rough=is_rough)
    return taken


def settle(hook: HookContext, run: AgentRun, told: object) -> None:
    """An agent of ours is over: charge it, and note what its answer does not tell."""
    taken = charge(hook, run, told)
    if taken is not None and not run.nested:
        note_usage(hook.store, run.request_id, taken.total, taken.model)


def _read(file: Path, most: int) -> _Read | None:
    """What one transcript tells; None if nothing, or if it is too large."""
    with suppress(OSError, ValueError), open_plain(file, links=False) as opened:
        size = os.fstat(opened.fileno()).st_size
        return told_in(opened.read(size)) if size <= most else None
    return None


def told_in(transcript: bytes) -> _Read | None:
    """What a transcript tells; None if no model has said anything in it."""
    messages: dict[str, dict[str, Any]] = {}
    has_below, model = False, ""
    is_fork = is_before = False
    for line in transcript.splitlines():
        if _FORKED in line and not messages:
            is_fork = is_before = True
        if is_before:
            is_long = len(line) > MAX_LINE
            is_before = not is_long and json_object(line).get("type") != "user"
            continue
        message = _message(line)
        if message is not None:
            messages[str(message.get("id"))] = message
            has_below = has_below or _starts_agents(message)
            model = _model(message)
    if not messages:
        return None
    usage = sum(map(_usage, messages.values()), Usage())
    first = _usage(next(iter(messages.values())))
    begun_with = first.cache_read_tokens if is_fork else 0
    return _Read(usage, model, has_below, len(transcript), begun_with)


def _message(line: bytes) -> dict[str, Any] | None:
    """The message that a model wrote, if a record holds one.

    The client writes its own complaints down as messages of no model.
    """
    if b'"usage"' not in line or _REQUEST in line:
        return None
    record = record_in(line)
    message = record.get("message")
    if record.get("type") != "assistant" or not isinstance(message, dict):
        return None
    is_told = _usage(message).tokens > 0 and _model(message) != ""
    return message if is_told else None


def _usage(message: dict[str, Any]) -> Usage:
    told = message.get("usage")
    return Usage(
        input_tokens=count_in(told, "input_tokens"),
        cache_read_tokens=count_in(told, "cache_read_input_tokens"),
        cache_write_tokens=count_in(told, "cache_creation_input_tokens"),
        output_tokens=count_in(told, "output_tokens"),
        requests=1,
    )


def _model(message: dict[str, Any]) -> str:
    model = message.get("model")
    return model if isinstance(model, str) and _MODEL.fullmatch(model) else ""


def _starts_agents(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("name") in _STARTING for block in content
    )


def _all_below(folder: Path, agent_id: str) -> Iterator[str]:
    """The agents that an agent started, and those that they started."""
    children: dict[str, list[str]] = {}
    for child, parent in _parents(folder):
        children.setdefault(parent, []).append(child)
    known, left = {agent_id}, [agent_id]
    while left and len(known) <= _MAX_BELOW:
        for child in children.get(left.pop(), ()):
            if child not in known:
                known.add(child)
                left.append(child)
                yield child


def _parents(folder: Path) -> Iterator[tuple[str, str]]:
    """Each agent of a session that an agent has started, and which one did."""
    for child in noted_in(folder):
        file = folder / f"agent-{child}.meta.json"
        with suppress(OSError), open_plain(file, links=False) as opened:
            parent = json_object(opened.read(_MAX_NOTE_BYTES)).get("parentAgentId")
            if isinstance(parent, str):
                yield child, parent
