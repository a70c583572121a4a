"""What agents took, from what the client really writes down, and when it does."""

import pytest
from hostworld import HostWorld, host_world

from bridge.protocol.response import Response
from bridge.protocol.usage import Usage
from bridge.store.charges import final_usage
from bridge.testing.stage.models import answering, obedient_model
from bridge.testing.stage.replies import reply, tool_use

pytestmark = pytest.mark.host

GOOD = '{"status": "success", "summary": "s"}'


def charged(world: HostWorld) -> list[int | None]:
    """The tokens that the session is charged, by agent, the least first."""
    (session,) = world.live()
    charges = session.spending.charges.values()
    return sorted((each.tokens for each in charges), key=lambda n: n or 0)


def known_in_the_end(world: HostWorld, response: Response) -> Usage | None:
    """What `show` tells."""
    return final_usage(response, world.store.history(response.request_id))


@pytest.mark.parametrize("how", ["one-shot", "stream"])
def test_an_agent_that_calls_tools_and_is_corrected(tmp_path, how):
    """In the foreground and in the background: every turn counts, in the response."""
    calls = (tool_use("Bash", {"command": "true", "description": str(n)}) for n in "ab")
    turns = (
        reply("Two at once.", *calls, tokens_in=100, tokens_out=11),
        reply("Done!", tokens_in=20, tokens_out=22, tokens_cached=900),
        reply(GOOD, tokens_in=30, tokens_out=33, tokens_cached=1000),
    )
    with host_world(tmp_path, obedient_model(answering(*turns))) as world:
        world.allow("Bash")
        response = world.serve(how, model="haiku")
        (call,) = {turn.body["model"] for turn in world.api.turns("subagent")}

    whole = Usage(
        input_tokens=150, output_tokens=66, cache_read_tokens=1900, requests=3
    )
    assert known_in_the_end(world, response) == whole
    assert response.usage == whole
    assert (response.model, response.degraded) == (call, False)
    assert "haiku" in call


@pytest.mark.parametrize("how", ["one-shot", "stream"])
def test_an_agent_of_an_agent(tmp_path, how):
    """It counts in the answer; the session is charged for each by itself."""
    inner = {"prompt": "inner", "description": "n", "subagent_type": "general-purpose"}

    def answers(prompt, request):
        if prompt.startswith("inner"):
            return reply("inner done", tokens_in=70, tokens_out=7)
        if not request.own_calls:
            return reply(tool_use("Agent", inner | {"model": "haiku"}), tokens_in=10)
        return reply(GOOD, tokens_in=20)

    with host_world(tmp_path, obedient_model(answers)) as world:
        request = world.submit()
        if how == "one-shot":
            world.print()
        else:
            with world.stream():
                world.ended(request)
                world.wait_until_forgotten()
                assert charged(world) == [32, 77]
        response = world.ended(request, timeout_s=0)

    assert response.usage == Usage(input_tokens=100, output_tokens=9, requests=3)
    assert response.model is not None
    assert "haiku" not in response.model


def test_a_report_that_is_handed_over(tmp_path):
    """Auto mode: the answer comes before the agent stops."""
    with host_world(tmp_path) as world, world.stream(mode="auto"):
        response = world.ended(world.submit())
        world.wait_until_forgotten()
        took = charged(world)

    usage = known_in_the_end(world, response)
    assert response.usage == Usage(input_tokens=1, output_tokens=1, requests=1)
    assert took == [usage.tokens]
