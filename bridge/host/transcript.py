"""What a subagent was really given: the first record of its own transcript.

The words that an agent ends with are not taken from there, they lag behind. Its prompt
does not: it is the first thing written down, verbatim, and was there within 0.2 s of
SubagentStop in 30 of 30 agents that answered at once. Of the hooks' own events only
PostToolUse(Agent) tells the prompt, and in the foreground that is too late: the answer
has been published by then.

Source: measured on Claude Code 2.1.330, `<transcript>/subagents/agent-<id>.jsonl`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, BinaryIO

    from bridge.host.events import HookEvent

# How long the client may take to write the record down, in seconds.
WRITTEN_S = 0.5
_LOOK_EVERY_S = 0.02
# Longer prompts than requests may have, escaped; and what may stand before a prompt.
_MAX_BYTES = 64 << 20
_MAX_RECORDS = 50


def was_given(
    event: HookEvent, agent_id: str, prompt: str, *, patience_s: float = 0
) -> bool | None:
    """Whether the subagent was given this prompt; None where nobody can tell (yet)."""
    folder = event.subagents_folder
    if folder is None or not agent_id:
        return None
    file = folder / f"agent-{agent_id}.jsonl"
    deadline = time.monotonic() + patience_s
    while (told := _first_words(file)) is None:
        if time.monotonic() >= deadline:
            return None
        time.sleep(_LOOK_EVERY_S)
    return prompt in told


def _first_words(file: Path) -> str | None:
    """The first user message; None while it is not there, whole."""
    try:
        with file.open("rb") as lines:
            return _first_user_text(lines)
    except OSError:
        return None


def _first_user_text(lines: BinaryIO) -> str | None:
    for _ in range(_MAX_RECORDS):
        line = lines.readline(_MAX_BYTES)
        if not line.endswith(b"\n"):
            return None
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict) and record.get("type") == "user":
            return _text(record)
    return None


def _text(record: dict[str, Any]) -> str | None:
    """The words of a message: a string, or blocks of which some are text."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = (block.get("text") for block in content if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
