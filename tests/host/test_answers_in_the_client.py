"""What counts as an answer: found in its words, corrected by the agent itself."""

import json

import pytest
from hostworld import bash_until_go, by_name, code_of, host_world, prompts

from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply, tool_use

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
def test_words_become_an_answer(tmp_path, mode):
    """By the last message, or by SubagentHandback: the same rules."""
    said = {
        name: [reply(words) for words in turns] for name, (turns, _) in WORDS.items()
    }

    with host_world(tmp_path, obedient_model(by_name(said))) as world:
        responses = world.serve_all("stream", prompts(WORDS), mode=mode)

    found = {
        name: (response.success, len(world.store.evidence(response.request_id)))
        for name, response in zip(WORDS, responses, strict=True)
    }
    assert found == {
        name: (corrections is not None, 2 if corrections is None else corrections)
        for name, (_, corrections) in WORDS.items()
    }
    assert "Done!" not in world.main_words()


def test_a_resumed_agent_does_not_change_its_answer(tmp_path):
    """The first answer wins; what comes later is kept as evidence, unheard."""

    def answers(_prompt, request):
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
    "takes too long": ("sleep 2; exit 3", {"timeout": 1000}, True, "unverified"),
    "1 is no error to the client": ("(exit 1) | grep x", {}, True, None),
}
VERIFIED = {"passed", "failed"}


@pytest.mark.parametrize("how", ["one-shot", "stream"])
def test_evidence_is_compared_with_what_was_seen(tmp_path, how):
    calls = {
        name: tool_use("Bash", {"command": command, "description": "r", **more})
        for name, (command, more, _, _) in COMMANDS.items()
    }
    turns = {name: [reply(call), says_it_ran(name)] for name, call in calls.items()}

    with host_world(tmp_path, obedient_model(by_name(turns))) as w:
        w.allow("Bash")
        responses = w.serve_all(how, prompts(COMMANDS))

    for name, response in zip(COMMANDS, responses, strict=True):
        code = COMMANDS[name][-1]
        assert code_of(response) == code, name
        if code is None:
            (found,) = response.parsed_output["evidence"]
            assert found["verified"] is (name in VERIFIED), name
            assert found["toolUseId"] == calls[name].call_id


def says_it_ran(name):
    command, _, passed, _ = COMMANDS[name]
    item = {"type": "run", "content": "c", "command": command, "passed": passed}
    output = {"status": "success", "summary": "s", "evidence": [item]}
    return reply(json.dumps(output))
