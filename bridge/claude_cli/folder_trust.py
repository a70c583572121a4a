"""Whether the user lets Claude Code obey the files of a project.

`claude -p` asks nobody: it runs the hooks, the key helper and the MCP servers of any
folder that it is started in. A session at a terminal asks first and keeps the answer in
its own record, which is all that can be gone by.

    {"projects": {"/home/u/app": {"hasTrustDialogAccepted": true}}}

The folder counts by its real path; a repository by its top folder, and a linked
worktree by its main one. A folder above that is trusted says nothing.

Source: measured on Claude Code 2.1.330, by what it says of `permissions.allow`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.store.location import Place


def is_trusted(settings: Settings, place: Place) -> bool:
    """Whether the client's record says so; False where it cannot be read."""
    # The older name wins where both are there.
    for file in (settings.claude_dir / ".config.json", settings.claude_record):
        try:
            known = json.loads(file.read_bytes())
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError):
            return False
        try:
            return known["projects"][str(place.owner)]["hasTrustDialogAccepted"] is True
        except (KeyError, TypeError):
            return False
    return False


def note_of(settings: Settings, place: Place) -> str | None:
    """What a person should know of a client of ours there; None for nothing."""
    if is_trusted(settings, place):
        return None
    return (
        f"Claude Code does not trust {place.owner}: its settings, hooks, agents, MCP "
        "servers and CLAUDE.md are not used; to have them used, start `claude` there "
        "once and accept"
    )
