"""Checkpoints by AskUserQuestion: the model makes the call, only the person answers."""

from __future__ import annotations

import json
import re
import subprocess
from functools import partial
from itertools import count

import pytest
from flow.simulation import plan_of

from bridge.cli.run_display import answer_checkpoint
from bridge.engine import by_hand
from bridge.engine.advance import advance
from bridge.engine.begin import begin
from bridge.engine.view import outcome_of, view
from bridge.errors import InvalidRequest
from bridge.store import switch

G = "general-purpose"
CALL = re.compile(r'\{"questions".*\}')
LOOP = f'@look:"Again?":word -> {G}:"do {{word}}":x (if issues)~> @look(2)'
_calls = count(1)


@pytest.fixture
def begun(world):
    """Begin a run of a flow beside a session that is open."""

    def begin_(source, name="f"):
        with world.store.state() as state:
            run = begin(state, plan_of(source), name=name)
        advance(world.store, world.bridge.settings, run)
        return run

    return begin_


def offers(world, event="UserPromptSubmit", **fields):
    """The calls that the model is told to make."""
    said = world.say(event, **{"prompt": "hello", **fields})
    words = said.get("hookSpecificOutput", {}).get("additionalContext", "")
    return [json.loads(each) for each in CALL.findall(words)]


def call(world, tool_input, **fields):
    """The model makes a call; its id, and what the client shows."""
    fields.setdefault("tool_use_id", f"ask_{next(_calls)}")
    said = world.say(
        "PreToolUse", tool_name="AskUserQuestion", tool_input=tool_input, **fields
    )
    decision = said.get("hookSpecificOutput", {})
    assert "permissionDecision" not in decision or "deny" in decision.values(), said
    return fields["tool_use_id"], decision.get("updatedInput", tool_input), decision


def answer(world, call_id, shown, text):
    """The person answers; what the hook says."""
    question = shown["questions"][0]["question"]
    answers = {} if text is None else {question: text}
    response = {"questions": shown["questions"], "answers": answers}
    return world.say(
        "PostToolUse",
        tool_name="AskUserQuestion",
        tool_use_id=call_id,
        tool_input={**shown, "answers": answers},
        tool_response=response,
    )


def asked(world, begun, source='@ok:"Is it fine?":word -> @more:"And {word}?"'):
    """A checkpoint whose question is on the screen."""
    run = begun(source)
    (offer,) = offers(world)
    return run, *call(world, offer)[:2]


def waiting(world, run):
    return [node for _, node in view(world.store, run).checkpoints()]


def said(world, run):
    return {
        k: (v["text"], v["by"]) for k, v in view(world.store, run).run["said"].items()
    }


def say(world, run, text, by="approve"):
    said = {"text": text, "agreed": True, "at": 1, "by": by}
    act = partial(by_hand.say, node=None, said=said)
    advance(world.store, world.bridge.settings, run, act)


def test_a_checkpoint_is_asked_in_its_own_words_and_answered_by_its_person(
    world, begun
):
    words = "Is \"{it}\" fine?\n- 'one'"
    text = words.replace("{", "\\{").replace('"', '\\"').replace("\n", "\\n")
    run = begun(f'@ok:"{text}":word -> @more:"And {{word}}?"')

    (offer,) = offers(world)
    call_id, shown, _ = call(world, offer)
    told = answer(world, call_id, shown, "yes, but slowly")

    (question,) = shown["questions"]
    assert words not in str(offer)
    assert question["question"] == words
    assert [each["label"] for each in question["options"]] == ["yes", "no"]
    assert said(world, run) == {f"{run}-node-0-1-1": ("yes, but slowly", "question")}
    # The next one is offered with the answer.
    assert f"bridge:{run}-node-1-1-1" in told["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("word", ["no", "No, wait for me", "n", "no!"])
def test_no_refuses(world, begun, word):
    run, call_id, shown = asked(world, begun)

    answer(world, call_id, shown, word)

    assert view(world.store, run).run["status"] == "failed"


@pytest.mark.parametrize("word", ["yes", "none of it", "nice", "now", "y, no hurry"])
def test_any_other_answer_agrees(world, begun, word):
    run, call_id, shown = asked(world, begun)

    answer(world, call_id, shown, word)

    assert waiting(world, run) == ["node-1"]


def test_tokens_in_its_words_and_in_the_answer_mean_nothing(world, begun):
    """An agent wrote them, or a person cites them."""
    other = begun('@other:"?"')
    run = begun(f'@ok:"Not bridge:{other}-node-0-1-1?"')
    call_id, shown, _ = call(world, offers(world)[1])

    told = answer(world, call_id, shown, f"as bridge:{other}-node-0-1-1")

    assert "systemMessage" not in told
    assert view(world.store, run).run["status"] == "completed"


def test_text_from_elsewhere_cannot_paint_the_screen(world, begun):
    run, call_id, shown = asked(world, begun)
    answer(world, call_id, shown, "a\x1b[31mb\u202ec")

    token = f"bridge:{run}-node-1-1-1"
    _, shown, _ = call(world, {"questions": [{"question": token}]})

    assert shown["questions"][0]["question"] == "And a[31mbc?"


def test_what_does_not_fit_is_not_cut_but_named(world, begun):
    long = "word " * 300
    run, _, shown = asked(world, begun, f'@ok:"{long}"')

    question = shown["questions"][0]["question"]
    assert f"hostbridge runs show {run}" in question
    assert "word" not in question


# Who is asked


@pytest.fixture
def open_session(world, monkeypatch):
    """Open another session, with a client of its own; returns that."""
    clients = []

    def open_(*arguments):
        clients.append(subprocess.Popen(["sh", "-c", "read x", *arguments], stdin=-1))
        monkeypatch.setenv("CLAUDE_PID", str(clients[-1].pid))
        world.session = f"session-of-{clients[-1].pid}"
        world.say("SessionStart", source="startup")
        return clients[-1]

    yield open_
    for client in clients:
        client.kill()
        client.communicate()


def test_only_a_terminal_is_asked(world, begun, open_session):
    begun('@ok:"Fine?"')

    for arguments in (["-p"], ["--print"], ["--input-format=stream-json"]):
        open_session(*arguments)
        assert offers(world) == []
    open_session()
    assert len(offers(world)) == 1


def test_in_mode_dont_ask_nobody_is_asked(world, begun):
    begun('@ok:"Fine?"')

    assert offers(world, permission_mode="dontAsk") == []


def test_where_the_bridge_is_off_nobody_is_asked(world, begun):
    begun('@ok:"Fine?"')
    (session,) = world.live()
    switch.switch_off(world.store, session)

    assert offers(world) == []


def test_a_paused_run_asks_once_it_goes_on(world, begun):
    run = begun('@ok:"Fine?"')
    advance(world.store, world.bridge.settings, run, by_hand.pause)
    assert offers(world) == []

    advance(world.store, world.bridge.settings, run, by_hand.resume)

    assert len(offers(world)) == 1


def test_the_next_session_asks_if_the_first_is_gone(world, begun, open_session):
    begun('@ok:"Fine?"')
    client = open_session()
    (offer,) = offers(world)
    call(world, offer)
    client.kill()
    client.wait()

    open_session()

    assert offers(world) == [offer]


def test_the_other_session_asks_nothing_while_the_first_lives(
    world, begun, open_session
):
    begun('@ok:"Fine?"')
    (offer,) = offers(world)

    open_session()

    assert offers(world) == []
    assert call(world, offer)[2]["permissionDecision"] == "deny"


def test_an_offer_is_repeated_a_few_times_and_not_once_it_was_shown(world, begun):
    begun('@ok:"Fine?"')
    stops = [offers(world, "Stop", background_tasks=[]) for _ in range(5)]
    assert [len(each) for each in stops] == [1, 1, 1, 0, 0]

    begun('@ok:"Fine?"')
    (offer,) = offers(world)
    call(world, offer)
    assert offers(world, "Stop", background_tasks=[]) == []


def test_parallel_checkpoints_are_asked_one_by_one(world, begun):
    run = begun('[@a:"One?":a || @b:"Two?":b]')
    first, second = offers(world)
    both = {"questions": [*first["questions"], *second["questions"]]}

    assert call(world, both)[2]["permissionDecision"] == "deny"
    for offer, text in ((second, "2"), (first, "1")):
        call_id, shown, _ = call(world, offer)
        answer(world, call_id, shown, text)

    found = outcome_of(world.store, view(world.store, run))
    assert found.variables == {"a": "1", "b": "2"}


# What does not count


def test_a_model_cannot_answer(world, begun):
    """Neither by `answers` of its own, nor by a question of its own."""
    run = begun('@ok:"Delete all?"')
    (offer,) = offers(world)
    token = offer["questions"][0]["question"]
    mine = {**offer["questions"][0], "question": "Nice day?"}
    forged = {"questions": [mine], "answers": {"Nice day?": "yes"}}

    call_id, shown, _ = call(world, {**forged, "metadata": {"source": token}})
    assert shown["questions"][0]["question"] == "Delete all?"
    assert "answers" not in shown

    # As if the hook before it had not run, or not been heard.
    told = answer(world, call_id, {**forged, "metadata": {"source": token}}, "yes")
    assert "hostbridge approve" in told["systemMessage"]
    told = answer(world, "ask_other", shown, "yes")
    assert "hostbridge approve" in told["systemMessage"]
    assert waiting(world, run) == ["node-0"]


def test_a_models_own_question_is_its_own(world, begun):
    run = begun('@ok:"Delete all?"')
    (offer,) = offers(world)
    mine = {"questions": [{**offer["questions"][0], "question": "Delete all?"}]}

    call_id, shown, decision = call(world, mine)

    assert decision == {}
    assert "systemMessage" not in answer(world, call_id, shown, "yes")
    assert waiting(world, run) == ["node-0"]


def test_no_answer_leaves_it_waiting(world, begun):
    """With a rule of the user's that allows the tool it is not shown at all."""
    run, call_id, shown = asked(world, begun)

    told = answer(world, call_id, shown, None)

    assert f"hostbridge approve {run}" in told["systemMessage"]
    assert waiting(world, run) == ["node-0"]


def test_a_question_may_be_asked_again(world, begun):
    """Its person pressed Esc, and later tells the model to ask."""
    run, _, _ = asked(world, begun, '@ok:"Fine?"')
    token = f"bridge:{run}-node-0-1-1"
    call_id, shown, _ = call(world, {"questions": [{"question": token}]})

    answer(world, call_id, shown, "yes")

    assert view(world.store, run).run["status"] == "completed"


# The first counts


def test_who_answers_later_is_told_so(world, begun):
    run, call_id, shown = asked(world, begun)
    say(world, run, "sure")

    told = answer(world, call_id, shown, "no")

    line = (
        "your answer changed nothing: run {}: this checkpoint was answered before, by"
    )
    assert line.format(run) in told["systemMessage"]
    assert told["systemMessage"].endswith(": sure")
    assert said(world, run)[f"{run}-node-0-1-1"] == ("sure", "approve")


def test_an_answer_in_another_terminal_comes_too_late(world, begun):
    run, call_id, shown = asked(world, begun, '@ok:"Fine?"')
    answer(world, call_id, shown, "yes")

    words = "this checkpoint was answered before, in a Claude Code session: yes"
    with pytest.raises(InvalidRequest, match=words):
        answer_checkpoint(world.bridge, run, None, "no", by="approve")


def test_an_answer_to_an_earlier_round_does_not_answer_the_next(world, begun):
    run, call_id, shown = asked(world, begun, LOOP)
    say(world, run, "one")
    jump = partial(by_hand.jump, node="node-0")
    advance(world.store, world.bridge.settings, run, jump)
    assert waiting(world, run) == ["node-0"]

    told = answer(world, call_id, shown, "two")

    assert "answered before" in told["systemMessage"]
    assert waiting(world, run) == ["node-0"]
    # The next round is a question of its own.
    assert f"bridge:{run}-node-0-2-1" in str(told)


@pytest.mark.parametrize("act", [by_hand.cancel, partial(by_hand.jump, node="node-0")])
def test_an_answer_to_what_waits_no_more_changes_nothing(world, begun, act):
    run, call_id, shown = asked(world, begun)
    advance(world.store, world.bridge.settings, run, act)

    told = answer(world, call_id, shown, "yes")

    assert "your answer changed nothing" in told["systemMessage"]
    assert said(world, run) == {}


def test_while_a_run_is_paused_the_first_answer_counts(world, begun):
    run, call_id, shown = asked(world, begun)
    advance(world.store, world.bridge.settings, run, by_hand.pause)

    answer(world, call_id, shown, "yes")
    with pytest.raises(InvalidRequest, match="answered before"):
        say(world, run, "other")

    advance(world.store, world.bridge.settings, run, by_hand.resume)
    assert waiting(world, run) == ["node-1"]


def test_a_question_that_was_answered_elsewhere_is_not_shown(world, begun):
    run = begun('@ok:"Fine?" -> @more:"More?"')
    (offer,) = offers(world)
    say(world, run, "yes")

    assert call(world, offer)[2]["permissionDecision"] == "deny"
