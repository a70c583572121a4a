"""A hook process that is killed at any moment loses nothing."""

import json
import signal
import time
from collections.abc import Callable

import pytest
from hookprocesses import IDS, INSTALLED, start, words
from hookworld import GOOD, HookWorld

from bridge.host.hook_table import HOOKS
from bridge.store import idle_agents

pytestmark = pytest.mark.slow

VICTIMS = ("UserPromptSubmit:turn", "PreToolUse:agent-call", "SubagentStop:agent-event")
AGAIN = (
    VICTIMS[0],
    "PreToolUse:agent-call:SendMessage",
    "PostToolUse:agent-event:SendMessage",
    VICTIMS[2],
)
DELAYS_S = [0.0, 0.03, 0.06, 0.09, 0.12, 0.15, 0.18, 0.21, 0.25, 0.3]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_hook_that_is_killed_loses_nothing(world, number):
    """At each stage of offer, launch and capture; fresh processes finish the work."""
    for delay_s in DELAYS_S:
        for victim in VICTIMS:
            request = world.submit()
            served = _serve(world, request, victim, delay_s, number)
            assert served == "success", (victim, delay_s)


def test_a_hook_that_is_killed_loses_no_follow_up(world):
    """The agent is asked once, and nobody else has it meanwhile."""
    for delay_s in DELAYS_S[::3]:
        last = world.submit()
        assert _serve(world, last, "", 0, 0) == "success"
        for victim in AGAIN:
            with world.store.state() as state:
                idle = idle_agents.find_after(state, last)
            assert idle is not None, (victim, delay_s)
            # In words of its own: the client repeats what an agent said last.
            words = json.dumps({"status": "success", "summary": f"{victim} {delay_s}"})
            before, last = last, world.submit("And?", continues=last)
            served = _ask_again(world, last, idle.agent_id, victim, delay_s, words)
            assert served == "success", (victim, delay_s)
            continued = world.response(last).continued
            assert (continued.agent_id, continued.after) == (idle.agent_id, before)


@pytest.mark.parametrize("victim", ["UserPromptSubmit:turn", "Stop:turn"])
def test_a_hook_that_is_killed_as_it_hears_a_missed_end_loses_no_answer(world, victim):
    """The next one hears it; the answer is published once."""
    event = victim.partition(":")[0]
    fields = {"prompt": "hello", "background_tasks": []}
    for delay_s in [*DELAYS_S, 0.4, 0.5, 0.7]:
        request, agent = world.working()
        world.says(agent, "msg_1", text=GOOD, stop_reason="end_turn")
        world.finishes(agent)
        fire = _firing(world, victim, delay_s, signal.SIGKILL)
        fire(victim, event, **fields)

        world.fire(event, **fields)

        assert world.response(request).raw_output == GOOD, delay_s
        world.notice(agent)
    assert world.runs() == []


def _ask_again(
    world: HookWorld, request: str, agent: str, victim: str, delay_s: float, words: str
) -> str | None:
    """One follow-up, start to end, where the first process of one hook is killed."""
    fire = _firing(world, victim, delay_s, signal.SIGKILL)
    fire("UserPromptSubmit:turn", "UserPromptSubmit", prompt="hello")
    world.fire("Stop", background_tasks=[])
    call = f"call-{request}"
    message = {"to": agent, "message": f"bridge:{request}"}
    tool = {"tool_name": "SendMessage", "tool_use_id": call, "tool_input": message}
    fire("PreToolUse:agent-call:SendMessage", "PreToolUse", **tool)
    _, output = world.send(request, agent, tool_use_id=call)
    assert output["permissionDecision"] == "allow", output
    sent = {
        **tool,
        "tool_input": output["updatedInput"],
        "tool_response": {"success": True, "resumedAgentId": agent},
    }
    world.hears(agent, output["updatedInput"]["message"])
    fire("PostToolUse:agent-event:SendMessage", "PostToolUse", **sent)
    end = {"agent_id": agent, "last_assistant_message": words}
    fire("SubagentStop:agent-event", "SubagentStop", **end)
    world.notice(agent, **{"tool-use-id": call, "result": words})
    return world.code(request)  # type: ignore[arg-type]


def _firing(
    world: HookWorld, victim: str, delay_s: float, number: int
) -> Callable[..., None]:
    """What fires an event; one hook is a process that is killed, the first time."""

    def fire(name, event, **fields):
        if name == victim:
            # Of a fork, only what stands for it would be killed at this moment.
            hook = HOOKS[IDS.index(name)]
            with start(words(hook, form=INSTALLED)) as process:
                process.stdin.write(json.dumps(world.event(event, **fields)).encode())
                process.stdin.close()
                time.sleep(delay_s)
                process.send_signal(number)
        else:
            world.fire(event, **fields)

    return fire


def _serve(
    world: HookWorld, request: str, victim: str, delay_s: float, number: int
) -> str | None:
    """One request, start to end, where the first process of one hook is killed."""
    fire = _firing(world, victim, delay_s, number)
    fire("UserPromptSubmit:turn", "UserPromptSubmit", prompt="hello")
    world.fire("Stop", background_tasks=[])
    call = f"call-{request}"
    arguments = {"description": "b", "prompt": f"bridge:{request}"}
    tool = {"tool_name": "Agent", "tool_use_id": call, "tool_input": arguments}
    fire("PreToolUse:agent-call", "PreToolUse", **tool)
    # Without an answer from the hook the client would run the call as it stands; here
    # it asks again, as it does for a hook that is registered twice.
    world.fire("PreToolUse", **tool)
    agent = world.start(call)
    end = {"agent_id": agent, "last_assistant_message": GOOD}
    fire("SubagentStop:agent-event", "SubagentStop", **end)
    world.notice(agent, **{"tool-use-id": call, "result": GOOD})
    return world.code(request)  # type: ignore[arg-type]
