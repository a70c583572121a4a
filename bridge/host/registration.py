"""Which hooks are registered for which events: one table for settings and plugin alike.

Source: Claude Code hooks reference, "Configuration"; measured on 2.1.330: the exec form
(`args`) starts no shell of its own, timeouts are in seconds, `asyncRewake` wakes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


# Without the two texts the model reads of a "Stop hook error".
WAKE = {
    "asyncRewake": True,
    "rewakeSummary": "hostbridge: a program asks",
    "rewakeMessage": "A notice of hostbridge, which the user installed:",
}


@dataclass(frozen=True, slots=True)
class Hook:
    """One registration."""

    event: str
    script: str
    matcher: str | None = None
    wakes: bool = False
    timeout_s: int = 30


HOOKS = (
    Hook("SessionStart", "always"),
    Hook("SessionEnd", "always"),
    Hook("FileChanged", "bell", matcher="wake", wakes=True),
    Hook("UserPromptSubmit", "turn"),
    Hook("Stop", "turn"),
    Hook("PreToolUse", "tool-start", matcher="*"),
    Hook("PreToolUse", "always", matcher="Agent|SubagentHandback"),
    Hook("PostToolUse", "tool-end", matcher="*"),
    Hook("PostToolUse", "agent-event", matcher="Agent"),
    Hook("PostToolUseFailure", "tool-end", matcher="Bash"),
    Hook("PostToolUseFailure", "agent-event", matcher="Agent"),
    Hook("PermissionRequest", "agent-event", matcher="*"),
    Hook("SubagentStop", "agent-event"),
    Hook("StopFailure", "agent-event"),
)


def entries(prefix: str, arguments: tuple[str, ...]) -> dict[str, list[dict[str, Any]]]:
    """The `hooks` object: scripts under `prefix`, each with event and `arguments`."""
    table: dict[str, list[dict[str, Any]]] = {}
    for hook in HOOKS:
        command: dict[str, Any] = {
            "type": "command",
            "command": f"{prefix}/{hook.script}",
            "args": [hook.event, *arguments],
            "timeout": hook.timeout_s,
        }
        if hook.wakes:
            command |= WAKE
        entry: dict[str, Any] = {"hooks": [command]}
        if hook.matcher is not None:
            entry = {"matcher": hook.matcher, **entry}
        table.setdefault(hook.event, []).append(entry)
    return table
