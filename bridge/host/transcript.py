"""What a subagent was really given: the first record of its own transcript.

The words that an agent ends with are not taken from there, they lag behind. Its prompt
does not: it is the first thing written down, verbatim, and was there within 0.2 s of
SubagentStop in 30 of 30 agents that answered at once. Of the hooks' own events only
PostToolUse(Agent) tells the prompt, and in the foreground that is too late: the answer
has been published by then.

Source: measured on Claude Code 2.1.330, `<transcript>/subagents/agent-<id>.jsonl`.
"""

from __future__ import annotations

import os
import stat
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
# How far the first message may be: more than any prompt takes, and what is before it.
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
        # A pipe would make us wait for its other end.
        fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as lines:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                return _first_user_text(lines)
    except OSError:
        pass
    return None


def _first_user_text(lines: BinaryIO) -> str | None:
    left = _MAX_BYTES
    for _ in range(_MAX_RECORDS):
        line = lines.readline(left)
        left -= len(line)
        if not line.endswith(b"\n"):
            return None
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict) and _is_prompt(record):
            return _text(record)
    return None


def _is_prompt(record: dict[str, Any]) -> bool:
    """Whether a record is a message to the agent, and no reminder of the client's."""
    return record.get("type") == "user" and record.get("isMeta") is not True


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
