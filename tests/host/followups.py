"""Follow-ups: asked, offered, and sent to an idle agent."""

from typing import Any

from hookworld import HookWorld
from hostworld import HostWorld

from bridge.protocol.ids import RequestId
from bridge.store.idle_agents import IdleAgent, all_idle

# What it answers next; of the same words again there is a test of its own.
AGAIN = '{"status": "success", "summary": "again"}'
REUSING = "description: d\nprompt: Be short. {{ task }}\n"


def idle(world: HookWorld | HostWorld) -> list[IdleAgent]:
    """The agents that may be asked again."""
    with world.store.state() as state:
        return sorted(all_idle(state), key=lambda each: each.agent_id)


def offered(world: HookWorld, text: str = "hi") -> str:
    """What a prompt of the user's has the model told."""
    said = world.say("UserPromptSubmit", prompt=text)
    output: dict[str, str] = said.get("hookSpecificOutput", {})
    return output.get("additionalContext", "")


def followed(
    world: HookWorld, earlier: str, prompt: str = "And why?", **fields: Any
) -> tuple[RequestId, str]:
    """Ask on, and have it offered; the request and the offer."""
    request = world.submit(prompt, continues=earlier, **fields)
    return request, offered(world)


def resumed(world: HookWorld, earlier: str, agent: str) -> tuple[RequestId, str]:
    """Ask on, and have the agent work again; the request and the call."""
    request, _ = followed(world, earlier)
    call, output = world.send(request, agent)
    world.resume(call, agent, output)
    return request, call


def asked_again(
    world: HookWorld, earlier: str, agent: str, words: str = AGAIN
) -> RequestId:
    """Ask on, and have the agent answer; the request."""
    request, call = resumed(world, earlier, agent)
    world.stop(agent, words)
    world.notice(agent, **{"tool-use-id": call})
    return request
