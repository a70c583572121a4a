"""Which agents an open session knows by name: the client's own, and Claude Code agents.

A name that nobody knows is an error with near matches before anything is asked; the
client itself has the last word when the agent is launched. Agents of a plugin are named
`plugin:name`; those of plugins that a session loaded by flag cannot be seen from here,
so any name of that form is let through.

Source: Claude Code subagents reference, "File locations"; measured on 2.1.330.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.errors import InvalidRequest, UnknownAgent
from bridge.protocol.names import GENERAL, MODEL_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.agents.registry import Registry

BUILT_IN = frozenset(
    {GENERAL, "Explore", "Plan", "claude", "statusline-setup", "claude-code-guide"}
)

# A sentence that names more is not read.
MAX_NAMED = 40


def is_clients_own(name: str) -> bool:
    """Whether only the client has the words of such an agent: built in, or a plugin's.

    general-purpose has none to speak of: it is whatever is asked.
    """
    return name != GENERAL and (name in BUILT_IN or ":" in name)


def check_agent(name: str, registry: Registry) -> None:
    """Let an agent pass that the client knows.

    Raises:
        UnknownAgent: nobody knows the name; names near matches.
    """
    if name == GENERAL or is_clients_own(name) or name in registry.client_agents():
        return
    known = {*BUILT_IN, *registry.names()}
    raise UnknownAgent(f"no agent is named {name!r}; {nearest(name, known)}")


def check_away(name: str, route: str, registry: Registry) -> None:
    """Let an agent pass that a route of ours can serve without a definition.

    The route claude is a client of its own, and has what every client has.

    Raises:
        UnknownAgent: the agent has words, and they are not to be had there; or nobody
            knows the name.
    """
    if name == GENERAL or (route == "claude" and is_clients_own(name)):
        return
    here = BUILT_IN if route == "claude" else {GENERAL}
    near = nearest(name, {*here, *registry.names()})
    if is_clients_own(name):
        whose = "a plugin's" if ":" in name else "Claude Code's own"
        raise UnknownAgent(
            f"agent {name!r} is {whose}: the route {route} does not have its "
            f"prompt; ask by --route host or claude, or another agent: {near}"
        )
    raise UnknownAgent(f"no agent is named {name!r}; {near}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Which of the known names may be meant; where none is near, what there is."""
    # Hooks use this module, too, and have no time for that one.
    from difflib import get_close_matches

    names = sorted(known)
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    rest = len(names) - MAX_NAMED
    more = f" and {rest} more (hostbridge agents list)" if rest > 0 else ""
    return f"known agents are: {', '.join(names[:MAX_NAMED])}{more}"


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
