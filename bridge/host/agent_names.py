"""Which agents an open session knows by name: the client's own, and Claude Code agents.

A name that nobody knows is an error with near matches before anything is asked; the
client itself has the last word when the agent is launched. Agents of a plugin are named
`plugin:name`; those of plugins that a session loaded by flag cannot be seen from here,
so any name of that form is let through.

Source: Claude Code subagents reference, "File locations"; measured on 2.1.330.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.errors import InvalidRequest, UnknownAgent
from bridge.protocol.names import GENERAL, MODEL_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BUILT_IN = frozenset(
    {GENERAL, "Explore", "Plan", "statusline-setup", "claude-code-guide"}
)

_NAME = re.compile(r"^name:[ \t]*[\"']?([^\"'\n]+?)[\"']?[ \t]*$", re.M)
_MAX_HEAD = 16_384


def known_agents(project: Path, claude_dir: Path) -> dict[str, Path | None]:
    """Names of agents, with the file that defines each; None for the client's own."""
    found: dict[str, Path | None] = dict.fromkeys(BUILT_IN)
    for folder in (claude_dir / "agents", project / ".claude" / "agents"):
        for file in sorted(folder.rglob("*.md")):
            name = _declared_name(file)
            if name:
                found[name] = file
    return found


def check_agent(
    name: str,
    project: Path,
    claude_dir: Path,
    defined: Callable[[], list[str]] = list,
) -> None:
    """Let an agent pass that the client knows.

    `defined` gives the names that hostbridge itself knows, for the error alone.

    Raises:
        UnknownAgent: nobody knows the name; names near matches.
    """
    if name in BUILT_IN or ":" in name:
        return
    known = known_agents(project, claude_dir)
    if name in known:
        return

    # Hooks use this module, too, and have no time for that one.
    from difflib import get_close_matches

    names = sorted({*known, *defined()})
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "known agents are: "
    listed = "" if near else ", ".join(names)
    raise UnknownAgent(f"no agent is named {name!r}; {hint}{listed}")


def check_model(name: str) -> None:
    """Let a model pass that the session's Agent tool takes.

    Raises:
        InvalidRequest: it takes no model of this name; names near matches.
    """
    known = sorted(MODEL_NAMES)
    if name in known:
        return

    from difflib import get_close_matches

    # A model's full name, such as claude-opus-4-1, holds the short one.
    near = [short for short in known if short in name.lower()]
    near = near or get_close_matches(name.lower(), known, n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else "known models are: "
    listed = "" if near else ", ".join(known)
    raise InvalidRequest(f"an open session knows no model {name!r}; {hint}{listed}")


def _declared_name(file: Path) -> str | None:
    """The `name` in a Markdown agent's frontmatter."""
    try:
        with file.open(encoding="utf-8", errors="replace") as stream:
            head = stream.read(_MAX_HEAD)
    except OSError:
        return None
    if not head.startswith("---"):
        return None
    match = _NAME.search(head.split("\n---", 1)[0])
    return match[1] if match else None
