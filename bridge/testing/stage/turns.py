"""One request of the client, and who in the client asks it.

The client sends more than the turns a person sees. `ApiRequest.role` tells them apart:

- `main`: a turn of the conversation itself,
- `subagent`: a turn of an agent it started (header `x-claude-code-agent-id`),
- `side`: everything else: the title of the session, auto mode's reviews, summaries,
  warm-ups. They carry no tools, force one, ask for a single token or for a summary.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

AGENT_HEADER = "x-claude-code-agent-id"
SESSION_HEADER = "x-claude-code-session-id"

Role = Literal["main", "subagent", "side"]


@dataclass(frozen=True, slots=True)
class SeenToolResult:
    """What one tool call gave back to the model."""

    call_id: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request as it arrived. `time_s` is `time.monotonic()`, names are lower case."""

    time_s: float
    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    size_bytes: int

    @property
    def agent_id(self) -> str | None:
        """The subagent that asks, or None for the main thread."""
        return self.headers.get(AGENT_HEADER)

    @property
    def session_id(self) -> str | None:
        """The session of the client that asks."""
        return self.headers.get(SESSION_HEADER)

    @property
    def model(self) -> str:
        """The model asked for."""
        return str(self.body.get("model", ""))

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        """The conversation so far, oldest first."""
        return list(self.body.get("messages") or [])

    @property
    def tools(self) -> frozenset[str]:
        """Names of the tools offered."""
        offered = self.body.get("tools") or []
        return frozenset(str(tool.get("name", "")) for tool in offered)

    @property
    def role(self) -> Role:
        """Who asks; see the module's docstring."""
        forced = (self.body.get("tool_choice") or {}).get("type") in {"tool", "any"}
        if forced or not self.tools or self.body.get("max_tokens") == 1:
            return "side"
        if self.is_summary:
            return "side"
        return "subagent" if self.agent_id else "main"

    @property
    def is_summary(self) -> bool:
        """Whether the client wants its conversation summarised, to compact it.

        Such a request looks like a turn of the conversation, tools included.
        """
        return "<summary> block" in self.last_user_text[-2000:]

    @property
    def system_text(self) -> str:
        """The system prompt."""
        return "\n".join(_texts(self.body.get("system")))

    @property
    def prompt(self) -> str:
        """What the conversation began with: in a subagent, the prompt it got."""
        for item in self.messages:
            if item.get("role") == "user":
                return _bare_text(item)
        return ""

    @property
    def newest_text(self) -> str:
        """Everything said to the model since its last own words.

        That is prompts, tool results and reminders, in user and in system messages.
        """
        return "\n".join(
            words for item in self._newest() for words in _texts(item.get("content"))
        )

    @property
    def heard_text(self) -> str:
        """Everything that was ever said to the model in this conversation."""
        return "\n".join(
            words
            for item in self.messages
            if item.get("role") != "assistant"
            for words in _texts(item.get("content"))
        )

    @property
    def last_user_text(self) -> str:
        """The newest words of a person: no tool results, no reminders."""
        for item in reversed(self.messages):
            if item.get("role") == "user" and (words := _bare_text(item)):
                return words
        return ""

    @property
    def tool_results(self) -> list[SeenToolResult]:
        """The tool results since the model's last own words."""
        return [
            SeenToolResult(
                str(block.get("tool_use_id", "")),
                "\n".join(_texts(block.get("content"))),
                bool(block.get("is_error")),
            )
            for item in self._newest()
            for block in _blocks(item.get("content"))
            if block.get("type") == "tool_result"
        ]

    @property
    def own_calls(self) -> list[Mapping[str, Any]]:
        """Every `tool_use` block the model itself made so far, oldest first."""
        return [
            block
            for item in self.messages
            if item.get("role") == "assistant"
            for block in _blocks(item.get("content"))
            if block.get("type") == "tool_use"
        ]

    def contains(self, needle: str) -> bool:
        """Tell whether `needle` is anywhere in the conversation or system prompt."""
        quoted = json.dumps(needle, ensure_ascii=False)[1:-1]
        return quoted in json.dumps(
            [self.body.get("system"), self.messages], ensure_ascii=False
        )

    def _newest(self) -> list[Mapping[str, Any]]:
        newest: list[Mapping[str, Any]] = []
        for item in reversed(self.messages):
            if item.get("role") == "assistant":
                break
            newest.append(item)
        return newest[::-1]


def _blocks(content: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))


def _bare_text(item: Mapping[str, Any]) -> str:
    """Return the text of a message without the blocks that the client put around it."""
    return "\n".join(
        block["text"]
        for block in _blocks(item.get("content"))
        if block.get("type") == "text"
        and not block["text"].startswith("<system-reminder>")
    )


def _texts(content: object) -> Iterator[str]:
    for block in _blocks(content):
        if block.get("type") == "text":
            yield str(block.get("text", ""))
        elif block.get("type") == "tool_result":
            yield from _texts(block.get("content"))
