"""What the scripted model says: plain values, and how they travel.

A script answers a request with a `Reply` (blocks of text and tool calls) or with a
`HttpFailure` (an HTTP error). `message` and `events` turn a reply into the two forms in
which the Messages API sends one: a JSON object, or a stream of server-sent events.

Source: Anthropic API reference, "Messages" and "Streaming Messages".
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Text:
    """Words of the model."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of one tool.

    `flagged` is why auto mode's review, which runs on the API's side, finds it unsafe;
    None means that it passes.
    """

    name: str
    arguments: Mapping[str, Any]
    flagged: str | None = None
    call_id: str = field(default_factory=lambda: f"toolu_stage_{uuid.uuid4().hex}")


@dataclass(frozen=True, slots=True)
class Reply:
    """One assistant message, sent `delay_s` seconds after its request came.

    Without a `stop_reason` it is the one that fits: `tool_use` after a tool call,
    `end_turn` otherwise. `tokens_in`, `tokens_out` and `tokens_cached` (read from the
    cache) are what the API says it took.
    """

    blocks: tuple[Text | ToolUse, ...] = ()
    delay_s: float = 0
    stop_reason: str | None = None
    tokens_in: int = 1
    tokens_out: int = 1
    tokens_cached: int = 0

    @property
    def reason(self) -> str:
        """Why the message ends, as the API calls it."""
        if self.stop_reason is not None:
            return self.stop_reason
        calls = any(isinstance(block, ToolUse) for block in self.blocks)
        return "tool_use" if calls else "end_turn"


@dataclass(frozen=True, slots=True)
class HttpFailure:
    """An HTTP error in place of a message."""

    status: int
    error_type: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0


Answer = Reply | HttpFailure


def text(words: str) -> Text:
    """Make a block of text."""
    return Text(words)


def tool_use(
    name: str, arguments: Mapping[str, Any], *, flagged: str | None = None
) -> ToolUse:
    """Make a tool call with an id of its own."""
    return ToolUse(name, arguments, flagged)


def reply(
    *blocks: Text | ToolUse | str,
    delay_s: float = 0,
    stop_reason: str | None = None,
    **tokens: int,
) -> Reply:
    """Make a reply; a bare string stands for a block of text."""
    made = tuple(Text(block) if isinstance(block, str) else block for block in blocks)
    return Reply(made, delay_s, stop_reason, **tokens)


def error(
    status: int,
    error_type: str,
    message: str,
    *,
    headers: Mapping[str, str] | None = None,
    delay_s: float = 0,
) -> HttpFailure:
    """Make an HTTP error, such as `error(529, "overloaded_error", "Overloaded")`."""
    return HttpFailure(status, error_type, message, headers or {}, delay_s)


def message(answer: Reply, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole message, as a request without `stream` gets it."""
    return {
        **_envelope(answer, request),
        "content": [_block(block) for block in answer.blocks],
        **_ending(answer, request),
    }


def events(answer: Reply, request: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the server-sent events that carry the message."""
    yield _event("message_start", message=_envelope(answer, request))
    for index, block in enumerate(answer.blocks):
        yield from _block_events(index, block)
    usage = {"output_tokens": answer.tokens_out}
    yield _event("message_delta", delta=_ending(answer, request), usage=usage)
    yield _event("message_stop")


def error_body(failure: HttpFailure) -> dict[str, Any]:
    """Return the JSON body of an error answer."""
    return {
        "type": "error",
        "error": {"type": failure.error_type, "message": failure.message},
    }


def _ending(answer: Reply, request: Mapping[str, Any]) -> dict[str, Any]:
    ending = {"stop_reason": answer.reason, "stop_sequence": None}
    if not request.get("safeguards"):
        return ending
    # Seen in Claude Code 2.1.330: in auto mode it has the API review the tool calls and
    # runs none that comes back without a verdict.
    verdicts = {
        block.call_id: _verdict(block)
        for block in answer.blocks
        if isinstance(block, ToolUse)
    }
    status = {"type": "available", "tool_uses": verdicts}
    return {
        **ending,
        "safeguard_results": [{"type": "dangerous_tool_use", "status": status}],
    }


def _verdict(call: ToolUse) -> dict[str, str]:
    if call.flagged is None:
        return {"type": "evaluated", "outcome": "not_flagged"}
    return {"type": "evaluated", "outcome": "flagged", "explanation": call.flagged}


def _envelope(answer: Reply, request: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": f"msg_stage_{uuid.uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": str(request.get("model", "")),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": answer.tokens_in,
            "cache_read_input_tokens": answer.tokens_cached,
            "output_tokens": answer.tokens_out,
        },
    }


def _block(block: Text | ToolUse) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    return {
        "type": "tool_use",
        "id": block.call_id,
        "name": block.name,
        "input": dict(block.arguments),
    }


def _block_events(index: int, block: Text | ToolUse) -> Iterator[bytes]:
    whole = _block(block)
    if isinstance(block, Text):
        start = {**whole, "text": ""}
        delta = {"type": "text_delta", "text": block.text}
    else:
        start = {**whole, "input": {}}
        delta = {
            "type": "input_json_delta",
            "partial_json": json.dumps(whole["input"]),
        }
    yield _event("content_block_start", index=index, content_block=start)
    yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(kind: str, **data: object) -> bytes:
    body = json.dumps({"type": kind, **data})
    return f"event: {kind}\ndata: {body}\n\n".encode()
