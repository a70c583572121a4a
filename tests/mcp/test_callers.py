"""What an agent may start depends on what kind of agent it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mcpworld import call_from, run, text_of

if TYPE_CHECKING:
    from hookworld import HookWorld
    from mcp.client import Client


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("general-purpose", "general-purpose ("),
        ("Explore", "cannot_wait: this runs inside the only open session"),
        ("Plan", "cannot_wait: this runs inside the only open session"),
    ],
)
def test_who_has_no_tool_agent_is_not_told_to_call_it(world: HookWorld, kind, says):
    """The user's own agents call the server, too."""

    async def steps(client: Client) -> None:
        told = await call_from(
            world, client, "start_agent", {"prompt": "Count."}, agent="a1", kind=kind
        )

        assert text_of(told).startswith(says)

    run(steps, world.project)
