"""An agent asks back, in the real client."""

import json
import re

import pytest
from followups import idle
from hostworld import HostWorld, host_world
from polling import wait_until

from bridge import InvalidRequest
from bridge.protocol.status import Stage
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import Answer, reply
from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

ASKS = json.dumps(
    {"hostbridge_question": {"words": "Colour?", "form": {"enum": ["red", "blue"]}}}
)


def asking_first(_prompt: str, request: ApiRequest) -> Answer:
    """A subagent that asks, and answers with what it was told, in all it was told."""
    replied = re.search(r'```json\n"(\w+)"\n```', request.heard_text)
    if replied is None:
        return reply(ASKS)
    knows = "ZEBRA" in request.heard_text
    summary = f"{replied[1]}, {'ZEBRA' if knows else 'no idea'}"
    return reply(json.dumps({"status": "success", "summary": summary}))


def until_asked(world: HostWorld, request: str) -> None:
    wait_until(world.bridge.questions, what="a question")
    assert world.bridge.status(request).request.stage is Stage.ASKING


@pytest.mark.parametrize("how", ["default", "auto", "terminal"])
def test_a_reply_while_the_hook_holds_reaches_the_same_turn(tmp_path, how):
    with host_world(tmp_path, obedient_model(asking_first)) as world:
        with world.opened(how):
            request = world.submit("Paint the ZEBRA.", may_ask=True)
            until_asked(world, request)
            world.bridge.reply(request, "red")
            response = world.ended(request)
            world.wait_until_forgotten()

    assert response.parsed_output["summary"] == "red, ZEBRA"
    assert response.continued is None
    assert "Colour?" not in world.main_words()


@pytest.mark.parametrize("how", ["default", "auto", "terminal"])
def test_a_later_reply_has_the_same_agent_go_on(tmp_path, how):
    """It is asked by SendMessage; the main thread hears no word of it."""
    with host_world(tmp_path, obedient_model(asking_first)) as world:
        with world.opened(how):
            request = world.submit("Paint the ZEBRA.", may_ask=True)
            until_asked(world, request)
            waiting = wait_until(
                lambda: world.bridge.status(request).request.claim is None
            )
            [mine] = idle(world)
            world.bridge.reply(request, "blue")
            with pytest.raises(InvalidRequest):
                world.bridge.reply(request, "red")
            response = world.ended(request)
            world.wait_until_forgotten()
        kept = world.store.evidence(request)
        went_on = world.bridge.status(request).request.claim.continued

    assert waiting
    assert response.error is None, (response, world.story())
    assert response.parsed_output["summary"] == "blue, ZEBRA"
    assert response.agent_id == mine.agent_id
    assert response.continued is None
    assert went_on.after == request
    assert [each["rawOutput"] for each in kept] == ['"red"']
    assert "Colour?" not in world.main_words()
    assert "ZEBRA" not in world.main_words()
