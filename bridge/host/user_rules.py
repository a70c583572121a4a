"""What the user allows, or wants to be asked about: rules of the client's settings.

Our "allow" would silently override those that ask (measured on 2.1.330; it does not
override deny rules, plan mode's own refusals and `dontAsk`). Nobody is there to be
asked, so such a call is denied.

Source: Claude Code settings reference, "Permission settings".
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from bridge.protocol.record import json_object
from bridge.store.plain_file import open_plain

_MANAGED = "/etc/claude-code/managed-settings.json"
_MAX_BYTES = 1 << 20


def rules_of(
    claude_dir: Path, project: Path, behavior: Literal["allow", "ask", "deny"]
) -> list[str]:
    """Every rule of a kind that the client's settings files name for a project."""
    files = settings_files(claude_dir, project)
    return [rule for file in files for rule in rules_in(file, behavior)]


def settings_files(claude_dir: Path, project: Path) -> tuple[str, ...]:
    """The client's settings files for a project, there or not."""
    return (
        _MANAGED,
        f"{claude_dir}/settings.json",
        f"{project}/.claude/settings.json",
        f"{project}/.claude/settings.local.json",
    )


def rules_in(file: str, behavior: str) -> Iterator[str]:
    """The rules of one file; none if it is missing or cannot be understood."""
    with suppress(OSError):
        with open_plain(file) as opened:
            text = opened.read(_MAX_BYTES)
        yield from rules_of_text(text, behavior)


def rules_of_text(text: bytes, behavior: str) -> Iterator[str]:
    """The rules in the text of settings; none if it cannot be understood."""
    permissions = json_object(text).get("permissions")
    rules = permissions.get(behavior) if isinstance(permissions, dict) else None
    for rule in rules if isinstance(rules, list) else ():
        if isinstance(rule, str):
            yield rule
