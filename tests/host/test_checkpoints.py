"""Checkpoints by AskUserQuestion: the model makes the call, only the person answers."""

import subprocess

import pytest
from checkpointworld import answer, asked, call, offer_in, offers, said
from flowruns import do, waiting

from bridge.api.flow_result import result_of_run
from bridge.engine import by_hand
from bridge.engine.view import view
from bridge.store import switch


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


@pytest.mark.parametrize("word", ["yes", "Y", "OK.", "go on", "yes, but slowly"])
def test_a_yes_agrees(world, begun, word):
    run, call_id, shown = asked(world, begun)

    answer(world, call_id, shown, word)

    assert waiting(world, run) == ["node-1"]


@pytest.mark.parametrize("word", ["nein", "nice", "ok?", "go away", "yes, no hurry"])
def test_an_answer_that_is_neither_is_asked_again(world, begun, word):
    """Only a yes is a yes; its person is told so, and has the question again."""
    run, call_id, shown = asked(world, begun)

    told = answer(world, call_id, shown, word)

    assert told["systemMessage"] == (
        f"hostbridge: {word!r} is neither yes nor no, and node-0 waits for one: say "
        "yes, `yes, but …`, or no; a plain yes goes on; more words begin with `but`, "
        "and have no not, if or wait"
    )
    context = told["hookSpecificOutput"]["additionalContext"]
    assert f"bridge:{run}-node-0-1-1" in context
    assert said(world, run) == {}
    call_id, shown, _ = call(world, offer_in(context))
    answer(world, call_id, shown, "yes")
    assert waiting(world, run) == ["node-1"]


def test_ones_own_language_counts_where_the_locale_says_so(world, begun, monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    run, call_id, shown = asked(world, begun)

    answer(world, call_id, shown, "Ja, aber langsam")

    assert waiting(world, run) == ["node-1"]


def test_its_options_say_what_counts(world, begun):
    run, _, shown = asked(world, begun, '@ok:"Fine?"')

    yes, no = (each["description"] for each in shown["questions"][0]["options"])

    assert yes == f"Flow {run} goes on. To say how, type: yes, but …"
    assert no == f"Refuse. (Esc: answer later, by hostbridge reply {run})"


def test_tokens_in_its_words_and_in_the_answer_mean_nothing(world, begun):
    """An agent wrote them, or a person cites them."""
    other = begun('@other:"?"')
    run = begun(f'@ok:"Not bridge:{other}-node-0-1-1?"')
    call_id, shown, _ = call(world, offers(world)[1])

    told = answer(world, call_id, shown, f"yes, and bridge:{other}-node-0-1-1")

    assert "systemMessage" not in told
    assert view(world.store, run).run["status"] == "completed"


def test_text_from_elsewhere_cannot_paint_the_screen(world, begun):
    begun('@ok:"And {{it}}?"', params={"it": "a\u2066b\u202ec"})

    _, shown, _ = call(world, *offers(world))

    assert shown["questions"][0]["question"] == "And abc?"


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
    do(world, run, by_hand.pause)
    assert offers(world) == []

    do(world, run, by_hand.resume)

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
    for offer, text in ((second, "yes: 2"), (first, "yes: 1")):
        call_id, shown, _ = call(world, offer)
        answer(world, call_id, shown, text)

    found = result_of_run(world.store, world.bridge.settings, run)
    assert found.variables == {"a": "yes: 1", "b": "yes: 2"}


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
    assert "hostbridge reply" in told["systemMessage"]
    told = answer(world, "ask_other", shown, "yes")
    assert "hostbridge reply" in told["systemMessage"]
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

    assert f"hostbridge reply {run}" in told["systemMessage"]
    assert waiting(world, run) == ["node-0"]


def test_a_question_may_be_asked_again(world, begun):
    """Its person pressed Esc, and later tells the model to ask."""
    run, _, _ = asked(world, begun, '@ok:"Fine?"')
    token = f"bridge:{run}-node-0-1-1"
    call_id, shown, _ = call(world, {"questions": [{"question": token}]})

    answer(world, call_id, shown, "yes")

    assert view(world.store, run).run["status"] == "completed"
