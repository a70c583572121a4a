"""An agent with a definition, `worker`, in a world of hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from hookworld import HookWorld


WORKER = """\
name: worker
prompt: "As told: {{ task }}"
"""


def define(world: HookWorld, more: str = "", *, project: bool = False) -> Path:
    """Write the definition of `worker`."""
    parts = (".bridge", "agents") if project else (".hostbridge", "agents")
    folder = (world.project if project else world.home).joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "worker.yaml"
    file.write_text(WORKER + more)
    return file


def call(world: HookWorld, request: str) -> dict[str, Any]:
    """The rewritten call, or the denial."""
    return world.call_agent(f"bridge:{request}", tool_use_id=f"toolu-{request}")


def started(world: HookWorld) -> str:
    """A running agent of `worker`."""
    return world.begin(prompt="Do it.", agent="worker")[2]


def use(
    world: HookWorld, agent: str, tool: str, number: int | str = 0, **arguments: Any
) -> tuple[Any, bool]:
    """A tool call: why it is denied, or None; whether the agent goes on."""
    said = world.use(agent, tool, tool_use_id=f"t{number}", tool_input=arguments)
    output = said.get("hookSpecificOutput", {})
    return output.get("permissionDecisionReason"), said.get("continue", True)
