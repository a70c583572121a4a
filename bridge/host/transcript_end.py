"""How a subagent's transcript ends: what it said last, or why it said nothing.

For an agent that is over and whose end no hook has seen: by then the client has written
down everything. The final message is all that stands behind the last call of a tool; in
auto mode it is what SubagentHandback delivered. Nothing counts that the agent was told
to go on from, nor a message that is not whole.

Any program of the user may write to this file, a command of the agent's own too. So it
is read only where no hook has heard the words, and it says no more than the agent could
say itself: what it ran is known from the hooks alone.

Source: measured on Claude Code 2.1.330, `<transcript>/subagents/agent-<id>.jsonl`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.host import transcript
from bridge.protocol.record import json_object
from bridge.store.plain_file import open_plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.host.events import HookEvent
    from bridge.store.subagent_runs import AgentRun

# Of a longer one only so much of its end is read, and so many records of that.
_MAX_BYTES = 64 << 20
_MAX_RECORDS = 2_000
# How much of that is parsed: more than a model says at once.
_MAX_PARSED = transcript.MAX_LINE
_HANDBACK = "SubagentHandback"
_INTERRUPTED = "[Request interrupted by user"
# Of what the client says itself, as if it were the model.
_NO_MODEL = "<synthetic>"


class Ending(NamedTuple):
    """How the conversation with an agent ends.

    `words` are its final message, None if it ends with anything else. `error` is why
    its model gave no answer: the kind, and what the client says about it.
    """

    words: str | None = None
    is_handed_back: bool = False
    error: tuple[str, str] | None = None
    is_interrupted: bool = False


NOTHING = Ending()


def ending_of(event: HookEvent, run: AgentRun, prompt: str) -> Ending:
    """How the conversation about this prompt ends, as far as that can be read."""
    file = event.subagent_file(run.agent_id, ".jsonl")
    text = _tail(file) if file else None
    # The last line is being written, or was when the client was killed.
    found = _end(text) if text and text.endswith(b"\n") else NOTHING
    is_said = found.words is not None or found.error is not None
    return NOTHING if is_said and not _is_about(event, run, prompt) else found


def _is_about(event: HookEvent, run: AgentRun, prompt: str) -> bool:
    """Whether the agent was asked this before it ended."""
    if run.continued_from:
        return transcript.was_told(event, run.agent_id, prompt)
    return bool(transcript.was_given(event, run.agent_id, prompt, session=run.session))


def _tail(file: Path) -> bytes | None:
    """The end of a file of the user's own; None if it cannot be read."""
    with suppress(OSError), open_plain(file, links=False) as opened:
        facts = os.fstat(opened.fileno())
        if facts.st_uid == os.geteuid():
            opened.seek(max(0, facts.st_size - _MAX_BYTES))
            return opened.read(_MAX_BYTES)
    return None


def _end(text: bytes) -> Ending:
    delivered: set[str] = set()
    for kind, record in _backwards(text):
        message = record["message"]
        if kind == "assistant":
            if record.get("isApiErrorMessage") or message.get("model") == _NO_MODEL:
                said = transcript.text_of(record) or ""
                return Ending(error=(str(record.get("error", "")), said))
            if message.get("stop_reason") == "tool_use":
                return _handed_back(message, delivered)
            whole = message.get("stop_reason") is not None
            return Ending(words=_words(text, message)) if whole else NOTHING
        results = _results(message)
        if results is None:
            said = transcript.text_of(record) or ""
            return Ending(is_interrupted=said.startswith(_INTERRUPTED))
        delivered |= results
    return NOTHING


def _backwards(text: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """The messages, the last one first; ends at a line that is no record.

    It ends as well where more would have to be parsed than any end of one takes.
    """
    lines = text.rstrip(b"\n").rsplit(b"\n", _MAX_RECORDS)
    left = _MAX_PARSED
    for line in lines[: -_MAX_RECORDS - 1 : -1]:
        if transcript.REQUEST in line:
            continue
        left -= len(line)
        if left < 0:
            return
        record = json_object(line)
        kind = record.get("type")
        if not isinstance(kind, str):
            return
        if kind in ("assistant", "user"):
            if not isinstance(record.get("message"), dict):
                return
            yield kind, record


def _words(text: bytes, last: dict[str, Any]) -> str:
    """The text of a message, of which each block is a record."""
    said = []
    for kind, record in _backwards(text):
        if kind != "assistant" or record["message"].get("id") != last.get("id"):
            break
        said.append(transcript.text_of(record) or "")
    return "\n".join(words for words in reversed(said) if words)


def _results(message: dict[str, Any]) -> set[str] | None:
    """The calls whose results a message brings, without those that failed.

    None for any other message to the agent.
    """
    content = message.get("content")
    blocks = content if isinstance(content, list) else [content]
    delivered = set()
    for block in blocks:
        if not isinstance(block, dict) or block.get("type") != "tool_result":
            return None
        if block.get("is_error") is not True:
            delivered.add(str(block.get("tool_use_id")))
    return delivered


def _handed_back(message: dict[str, Any], delivered: set[str]) -> Ending:
    """What a message handed back; nothing if it calls another tool, or was refused."""
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("name") == _HANDBACK:
            said = block.get("input")
            words = said.get("message") if isinstance(said, dict) else None
            if isinstance(words, str) and block.get("id") in delivered:
                return Ending(words=words, is_handed_back=True)
    return NOTHING
