"""What an agent of a session looks at, and whether its answer is reused."""

import time
from typing import Any

from cachedworld import TICK_S
from hookworld import HookWorld

from bridge import CannotWaitHere

UNCHECKED = "unknown: it rests on something that cannot be checked: "
UNREAD = "unknown: what it rests on could not be read: "
MEANWHILE = "unknown: something that it rests on changed while the agent worked: "


def write(world: HookWorld, path: str, text: str = "one\n") -> None:
    file = world.project / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def answered(world: HookWorld, *calls: tuple[str, dict[str, Any]], **more: Any):
    """Ask; the agent makes these calls and answers. The request."""
    time.sleep(TICK_S)
    request, _call, agent = world.begin(prompt="Look.")
    for tool, tool_input in calls:
        call = {"tool_name": tool, "tool_use_id": f"toolu_{tool}", **more}
        fields = {**call, "tool_input": tool_input, "agent_id": agent}
        assert world.say("PreToolUse", **fields) == {}
        world.say("PostToolUse", **fields, tool_response={})
    world.stop(agent)
    assert world.code(request) == "success"
    time.sleep(TICK_S)
    return request


def working(world: HookWorld, *calls: tuple[str, dict[str, Any]], **more: Any):
    """Ask; the agent makes these calls and goes on. The request, and the agent."""
    time.sleep(TICK_S)
    request, _call, agent = world.begin(prompt="Look.", **more)
    for tool, tool_input in calls:
        world.use(agent, tool, tool_input=tool_input)
    return request, agent


def define(world: HookWorld, more: str) -> None:
    """The definition of the agent `terse`, with a line more."""
    file = world.home / ".hostbridge/agents/terse.yaml"
    file.parent.mkdir(mode=0o700, exist_ok=True)
    file.write_text(f"name: terse\nprompt: '{{{{ task }}}}'\n{more}\n")


def reads(world: HookWorld, path: str) -> tuple[str, dict[str, Any]]:
    return "Read", {"file_path": str(world.project / path)}


def reasons(world: HookWorld) -> list[str]:
    (standing,) = world.bridge.stale()
    return [f"{reason.what}: {reason.about}" for reason in standing.reasons]


def is_reused(world: HookWorld, *, timeout_s: float = 60) -> bool:
    """Whether the question has an answer at once; the session answers no other."""
    try:
        return world.bridge.ask("Look.", cached=True, timeout_s=timeout_s).cached
    except CannotWaitHere:
        return False
