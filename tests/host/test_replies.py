"""Replies to what an agent asks: which count, and what becomes of the others."""

import json

import pytest
from askingworld import FORM, asks, continued, ended_asking

from bridge import InvalidRequest

pytestmark = [pytest.mark.usefixtures("short_hold"), pytest.mark.slow]


def test_any_program_may_reply_by_a_file(world):
    request, agent = ended_asking(world)
    folder = world.store.place.state / "questions"
    question = json.loads((folder / f"{request}.1.json").read_text())

    (folder / f"{request}.1.reply.json").write_text('{"value": "red"}')
    _, message, _ = continued(world, request, agent)

    assert (question["words"], question["form"]) == ("Which colour?", FORM)
    assert question["until"] == world.found(request).request.deadline_ms
    assert '"red"' in message


def test_a_file_that_is_no_reply_goes_aside_and_the_question_stays(world):
    request, _ = ended_asking(world)
    folder = world.store.place.state / "questions"

    (folder / f"{request}.1.reply.json").write_text('{"value": "green"}')
    world.say("UserPromptSubmit", prompt="hello")

    assert [q.number for q in world.bridge.questions()] == [1]
    quarantine = world.store.place.state / "quarantine"
    [reason] = quarantine.glob(f"{request}.1.reply.json.*.reason")
    said = json.loads(reason.read_text())["reason"]
    assert said == 'value: $: "green" is not one of "red" or "blue"'
    world.bridge.reply(request, "red")
    assert world.bridge.questions() == []


def test_half_a_file_is_left_for_two_seconds(world):
    """Its writer may not be done."""
    request, _ = ended_asking(world)
    file = world.store.place.state / "questions" / f"{request}.1.reply.json"

    file.write_text('{"value": ')
    world.say("UserPromptSubmit", prompt="hello")
    assert file.exists()
    world.set_clock(3)
    world.say("UserPromptSubmit", prompt="hello")

    assert not file.exists()
    assert [q.number for q in world.bridge.questions()] == [1]


def test_the_first_reply_counts_and_a_second_is_kept(world):
    request, _ = ended_asking(world)
    world.bridge.reply(request, "red")

    with pytest.raises(InvalidRequest) as caught:
        world.bridge.reply(request, "blue")

    assert caught.value.what == (
        f"request {request} has a reply to its question 1, which counts; this one is "
        "kept as evidence"
    )
    [kept] = world.store.evidence(request)
    assert kept["reason"] == "a second reply to question 1: the first one counts"
    assert kept["rawOutput"] == '"blue"'
    assert [e.reply for e in world.found(request).request.exchanges] == ["red"]


@pytest.mark.parametrize("value", ["x" * 5_001, object()], ids=["large", "an object"])
def test_what_can_be_no_reply_is_not_kept_as_a_second(world, value):
    """A program that goes on replying would fill the disk."""
    request, _ = ended_asking(world)
    world.bridge.reply(request, "red")

    with pytest.raises(InvalidRequest, match="takes no such reply"):
        world.bridge.reply(request, value)

    assert world.store.evidence(request) == []


def test_a_reply_of_another_form_is_refused_with_its_place(world):
    form = {"type": "object", "properties": {"n": {"type": "integer"}}}
    request, _ = ended_asking(world, asks(form=form))

    with pytest.raises(InvalidRequest) as caught:
        world.bridge.reply(request, {"n": "seven"})

    assert caught.value.what == (
        f"request {request} asks for another form: "
        '$.n: "seven" is not of type "integer"'
    )
    assert [q.number for q in world.bridge.questions()] == [1]


@pytest.mark.parametrize("how", ["reply", "file"])
def test_a_reply_after_the_deadline_is_none(world, how):
    """Nobody may have noticed yet that the time is over."""
    request, _ = ended_asking(world, timeout_s=60)
    world.set_clock(61)
    world.pass_time(61)

    if how == "file":
        folder = world.store.place.state / "questions"
        (folder / f"{request}.1.reply.json").write_text('{"value": "red"}')
    else:
        with pytest.raises(InvalidRequest, match="is past its deadline"):
            world.bridge.reply(request, "red")

    assert world.response(request).error.code == "timeout"
    assert "Which colour?" in world.response(request).error.message
