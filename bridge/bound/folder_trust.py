"""Whether Claude Code trusts the files of a project.

`claude -p` does not ask: it runs the hooks, the key helper and the MCP servers of any
folder that it is started in. A session at a terminal asks first and keeps the answer in
its own record, which is what counts here.

    {"projects": {"/home/u/app": {"hasTrustDialogAccepted": true}}}

A folder is listed by its real path; a repository by its top folder, and a linked
worktree by its main one. That a folder above is trusted does not matter.

Source: measured on Claude Code 2.1.330, by what it says of `permissions.allow`.
"""

import json

from bridge.config import Settings
from bridge.store.location import Place
from bridge.store.plain_file import open_plain


def is_trusted(settings: Settings, place: Place) -> bool:
    """Whether the client's record says so; False if it cannot be read."""
    # If both exist the older name wins.
    for file in (settings.claude_dir / ".config.json", settings.claude_record):
        try:
            with open_plain(file) as opened:
                known = json.load(opened)
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
    """What a person should know about a client that we start there, if anything."""
    if is_trusted(settings, place):
        return None
    return (
        f"Claude Code does not trust {place.owner}: its settings, hooks, agents, MCP "
        "servers and CLAUDE.md are not used; to have them used, start `claude` there "
        "once and accept"
    )
