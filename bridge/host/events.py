"""What a hook gets: one JSON object on stdin, read leniently.

Fields come and go between versions of the client. A field of the wrong type counts as
absent; unknown ones are ignored.

Source: Claude Code hooks reference, "Hook input"; measured on 2.1.330.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from bridge.bound.call_notes import as_call, name_of
from bridge.policy.tool_classes import DECIDED_ONCE, QUESTION
from bridge.protocol import plain_json
from bridge.protocol.ids import is_id


class HookEvent(NamedTuple):
    """One event from the client."""

    raw: dict[str, Any]

    @classmethod
    def parse(cls, data: bytes) -> HookEvent | None:
        """Read an event; None for anything that is not one."""
        try:
            value = plain_json.loads(data)
        except plain_json.JSONDecodeError:
            value = _lenient(data)
        return cls(as_call(value)) if isinstance(value, dict) else None

    def text(self, key: str) -> str:
        """A string field; empty when absent."""
        value = self.raw.get(key)
        return value if isinstance(value, str) else ""

    def table(self, key: str) -> dict[str, Any]:
        """An object field; empty when absent."""
        value = self.raw.get(key)
        return value if isinstance(value, dict) else {}

    @property
    def name(self) -> str:
        """The event, as Claude Code spells it."""
        return self.text("hook_event_name")

    @property
    def is_startup(self) -> bool:
        """Whether a new session begins, not one that is resumed or cleared."""
        return self.name == "SessionStart" and self.text("source") == "startup"

    @property
    def agent_id(self) -> str:
        """The subagent it happened in; empty in the main thread."""
        return self.text("agent_id")

    @property
    def tool(self) -> str:
        """The name of the tool."""
        return self.text("tool_name")

    @property
    def is_decided_once(self) -> bool:
        """Whether no later event can decide it; a person answers only once, too."""
        return self.name in DECIDED_ONCE or self.tool == QUESTION

    @property
    def command(self) -> str:
        """What a call of Bash runs; empty for any other."""
        found = self.table("tool_input").get("command")
        return found if isinstance(found, str) else ""

    @property
    def tool_use_id(self) -> str:
        """The id of the call, as a safe name; empty when absent."""
        return name_of(self.raw.get("tool_use_id"))

    @property
    def background_ids(self) -> frozenset[str] | None:
        """Ids of running background tasks; None if the client does not send them."""
        tasks = self.raw.get("background_tasks")
        if not isinstance(tasks, list):
            return None
        return frozenset(
            task["id"]
            for task in tasks
            if isinstance(task, dict) and isinstance(task.get("id"), str)
        )

    @property
    def is_agent_call(self) -> bool:
        """Whether the tool starts a subagent; it has been renamed once."""
        return self.tool in ("Agent", "Task")

    def subagent_file(
        self, agent_id: str, suffix: str, *, session: str = ""
    ) -> Path | None:
        """A file that the client keeps about a subagent; None if it says not where.

        It is kept with the session of the event, or with the one that is named.
        """
        own, whole = self.text("agent_transcript_path"), self.text("transcript_path")
        if not is_id(agent_id) or not (own or whole):
            return None
        folder = Path(own).parent.parent if own else Path(whole.removesuffix(".jsonl"))
        if session:
            folder = folder.parent / session
        return folder / "subagents" / f"agent-{agent_id}{suffix}"


def _lenient(data: bytes) -> Any:
    """Decode what orjson refuses: lone surrogates and bytes that are not UTF-8."""
    import json

    try:
        text = json.dumps(
            json.loads(data.decode("utf-8", "replace")), ensure_ascii=False
        )
        # Lone surrogates have no UTF-8 form.
        valid = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return json.loads(valid)
    except (ValueError, RecursionError):
        return None
