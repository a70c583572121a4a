"""A hook process that is killed at any moment loses nothing."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from hookprocesses import IDS, TABLE, start
from hookworld import GOOD

if TYPE_CHECKING:
    from hookworld import HookWorld

pytestmark = pytest.mark.slow

VICTIMS = ("UserPromptSubmit:turn", "PreToolUse:agent-call", "SubagentStop:agent-event")
DELAYS_S = [0.0, 0.03, 0.06, 0.09, 0.12, 0.15, 0.18, 0.21, 0.25, 0.3]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_hook_that_is_killed_loses_nothing(world, number):
    """At each stage of offer, launch and capture; fresh processes finish the work."""
    for delay_s in DELAYS_S:
        for victim in VICTIMS:
            request = world.submit()
            served = _serve(world, request, victim, delay_s, number)
            assert served == "success", (victim, delay_s)


def _serve(
    world: HookWorld, request: str, victim: str, delay_s: float, number: int
) -> str | None:
    """One request, start to end, where the first process of one hook is killed."""

    def fire(name: str, event: str, **fields: Any) -> None:
        if name == victim:
            with start(TABLE[IDS.index(name)][1]) as process:
                assert process.stdin is not None
                process.stdin.write(json.dumps(world.event(event, **fields)).encode())
                process.stdin.close()
                time.sleep(delay_s)
                process.send_signal(number)
        else:
            world.fire(event, **fields)

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
