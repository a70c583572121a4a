"""A checkpoint has one answer: the first, wherever a person gives it."""

from functools import partial

import pytest
from checkpointworld import LOOP, answer, asked, call, offers, said
from flowruns import do, say, waiting

from bridge.engine import by_hand
from bridge.errors import InvalidRequest


def test_who_answers_later_is_told_so(world, begun):
    run, call_id, shown = asked(world, begun)
    say(world, run, "sure")

    told = answer(world, call_id, shown, "no")

    line = (
        "your answer changed nothing: run {}: this checkpoint was answered before, by"
    )
    assert line.format(run) in told["systemMessage"]
    assert told["systemMessage"].endswith(": sure")
    assert said(world, run)[f"{run}-node-0-1-1"] == ("sure", "reply")


def test_an_answer_in_another_terminal_comes_too_late(world, begun):
    run, call_id, shown = asked(world, begun, '@ok:"Fine?"')
    answer(world, call_id, shown, "yes")

    words = "this checkpoint was answered before, in a Claude Code session: yes"
    with pytest.raises(InvalidRequest, match=words):
        say(world, run, "no")


def test_an_answer_to_an_earlier_round_does_not_answer_the_next(world, begun):
    run, call_id, shown = asked(world, begun, LOOP)
    say(world, run, "yes: one")
    jump = partial(by_hand.jump, node="node-0")
    do(world, run, jump)
    assert waiting(world, run) == ["node-0"]

    told = answer(world, call_id, shown, "two")

    assert "answered before" in told["systemMessage"]
    assert waiting(world, run) == ["node-0"]
    # The next round is a question of its own.
    assert f"bridge:{run}-node-0-2-1" in str(told)


@pytest.mark.parametrize("act", [by_hand.cancel, partial(by_hand.jump, node="node-0")])
def test_an_answer_to_what_waits_no_more_changes_nothing(world, begun, act):
    run, call_id, shown = asked(world, begun)
    do(world, run, act)

    told = answer(world, call_id, shown, "yes")

    assert "your answer changed nothing" in told["systemMessage"]
    assert said(world, run) == {}


def test_while_a_run_is_paused_the_first_answer_counts(world, begun):
    run, call_id, shown = asked(world, begun)
    do(world, run, by_hand.pause)

    answer(world, call_id, shown, "yes")
    with pytest.raises(InvalidRequest, match="answered before"):
        say(world, run, "other")

    do(world, run, by_hand.resume)
    assert waiting(world, run) == ["node-1"]


def test_a_question_that_was_answered_elsewhere_is_not_shown(world, begun):
    run = begun('@ok:"Fine?" -> @more:"More?"')
    (offer,) = offers(world)
    say(world, run, "yes")

    assert call(world, offer)[2]["permissionDecision"] == "deny"
