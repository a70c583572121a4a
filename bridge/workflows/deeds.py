"""What the actions of steps do outside of their workflow: call a tool, ask an agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridge.policy.step_record import Action
    from bridge.tasks.tool_deeds import ToolContext
    from bridge.workflows.conversation import Act

    Json = dict[str, Any]
    # What the agent is given, and the key of the deed -> what it came to.
    Spawn = Callable[[Json, str], Any]


def acting(context: ToolContext, spawn: Spawn | None = None) -> Act:
    """Do actions: calls of our tools here, agents by `spawn`.

    A deed that is done again under its key changes nothing again.
    """

    def act(action: Action, given: Json, key: str) -> Any:
        if action["do"] == "spawn_agent":
            if spawn is None:
                raise ValueError("no agent can be started here")
            return spawn(given, key)
        # Late: a hook that calls no tool need not load the tasks.
        from bridge.tasks.tool_table import call

        return call(context, action["tool"], given, key=key)

    return act
