"""What counts as an answer: found in its words, corrected by the agent itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hostworld import bash_until_go, code_of, host_world
from polling import wait_until

from bridge.testing.stage.models import answering, obedient_model
from bridge.testing.stage.replies import reply, tool_use

if TYPE_CHECKING:
    from bridge.testing.stage.replies import Answer
    from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

GOOD = '{"status": "success", "summary": "s"}'
OTHER = '{"status": "partial", "summary": "t"}'

WORDS = {
    # what the agent says, turn by turn, and after how many corrections it counts
    "bare": ([GOOD], 0),
    "fenced": ([f"Here:\n```json\n{GOOD}\n```\n"], 0),
    "in prose": ([f"I found {GOOD}, no more."], 0),
    "second try": (["Done!", GOOD], 1),
    "third try": (["Done!", f"{GOOD}\n{OTHER}", GOOD], 2),
    "two values": ([f"{GOOD} {OTHER}"] * 3, None),
    "never": (["Done!"] * 9, None),
}


@pytest.mark.parametrize("mode", ["default", "auto"])
@pytest.mark.parametrize("said", WORDS)
def test_words_become_an_answer(tmp_path, said, mode):
    """By the last message, or by SubagentHandback: the same rules."""
    turns, corrections = WORDS[said]
    model = obedient_model(answering(*(reply(words) for words in turns)))

    with host_world(tmp_path, model) as world:
        response = world.serve("stream", mode=mode)

    kept = world.store.evidence(response.request_id)
    assert response.success is (corrections is not None)
    assert len(kept) == (2 if corrections is None else corrections)
    assert "Done!" not in world.main_words()


def test_the_answer_has_the_callers_own_shape(tmp_path):
    schema = {
        "type": "object",
        "required": ["modules"],
        "properties": {"modules": {"type": "array", "items": {"type": "string"}}},
    }
    turns = (reply('{"modules": 3}'), reply('{"modules": ["billing"]}'))

    with host_world(tmp_path, obedient_model(answering(*turns))) as world:
        with world.stream():
            result = world.bridge.ask("Which?", schema=schema, timeout_s=300)

    assert result.parsed == {"modules": ["billing"]}
    assert world.api.turns("subagent")[0].contains("modules")


def test_a_resumed_agent_does_not_change_its_answer(tmp_path):
    """The first answer wins; what comes later is kept as evidence, unheard."""

    def answers(_prompt: str, request: ApiRequest) -> Answer:
        if not request.own_calls:
            return bash_until_go()
        return reply(OTHER if "completed" in request.newest_text else GOOD)

    with host_world(tmp_path, obedient_model(answers)) as world:
        world.allow("Bash")
        request = world.submit()
        with world.stream():
            response = world.ended(request)
            (world.stage.project / "go").touch()
            world.wait_until_forgotten()

    (late,) = world.store.evidence(request)
    assert response.raw_output == GOOD
    assert late["rawOutput"] == OTHER
    assert "<task-id>" not in world.main_words()


COMMANDS = {
    # the command that runs, how, and what its evidence is worth
    "passed": ("true", {}, True, None),
    "failed": ("exit 3", {}, False, None),
    "failed, it says passed": ("exit 3", {}, True, "unverified"),
    "only launched": ("true", {"run_in_background": True}, True, None),
}


@pytest.mark.parametrize("how", ["one-shot", "stream"])
@pytest.mark.parametrize("ran", COMMANDS)
def test_evidence_is_compared_with_what_was_seen(tmp_path, ran, how):
    command, more, passed, code = COMMANDS[ran]
    call = tool_use("Bash", {"command": command, "description": "r", **more})
    item = {"type": "run", "content": "c", "command": command, "passed": passed}
    words = json.dumps({"status": "success", "summary": "s", "evidence": [item]})

    with host_world(
        tmp_path, obedient_model(answering(reply(call), reply(words)))
    ) as w:
        w.allow("Bash")
        response = w.serve(how)

    assert code_of(response) == code
    if code is None:
        (found,) = response.parsed_output["evidence"]
        assert found["verified"] is ("run_in_background" not in more)
        assert found["toolUseId"] == call.call_id


def test_a_request_that_two_calls_name_gets_one_agent(tmp_path):
    """The model calls twice for one token, and once for a token it made up."""
    made_up: list[str] = []

    def main(request: ApiRequest) -> Answer:
        if "bridge:" in request.newest_text and not request.own_calls:
            token = request.newest_text.partition('"bridge:')[2].partition('"')[0]
            call = {"description": "b", "prompt": f"bridge:{token}"}
            false = {"description": "b", "prompt": "bridge:no-such-request"}
            return reply(*(tool_use("Agent", each) for each in (call, call, false)))
        made_up.extend(r.text for r in request.tool_results if r.is_error)
        return reply("ok")

    with host_world(tmp_path, obedient_model(main=main)) as world:
        request = world.submit()
        with world.stream():
            response = world.ended(request)
            wait_until(lambda: len(made_up) == 2)

    assert response.success
    assert len({turn.agent_id for turn in world.api.turns("subagent")}) == 1
    assert any("already works on" in text for text in made_up)
    assert any("knows no request no-such-request" in text for text in made_up)
