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

from bridge.bound.folder_trust import is_trusted
from bridge.config import Settings
from bridge.protocol.record import json_object
from bridge.store.location import Place
from bridge.store.plain_file import open_plain

_MANAGED = "/etc/claude-code/managed-settings.json"
_MAX_BYTES = 1 << 20


def rules_of(
    settings: Settings, place: Place, behavior: Literal["allow", "ask", "deny"]
) -> list[str]:
    """Every rule of a kind that counts for a project's sessions.

    What a project's own files allow counts as for the client: if its folder is trusted.
    """
    *users, shared, local = settings_files(settings.claude_dir, place.project)
    found = [rule for file in users for rule in rules_in(file, behavior)]
    of_project = [rule for file in (shared, local) for rule in rules_in(file, behavior)]
    if of_project and (behavior != "allow" or is_trusted(settings, place)):
        found += of_project
    return found


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
