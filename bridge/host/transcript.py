"""A subagent's transcript: its prompt, its messages, and the ends it was told of.

The prompt is the first record, verbatim: it was there within 0.2 s of SubagentStop for
30 of 30 agents that answered at once. Of the hook events only PostToolUse(Agent) has
it, and in the foreground that is too late: the answer has been published by then. The
last words are not taken from here, since the client writes them late.

Source: measured on Claude Code 2.1.330, `<transcript>/subagents/agent-<id>.jsonl`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bridge.host.events import HookEvent
from bridge.protocol.record import json_object
from bridge.store.plain_file import open_plain

if TYPE_CHECKING:
    T = TypeVar("T")

# How long the client may take to write the record down, in seconds.
WRITTEN_S = 0.5
_LOOK_EVERY_S = 0.02
# How far into the file the first message may be: more than any prompt takes.
_MAX_BYTES = 64 << 20
_MAX_RECORDS = 50
# A longer line is not parsed, which would take seconds and gigabytes: no message is as
# long, but one that has our prompt in it, of which JSON makes this much at most.
MAX_LINE = 4 << 20
_JSON_BYTES = 6
# A record of what the client has sent, which repeats the messages.
REQUEST = b'"type":"api-request'


def was_given(
    event: HookEvent,
    agent_id: str,
    prompt: str,
    *,
    session: str = "",
    patience_s: float = 0,
) -> bool | None:
    """Whether the subagent was given this prompt; None if that is unknown (yet).

    `session` is the one that started it: after `/clear` its transcript goes on beside
    that of the new session, and begins in the middle there.
    """
    file = event.subagent_file(agent_id, ".jsonl", session=session)
    if file is None:
        return None
    first = _poll(
        lambda: _first_words(file, prompt), lambda text: text is not None, patience_s
    )
    return None if first is None else prompt in first


def was_told(
    event: HookEvent, agent_id: str, prompt: str, *, patience_s: float = 0
) -> bool:
    """Whether a subagent that was asked again has got this as a message."""
    file = event.subagent_file(agent_id, ".jsonl")
    return file is not None and _poll(lambda: _has(file, prompt), bool, patience_s)


def _has(file: Path, prompt: str) -> bool:
    """Whether any message to the agent has this in it."""
    for line in reversed((_whole(file) or b"").splitlines()):
        if REQUEST not in line and b'"user"' in line:
            record = record_in(line, prompt)
            if record.get("type") == "user" and prompt in (text_of(record) or ""):
                return True
    return False


def has_spoken_since(
    event: HookEvent, agent_id: str, prompt: str, *, patience_s: float = 0
) -> bool:
    """Whether a subagent that was asked again has said anything since it got this."""
    file = event.subagent_file(agent_id, ".jsonl")
    return file is not None and _poll(
        lambda: _speaks_after(file, prompt), bool, patience_s
    )


def _speaks_after(file: Path, prompt: str) -> bool:
    has_spoken = False
    for line in reversed((_whole(file) or b"").splitlines()):
        if REQUEST in line:
            continue
        record = record_in(line, prompt)
        if record.get("type") == "assistant":
            has_spoken = has_spoken or bool((text_of(record) or "").strip())
        elif record.get("type") == "user" and prompt in (text_of(record) or ""):
            return has_spoken
    return False


def message_of(event: HookEvent, agent_id: str, call_id: str) -> str | None:
    """The message of the model that makes a call; None if that is unknown."""
    file = event.subagent_file(agent_id, ".jsonl")
    if file is None or not call_id:
        return None
    call = json.dumps({"id": call_id}, separators=(",", ":"))[1:-1].encode()
    return _poll(lambda: _message_with(file, call), bool, WRITTEN_S)


def _message_with(file: Path, call: bytes) -> str | None:
    """The id of the last message whose record has this in it."""
    for line in reversed((_whole(file) or b"").splitlines()):
        if call in line and REQUEST not in line:
            message = record_in(line).get("message")
            if isinstance(message, dict) and message.get("role") == "assistant":
                return str(message.get("id"))
    return None


def calls(event: HookEvent, agent_id: str) -> Iterator[tuple[str, str]]:
    """The id and the tool of each call that a subagent has made, as far as written."""
    file = event.subagent_file(agent_id, ".jsonl")
    for line in (_whole(file) or b"").splitlines() if file else ():
        if b'"tool_use"' not in line or REQUEST in line:
            continue
        record = record_in(line)
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if record.get("type") != "assistant" or not isinstance(content, list):
            continue
        for block in content:
            if isinstance(block, dict) and block.get("type") == "tool_use":
                yield str(block.get("id")), str(block.get("name"))


def unreported(
    event: HookEvent, agent_id: str, ends: Mapping[str, int], *, patience_s: float = 0
) -> frozenset[str]:
    """The agents of which a subagent has been told fewer ends than there were.

    `ends` says how often each has ended. If the transcript cannot be read, nobody
    waits: then none is unreported.
    """
    file = event.subagent_file(agent_id, ".jsonl")
    if file is None or not ends:
        return frozenset()

    def left() -> frozenset[str]:
        text = _whole(file)
        if text is None:
            return frozenset()
        return frozenset(a for a, count in ends.items() if _times(text, a) < count)

    return _poll(left, lambda agents: not agents, patience_s)


def _poll(
    look: Callable[[], T], is_enough: Callable[[T], bool], patience_s: float
) -> T:
    """What `look` finds, as soon as it is enough or the time is up."""
    deadline = time.monotonic() + patience_s
    while not is_enough(found := look()) and time.monotonic() < deadline:
        time.sleep(_LOOK_EVERY_S)
    return found


def _times(text: bytes, agent_id: str) -> int:
    """How often a transcript tells of an agent's end.

    By a notice and, where reports are handed over, by a message that comes before it.
    What the client writes down of its own requests repeats them.
    """
    notice = f"<task-id>{agent_id}</task-id>".encode()
    message = f'<agent-message from=\\"{agent_id}\\"'.encode()
    lines = [line for line in text.splitlines() if REQUEST not in line]
    return max(sum(mark in line for line in lines) for mark in (notice, message))


def _whole(file: Path) -> bytes | None:
    with suppress(OSError), open_plain(file) as lines:
        return lines.read(_MAX_BYTES)
    return None


def _first_words(file: Path, prompt: str) -> str | None:
    """The first message to the agent; None while it is not there, whole."""
    left = _MAX_BYTES
    with suppress(OSError), open_plain(file) as lines:
        for _ in range(_MAX_RECORDS):
            line = lines.readline(left)
            left -= len(line)
            if not line.endswith(b"\n"):
                return None
            record = record_in(line, prompt)
            # The client's reminders are messages, too.
            if record.get("type") == "user" and record.get("isMeta") is not True:
                return text_of(record)
    return None


def record_in(line: bytes, prompt: str = "") -> dict[str, Any]:
    """What a line holds; nothing if it is too long for a message with this prompt."""
    is_long = len(line) > MAX_LINE + _JSON_BYTES * len(prompt)
    return {} if is_long else json_object(line)


def text_of(record: dict[str, Any]) -> str | None:
    """The text of a message: a string, or blocks of which some are text."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = (block.get("text") for block in content if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
