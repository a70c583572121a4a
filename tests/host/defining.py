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
    given = {"description": "b", "prompt": f"bridge:{request}"}
    said = world.say(
        "PreToolUse",
        tool_name="Agent",
        tool_input=given,
        tool_use_id=f"toolu-{request}",
    )
    output: dict[str, Any] = said["hookSpecificOutput"]
    return output


def started(world: HookWorld, **fields: Any) -> str:
    """A running agent of `worker`."""
    request = world.submit("Do it.", agent="worker", **fields)
    world.say("UserPromptSubmit", prompt="hello")
    return world.start(world.launch(request))


def use(world: HookWorld, agent: str, tool: str, number: int = 0, **given: Any) -> Any:
    """A tool call in the agent: why it is denied, or None."""
    said = world.say(
        "PreToolUse",
        agent_id=agent,
        tool_name=tool,
        tool_use_id=f"t{number}",
        tool_input=given,
    )
    output = said.get("hookSpecificOutput", {})
    return output.get("permissionDecisionReason"), said.get("continue", True)


def may(world: HookWorld, agent: str, tool: str, **given: Any) -> Any:
    """The answer to a permission dialog."""
    said = world.say(
        "PermissionRequest", agent_id=agent, tool_name=tool, tool_input=given
    )
    return said["hookSpecificOutput"]["decision"]["behavior"]
