"""An agent with a definition, `worker`, in a world of hooks."""

from pathlib import Path
from typing import Any

from hookworld import HookWorld

WORKER = 'prompt: "As told: {{ task }}"\n'


def define(world: HookWorld, more: str = "", *, project: bool = False) -> Path:
    """Write the definition of `worker`."""
    if not project:
        return world.define("worker", WORKER + more)
    file = world.project / ".bridge" / "agents" / "worker.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"name: worker\n{WORKER}{more}")
    return file


def call(world: HookWorld, request: str) -> dict[str, Any]:
    """The rewritten call, or the denial."""
    return world.call_agent(f"bridge:{request}", tool_use_id=f"toolu-{request}")


def started(world: HookWorld, more: str | None = None) -> str:
    """A running agent of `worker`, which is defined so, or was before."""
    if more is not None:
        define(world, more)
    return world.begin(prompt="Do it.", agent="worker")[2]


def use(
    world: HookWorld, agent: str, tool: str, number: int | str = 0, **arguments: Any
) -> tuple[Any, bool]:
    """A tool call: why it is denied, or None; whether the agent goes on."""
    said = world.use(agent, tool, tool_use_id=f"t{number}", tool_input=arguments)
    output = said.get("hookSpecificOutput", {})
    return output.get("permissionDecisionReason"), said.get("continue", True)
