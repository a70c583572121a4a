"""What a request costs the host's context: a small constant, whatever its size."""

import json
from itertools import pairwise

import pytest
from hostworld import host_world
from polling import wait_until
from thoroughness import is_full

from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import Answer, reply
from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

# Runs of these would show anywhere.
PROMPT_MARK = "quince "
ANSWER_MARK = "medlar "
BIG_PROMPT = PROMPT_MARK * 90_000
BIG_ANSWER = ANSWER_MARK * 15_000


MANY = 20 if is_full() else 12
# Of a wake, the model's own call and its receipt: what the client puts around. Requests
# come by a wake, with a prompt or at a stop, each in a frame of its own.
CLIENT_FRAMES = 1_800
# The instruction and the receipt.
OURS = 200


def answers(prompt: str, _request: ApiRequest) -> Answer:
    words = BIG_ANSWER if PROMPT_MARK in prompt else ANSWER_MARK
    return reply(json.dumps({"status": "success", "summary": words}))


def size_of(turn: ApiRequest) -> int:
    """Characters of the conversation, without the marks for the API's cache."""

    def bare(value):
        if isinstance(value, dict):
            return {k: bare(v) for k, v in value.items() if k != "cache_control"}
        return [bare(item) for item in value] if isinstance(value, list) else value

    return len(json.dumps(bare(turn.messages), ensure_ascii=False))


@pytest.mark.canary
@pytest.mark.parametrize("mode", ["default", "auto"])
def test_growth_is_constant_and_small(tmp_path, mode):
    """600 kB asked and 100 kB answered cost what two words do."""
    sizes = []

    with host_world(tmp_path, obedient_model(answers)) as world:
        with world.stream(mode=mode) as session:
            for prompt in ("Say hello.", BIG_PROMPT, None, "Say hello."):
                if prompt is not None:
                    response = world.ended(world.submit(prompt))
                    assert response.success, response.error
                    world.wait_until_forgotten()
                # As long as the first one, so that only our part differs.
                session.ask("again", timeout_s=300)
                sizes.append(size_of(world.api.turns("main")[-1]))

    tiny_then_big, idle, tiny = (b - a for a, b in pairwise(sizes))
    words = world.main_words()
    assert PROMPT_MARK not in words
    assert ANSWER_MARK not in words
    # What the launches gave back is of one length, whatever was asked and answered.
    receipts = [r.text for t in world.api.turns("main") for r in t.tool_results]
    assert len(receipts) >= 3
    assert len({len(receipt) for receipt in receipts}) == 1
    # The client's own reminders come and go; prompt and answer leave no trace.
    assert abs(tiny_then_big - tiny) <= CLIENT_FRAMES
    assert tiny - idle <= CLIENT_FRAMES + OURS


@pytest.mark.parametrize("mode", ["default", "auto"])
def test_one_shot_has_neither_prompt_nor_answer(tmp_path, mode):
    with host_world(tmp_path, obedient_model(answers)) as world:
        request = world.submit(BIG_PROMPT)
        printed = world.print(mode=mode)
        response = world.ended(request, timeout_s=0)

    words = world.main_words()
    assert response.success
    assert response.raw_output.count(ANSWER_MARK) == 15_000
    assert printed.text == "ok"
    assert PROMPT_MARK not in words
    assert ANSWER_MARK not in words


@pytest.mark.parametrize(("how", "mode"), [("one-shot", "auto"), ("stream", "default")])
def test_the_answer_goes_to_the_host_where_it_is_asked_for(tmp_path, how, mode):
    with host_world(tmp_path, obedient_model(answers)) as world:
        request = world.submit(answer_to_host=True)
        if how == "one-shot":
            world.print(mode=mode)
        else:
            with world.stream(mode=mode):
                world.ended(request)
                wait_until(lambda: ANSWER_MARK in world.main_words())
        response = world.ended(request, timeout_s=0)

    assert response.success
    assert ANSWER_MARK in world.main_words()


def test_many_requests_at_once_are_few_wakes(tmp_path):
    """Each is answered once; the host is asked for four at a time."""
    with host_world(tmp_path) as world:
        with world.stream():
            before = len(world.api.turns("main"))
            requests = [world.submit(f"number {n}") for n in range(MANY)]
            responses = [world.ended(each, timeout_s=120) for each in requests]
            world.wait_until_forgotten()
            turns = len(world.api.turns("main")) - before

    agents = [turn.agent_id for turn in world.api.turns("subagent")]
    assert all(response.success for response in responses)
    assert len(agents) == len(set(agents)) == MANY
    assert turns <= 2 * MANY
