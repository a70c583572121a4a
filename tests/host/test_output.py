"""What hooks say: limited and clean on every channel."""

import json

import pytest

from bridge.host.request_tokens import INTRODUCTION, instruction
from bridge.protocol.hook_output import (
    MAX_CONTEXT,
    MAX_REASON,
    allow,
    block,
    context,
    deny,
    refuse_permission,
    specific,
    swallow,
    tell_user,
    wake,
    with_more,
)
from bridge.protocol.wording import MAX_LINE

DIRTY = "a\x1b[31mb\x00c\u202ed\ud800\n" + "x" * 20_000


CHANNELS = {
    "context": (context("Stop", DIRTY), MAX_CONTEXT),
    "wake": (wake(DIRTY), MAX_CONTEXT),
    "deny": (deny(DIRTY, stop=True), MAX_REASON + MAX_LINE),
    "block": (block(DIRTY), MAX_REASON),
    "permission": (refuse_permission(DIRTY), MAX_REASON),
    "swallow": (swallow(DIRTY), MAX_LINE),
    "line": (tell_user(DIRTY), MAX_LINE),
    "allow": (allow({}, DIRTY), MAX_LINE),
    "specific": (specific("Stop", DIRTY), MAX_LINE),
}


@pytest.mark.parametrize(("output", "limit"), CHANNELS.values(), ids=CHANNELS)
def test_every_channel_is_capped_and_clean(output, limit):
    """It may reach the host's context or the user's screen."""
    said = output.stdout.decode() + output.stderr

    assert len(said) < limit + 250
    assert not any(c in said for c in "\x1b\x00\u202e")
    assert "\\u001b" not in said


def test_a_prompt_is_rewritten_as_it_is():
    """An agent's own prompt reaches no screen."""
    prompt = "a\x1b\u202e" + "x" * 20_000

    output = json.loads(allow({"prompt": prompt}).stdout)

    assert output["hookSpecificOutput"]["updatedInput"]["prompt"] == prompt


def test_an_instruction_is_the_cheapest_call():
    assert instruction(["r-1"]) == (
        "hostbridge: call Agent once with this:\n"
        '{"description":"b","prompt":"bridge:r-1"}'
    )


def test_several_calls_go_into_one_message():
    words = instruction(["r-1", "r-2"])

    assert words.startswith(
        "hostbridge: call Agent once with these, all in one message:"
    )
    assert words.count("\n") == 2


def test_the_introduction_is_short():
    assert len(INTRODUCTION) < 400


def test_a_second_line_for_the_user_stands_below_the_first():
    output = with_more(specific("Stop", "hostbridge: one"), "hostbridge: two")

    assert json.loads(output.stdout)["systemMessage"] == (
        "hostbridge: one\nhostbridge: two"
    )
