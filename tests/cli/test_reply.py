"""`hostbridge reply`: what it takes for a reply, and from whom."""

import json
from contextlib import nullcontext

import pytest
from questionworld import COLOURS, ask_in, submitted
from trustworld import Terminal

from bridge.api.run_flow import Runner
from bridge.cli.asking import reply
from bridge.cli.asking.question_prompt import chosen, question_lines
from bridge.protocol.question import Question
from bridge.protocol.status import Stage


def begin(project, text):
    """A run that nobody follows, at its first checkpoint."""
    bridge = project.bridge
    runner = Runner(bridge.store, bridge.settings, bridge.quick)
    run = runner.begin(str(project.folder / project.flow(text)), {}, {})
    runner.look(run)
    return run


def test_a_reply_of_another_form_is_refused_with_its_place(project):
    request = submitted(project)

    ran = project.run("reply", request, "green")

    ran.refuses(
        2,
        f"hostbridge: request {request} asks for another form: "
        '$: "green" is not one of "red" or "blue"',
    )
    assert len(project.bridge.questions()) == 1


@pytest.mark.parametrize(("value", "stdin"), [("2", b""), ("-", b"2\n")], ids=str)
def test_a_reply_may_be_the_number_of_a_choice(project, value, stdin):
    """`questions` shows the list with its numbers, on a terminal or not."""
    request = submitted(project)

    ran = project.run("reply", request, value, "--json", stdin=stdin)

    assert (ran.code, ran.json["reply"]) == (0, "blue")


def test_a_reply_is_for_no_question_that_is_asked_later(project):
    """It was typed before anybody had read that one, or seen its form."""
    request = project.bridge.submit("Paint.", may_ask=True)
    terminal = Terminal(project, "reply", request, "-")
    terminal.read_until("type the reply; Ctrl-D ends it")

    ask_in(project, request, {"type": "string"})
    terminal.type("euros\n\x04")

    assert terminal.end() != 0
    assert len(project.bridge.questions()) == 1


def test_a_number_that_is_a_choice_is_that_choice():
    assert chosen({"enum": [2, 1]}, "1") == 1
    assert chosen({"enum": [30, 60]}, "2") == 60


@pytest.mark.parametrize(
    ("choices", "typed", "value"),
    [
        (["2", "1"], "1", "1"), (["2", "1"], "2", "2"), ([2, 1], "1", 1),
        (["2", "all"], "2", "2"), (["2", "all"], "1", None), (["2", "1"], "01", None),
        (["3", "4"], "1", "3"), (["all", "b"], "2", "b"),
    ],
)  # fmt: skip
def test_a_number_never_means_another_value_than_the_one_so_named(
    choices, typed, value
):
    """And the list shows whether it can be told by numbers."""
    form = {"enum": choices}
    about = {"request_id": "r", "number": 1, "agent_type": "a", "words": "Which?"}
    question = Question(form=form, **about)

    refused = pytest.raises(ValueError, match="is not one of")
    with refused if value is None else nullcontext():
        assert chosen(form, typed) == value

    marks = [line.split()[0] for line in question_lines(question)[1:]]
    has_numbers = choices[0] in ("3", "all")
    assert marks == (["1", "2"] if has_numbers else ["-", "-"])


def test_error_nothing_on_stdin_is_no_reply(project):
    """Even where any text would do: a job without a stdin has said nothing."""
    request = submitted(project, {"type": "string"})

    ran = project.run("reply", request)

    ran.fails(2, f"no reply; try: hostbridge reply {request} VALUE")
    assert len(project.bridge.questions()) == 1


def test_the_tab_key_offers_what_can_be_replied_to(project):
    """Not all that was ever asked."""
    project.submit()
    request = submitted(project)

    project.run("completion", "questions").prints(0, f"{request}\n")
    assert reply.OPTIONS[0].completes == "questions"


def test_a_reply_may_come_from_a_file(project, tmp_path):
    request = submitted(project)
    (tmp_path / "reply").write_text("blue")

    assert project.run("reply", request, "--file", str(tmp_path / "reply")).code == 0
    assert project.run("reply", request, "red").code == 2
    (tmp_path / "reply").write_text("green")
    second = project.run("reply", request, "--file", str(tmp_path / "reply"))
    assert "this one is kept as evidence" in second.err
    kept = project.bridge.store.evidence(request)
    assert [each["rawOutput"] for each in kept] == ['"red"', '"green"']


def test_status_and_show_say_what_it_waits_for(project):
    request = submitted(project)

    status, shown = project.run("status"), project.run("show", request)

    assert "asking: a reply to question 1: Which colour?" in status.out
    assert "status    asking\n" in shown.out
    assert "question 1, without a reply\n    Which colour?\n" in shown.out
    assert f"    hostbridge reply {request} VALUE\n" in shown.out
    assert "the agent asks question 1" in shown.out
    found = project.bridge.status(request).request
    assert found.stage_at(0) is Stage.ASKING


@pytest.mark.parametrize("sign", ["CLAUDECODE", "BRIDGE_PARENT"])
def test_neither_a_session_nor_an_agent_replies(project, sign):
    """A model would reply for its user, or an agent to its own question."""
    request = submitted(project)
    project.env[sign] = "1"

    ran = project.run("reply", request, "red")

    ran.refuses(1, "run `hostbridge reply` in a terminal of your own")
    assert len(project.bridge.questions()) == 1


def test_all_that_waits_for_a_person_is_in_one_list(project):
    """A question, a checkpoint and a held request: each with what replies to it."""
    project.env["BRIDGE_FAN_OUT"] = "1"
    asking = submitted(project)
    project.run("submit", "first")
    held = project.run("submit", "second").out.strip()
    run = begin(project, '@ok:"Ship it?"')

    shown = project.run("questions").out
    lines = project.run("questions", "--json").out.splitlines()
    listed = {each["kind"]: each for each in map(json.loads, lines)}

    assert {kind: each["id"] for kind, each in listed.items()} == {
        "question": asking, "held": held, "checkpoint": run,
    }  # fmt: skip
    assert listed["question"]["form"] == COLOURS
    assert listed["checkpoint"]["words"] == "Ship it?"
    for id_, value in ((asking, "VALUE"), (run, "yes|no"), (held, "yes|no")):
        assert f"    to reply: hostbridge reply {id_} {value}\n" in shown


def test_a_checkpoint_is_asked_on_the_terminal(project):
    """Only a yes goes on; what is neither is asked again."""
    run = begin(project, '@ok:"Ship it?"')
    terminal = Terminal(project, "reply", run)
    terminal.read_until("    Ship it?")
    terminal.read_until("Your answer (yes, `yes, but …`, or no): ")
    terminal.type("perhaps\n")
    terminal.read_until("not an answer: 'perhaps' is neither yes nor no")
    terminal.type("yes, but on Monday\n")

    assert terminal.end() == 0
    assert "answered: yes, but on Monday" in terminal.seen


def test_error_a_beginning_that_several_have(project):
    request = project.bridge.submit("Paint.", may_ask=True, request_id="r-is-asked")
    ask_in(project, request, COLOURS)
    run = begin(project, '@ok:"Ship it?"')

    ran = project.run("reply", "r", "yes")

    assert ran.code == 2
    assert "r: 2 that wait begin so:" in ran.err
    assert f"{run}  checkpoint of flow" in ran.err
    assert f"{request}  question of general-purpose: Which colour?" in ran.err


def test_what_waits_for_an_agent_is_answered_by_hand(project):
    request = project.submit(schema={"type": "integer"})

    project.run("reply", request, "four").refuses(2, "not an answer to request")
    project.run("reply", request, "4").prints(0, f"answered {request}\n")

    assert project.response(request).route == "manual"
