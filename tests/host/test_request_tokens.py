"""What counts as a token, whatever a model puts around it; and what is the user's."""

import json

import pytest
from hookworld import GOOD, HookWorld

from bridge.bound.gate import last_word
from bridge.host.request_tokens import describe, described_ids, find_bare

LONG = "Read the code of the module and say what it does, file by file. " * 5


@pytest.mark.parametrize(
    ("prompt", "token"),
    [
        ("bridge:r-1", "r-1"),
        ("  bridge:r-1 \n", "r-1"),
        ("```\nbridge:r-1\n```", "r-1"),
        ("Bridge: r-1.", "r-1"),
        ("bridge:r-1 and more", None),
        ("run bridge:r-1", None),
        ("bridge:r-1 bridge:r-2", None),
        ("bridge:", None),
        ("bridge:../x", None),
        ("bridge:" + "a" * 129, None),
        ("footbridge:r-1", None),
    ],
)
def test_a_bare_token_is_the_whole_prompt(prompt, token):
    assert find_bare(prompt) == token


def test_a_description_names_the_request_and_has_no_marks():
    text = describe("r-1", 'a `b` <c> "d" [e] (pid 7)')

    assert text == "hostbridge: a b c d e (pid 7) [r-1]"
    assert described_ids(text) == ["r-1"]


def call(world: HookWorld, prompt: str, description: str = "b", **fields: str) -> str:
    """Have the model call Agent; what becomes of it: a prompt, a refusal, untouched."""
    fields.setdefault("tool_use_id", "toolu_wrapped")
    output = world.call_agent(prompt, description, **fields)
    if output.get("permissionDecision") == "allow":
        return str(output["updatedInput"]["prompt"])
    return str(output.get("permissionDecisionReason", "untouched"))


@pytest.mark.parametrize(
    "prompt",
    [
        "Please do this: bridge:{} thank you",
        "bridge:{}.",
        "`bridge:{}`",
        "_bridge:{}_",
        "```text\nbridge:{}\n```",
        "BRIDGE:{}",
        "bridge: {}",
        "hostbridge:{}",
        'bridge:"{}"',
        "bridge:`{}`",
        "bridge: <{}>",
        "**bridge:** {}",
        '{{"description": "b", "prompt": "bridge:{}"}}',
        "Not bridge:unknown but bridge:{}",
        "do BRIDGE:{upper}",
        LONG + "bridge:{}",
    ],
)
def test_a_token_that_was_offered_counts_in_any_words(world, prompt):
    request = world.submit("Count the stars.")
    world.say("UserPromptSubmit", prompt="hello")
    words = prompt.format(request, upper=request.upper())

    full = call(world, words)
    again = call(world, words)

    assert full.startswith("Count the stars.")
    assert again == full
    world.prompts["toolu_wrapped"] = full
    world.stop(world.start("toolu_wrapped"), GOOD)
    assert world.code(request) == "success"


def test_a_token_in_the_description_alone(world):
    request = world.submit("Count the stars.")
    world.say("UserPromptSubmit", prompt="hello")

    full = call(world, "Answer the request.", f"bridge:{request}")

    assert full.startswith("Count the stars.")


def test_two_tokens_are_two_calls(world):
    first, second = world.submit("one"), world.submit("two")
    world.say("UserPromptSubmit", prompt="hello")

    said = call(world, f"bridge:{first} and bridge:{second}")

    tokens = f"bridge:{first}, bridge:{second}"
    assert said == f"hostbridge: one Agent call for each of {tokens}; call again."
    assert call(world, f"bridge:{first}").startswith("one")


@pytest.mark.parametrize(
    "prompt",
    [
        "What does the string `bridge:abc` mean?",
        "Find out about bridge:{}. " + LONG,
        "Look at the drawbridge:{} please",
    ],
)
def test_a_call_of_the_user_is_left_alone(world, prompt):
    """It is about a token that names nothing, or about one not offered here."""
    request = world.submit()

    assert call(world, prompt.format(request)) == "untouched"


def test_no_agent_starts_with_a_token_that_was_not_offered(world):
    """One that waits, and one that an agent works on already."""
    waits, (works, _, _) = world.submit(session="another"), world.begin()

    for request in (waits, works):
        assert call(world, f"Please do bridge:{request}") == (
            f"hostbridge: request {request} is not offered here, or not any more. No "
            "agent is needed; to ask about it leave `bridge:` out."
        )


@pytest.mark.parametrize("prompt", ["bridge:{}", "Please do bridge:{}"])
def test_error_a_token_in_a_subagent(world, prompt):
    """Only the main thread launches: an agent that reads a token may not use it."""
    request = world.submit()
    world.say("UserPromptSubmit", prompt="hello")

    said = call(world, prompt.format(request), agent_id="other")

    assert said == "hostbridge tokens are for the main conversation only."


@pytest.mark.parametrize(
    ("prompt", "refused"),
    [
        ("bridge:r-1", True),
        ("Not bridge:abc: please do BRIDGE: {}, thank you", True),
        ("What does `bridge:abc` mean?", False),
        ("hello", False),
    ],
)
def test_a_hook_that_fails_refuses_what_must_be_a_call(world, prompt, *, refused):
    """Nobody can tell whether it was offered: the user's own calls pass."""
    prompt = prompt.format(world.submit())
    event = {"tool_name": "Agent", "tool_input": {"prompt": prompt}}
    state = str(world.store.place.state)

    said = last_word("PreToolUse", state, json.dumps(event).encode())

    assert (b'"deny"' in said) is refused
