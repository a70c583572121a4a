"""An agent that stands on another, its `base`: more words, never more rights. Pure.

It may do what the base may do, without what its own definition takes away. What only
the client has (its own agents, a plugin's, in a session those of `.claude/agents`) runs
it there.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from bridge.agents.agent_names import OF_PROJECT
from bridge.protocol.names import GENERAL

if TYPE_CHECKING:
    from bridge.agents.definition import Definition, Source
    from bridge.routes import RouteName


def on_base(
    own: Definition, base: Definition | None, routes: tuple[RouteName, ...] | None
) -> Definition:
    """The definition that runs.

    `base` is None where only the client has it, which then may take only `routes`.
    """
    if base is None:
        carrier = None if own.base == GENERAL else own.base
        changed = {"subagent_type": carrier, "routes": routes or own.routes}
        return own.model_copy(update=changed)
    words = filter(None, (base.system_prompt, own.system_prompt))
    model = own if own.model else base
    inherited: dict[str, Any] = {
        "name": own.name,
        "description": own.description,
        "base": own.base,
        "source": _source(own.source, base.source),
        "system_prompt": "\n\n".join(words) or None,
        "model": model.model,
        "model_digest": model.model_digest,
        "tools": _both(own.tools, base.tools),
        "blocked_tools": (*base.blocked_tools, *own.blocked_tools),
        "max_turns": min(filter(None, (own.max_turns, base.max_turns)), default=None),
    }
    return base.model_copy(update=inherited)


def _both(own: tuple[str, ...] | None, base: tuple[str, ...] | None) -> Any:
    if own is None or base is None:
        return base if own is None else own
    return tuple(tool for tool in own if tool in base)


def _source(own: Source, base: Source) -> Source:
    """Where it was read; a project's definition stays one, whatever it stands on."""
    digest = hashlib.sha256(f"{own.digest} {base.digest}".encode()).hexdigest()
    layer = own.layer if own.layer in OF_PROJECT else base.layer
    return own.model_copy(update={"layer": layer, "digest": digest})
