"""`ask` on a terminal, `reply` and `questions`: a person replies to an agent."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from fakeclaude import fake_claude, printing, result, trust_folder
from polling import wait_until
from trustworld import Terminal

from bridge.cli import reply
from bridge.cli.question_prompt import chosen
from bridge.protocol.question import Asked
from bridge.protocol.status import Stage
from bridge.store import Claimant, questions
from bridge.store.host_process import identify

ANSWER = json.dumps({"status": "success", "summary": "painted"})
COLOURS = {"enum": ["red", "blue"]}


def question(words: str = "Which colour?", form: object = COLOURS) -> str:
    return json.dumps({"hostbridge_question": {"words": words, "form": form}})


@pytest.fixture
def asking(project, tmp_path):
    """A `claude` that asks once, and answers when it is resumed."""

    def make(asks: str) -> Path:
        first = printing(result(result=asks, session_id="s-1"))
        second = printing(result(result=ANSWER, session_id="s-1"))
        lines = (
            'cp "$here/stdin" "$here/told"\n'
            f'if grep -q -x -e --resume "$here/argv"; then\n{second}fi\n{first}'
        )
        program = fake_claude(tmp_path / "fake", lines)
        trust_folder(Path(project.env["HOME"]), project.folder)
        project.env["BRIDGE_CLAUDE"] = str(program)
        return program.parent

    return make


def ask(project, *words: str) -> Terminal:
    return Terminal(project, "ask", "--route", "claude", "--may-ask", "Paint.", *words)


def waiting(project):
    """The open question, once it is there."""
    wait_until(project.bridge.questions, timeout_s=30)
    [found] = project.bridge.questions()
    return found


def test_ask_on_a_terminal_simply_asks(project, asking):
    fake = asking(question())
    terminal = ask(project)

    terminal.read_until("Your reply (a number of the list, or the value): ")
    assert "    Which colour?\n      1  red\n      2  blue\n" in terminal.seen
    terminal.type("green\n")
    terminal.read_until('not a reply: $: "green" is not one of "red" or "blue"')
    terminal.read_until("Your reply", 5)
    terminal.type("2\n")

    assert terminal.end() == 0
    assert "success: painted" in terminal.seen
    assert '"blue"' in (fake / "told").read_text()


@pytest.mark.parametrize(
    ("form", "typed", "prompt", "reply"),
    [
        ({"type": "boolean"}, "yes", "yes or no", True),
        ({"type": "string"}, "7", "text", "7"),
        ({"type": "integer"}, "7", "JSON", 7),
    ],
    ids=["yes or no", "text", "number"],
)
def test_the_form_says_what_is_typed(project, asking, form, typed, prompt, reply):
    asking(question(form=form))
    terminal = ask(project)

    terminal.read_until(f"Your reply ({prompt}): ")
    asked = waiting(project)
    terminal.type(f"{typed}\n")

    assert terminal.end() == 0
    done = project.bridge.status(asked.request_id).request
    assert [each.reply for each in done.exchanges] == [reply]


@pytest.mark.parametrize(
    ("form", "wrong", "right", "why"),
    [
        ({"type": "boolean", "const": True}, "no", "yes", "true was expected"),
        (
            {"enum": [1, "two"], "type": "integer"},
            "2",
            "1",
            '"two" is not of type "integer"',
        ),
    ],
    ids=["yes or no", "a choice"],
)
def test_what_the_form_refuses_is_asked_again(project, asking, form, wrong, right, why):
    """Passed on it would end the request, and all that its agent has done."""
    asking(question(form=form))
    terminal = ask(project)
    terminal.read_until("Your reply")

    terminal.type(f"{wrong}\n")
    terminal.read_until(f"not a reply: $: {why}")
    terminal.type(f"{right}\n")

    assert terminal.end() == 0


def test_pasted_lines_are_one_reply(project, asking):
    """Those after the first would be left to the shell, as commands."""
    asking(question(form={"type": "string"}))
    terminal = ask(project)
    terminal.read_until("Your reply (text): ")
    asked = waiting(project)

    terminal.type("euros\nrm -rf .\n")

    assert terminal.end() == 0
    done = project.bridge.status(asked.request_id).request
    assert [each.reply for each in done.exchanges] == ["euros\nrm -rf ."]


def test_a_line_that_the_terminal_has_cut_is_asked_again(project, asking):
    """It shows all of it, and gives only a part."""
    asking(question(form={"type": "string"}))
    terminal = ask(project)
    terminal.read_until("Your reply (text): ")
    asked = waiting(project)

    terminal.seen = ""
    terminal.type("x" * 4_500 + "\n")
    terminal.read_until("not a reply: the terminal cuts a line after 4,095 bytes")
    terminal.read_until("Your reply")
    terminal.type(f"{'x' * 2_000}\n{'y' * 2_500}\n")

    assert terminal.end() == 0
    done = project.bridge.status(asked.request_id).request
    assert [len(each.reply) for each in done.exchanges] == [4_501]


def test_words_of_an_agent_cannot_control_the_terminal(project, asking):
    asking(question("Ok?\x1b[2J\nYour reply (yes or no): \u202eyes"))
    terminal = ask(project)

    terminal.read_until("Your reply (a number")

    assert r"Ok?\u001b[2J" in terminal.seen
    assert "\n    Your reply (yes or no): \\u202eyes\n" in terminal.seen
    terminal.type("1\n")
    assert terminal.end() == 0


def test_who_replies_elsewhere_first_has_replied(project, asking):
    fake = asking(question())
    terminal = ask(project)
    terminal.read_until("Your reply (a number")

    asked = waiting(project)
    ran = project.run("reply", asked.request_id, "red")

    assert (ran.code, ran.out) == (
        0,
        f"replied to {asked.request_id}: its agent goes on\n",
    )
    assert terminal.end() == 0
    assert "replied to elsewhere" in terminal.seen
    assert '"red"' in (fake / "told").read_text()


def test_without_a_terminal_it_says_how_to_reply(project, asking):
    asking(question())
    words = ("ask", "--route", "claude", "--may-ask", "Paint.", "--json")
    process = project.start(*words)

    asked = waiting(project)
    listed = project.run("questions")
    ran = project.run("reply", asked.request_id, "red", "--json")
    out, err = process.communicate(timeout=60)

    assert json.loads(out)["success"]
    assert err.decode() == (
        "hostbridge: general-purpose asks:\n"
        "    Which colour?\n"
        "      1  red\n"
        "      2  blue\n"
        f"hostbridge: to reply: hostbridge reply {asked.request_id} VALUE\n"
    )
    assert "    Which colour?\n      1  red\n      2  blue\n" in listed.out
    assert f"hostbridge reply {asked.request_id} VALUE" in listed.out
    assert ran.json == {
        "requestId": asked.request_id,
        "question": 1,
        "reply": "red",
    }


def submitted(project, form=COLOURS):
    """A request whose agent has asked, and that nobody holds."""
    request = project.bridge.submit("Paint.", may_ask=True)
    ask_in(project, request, form)
    return request


def ask_in(project, request, form):
    """The agent of a request asks, and may end."""
    store, host = project.bridge.store, identify(os.getpid())
    store.claim_one(request, Claimant("s", host))
    with store.state() as state:
        questions.ask(state, request, lambda _: True, Asked("Which colour?", form))
    store.give_back(request, host)


def test_a_reply_of_another_form_is_refused_with_its_place(project):
    request = submitted(project)

    ran = project.run("reply", request, "green")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(
        f"hostbridge: request {request} asks for another form: "
        '$: "green" is not one of "red" or "blue"'
    )
    assert len(project.bridge.questions()) == 1


def test_a_reply_may_be_the_number_of_a_choice(project):
    """`questions` shows the list with its numbers, on a terminal or not."""
    request = submitted(project)

    ran = project.run("reply", request, "2", "--json")

    assert (ran.code, ran.json["reply"]) == (0, "blue")


def test_a_number_from_a_pipe_ends_with_its_line(project):
    request = submitted(project)

    ran = project.run("reply", request, "-", "--json", stdin=b"2\n")

    assert (ran.code, ran.json["reply"]) == (0, "blue")


def test_a_reply_is_for_no_question_that_is_asked_later(project):
    """It was typed before anybody had read that one, or seen its form."""
    request = project.bridge.submit("Paint.", may_ask=True)
    terminal = Terminal(project, "reply", request, "-")
    terminal.read_until("type the reply; Ctrl-D ends it")

    ask_in(project, request, {"type": "string"})
    terminal.type("euros\n\x04")

    assert terminal.end() == 2
    assert f"request {request} has no agent that asks" in terminal.seen
    assert len(project.bridge.questions()) == 1


def test_a_number_that_is_a_choice_is_that_choice():
    assert chosen({"enum": [2, 1]}, "1") == 1
    assert chosen({"enum": [30, 60]}, "2") == 60


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

    ran = project.run("reply", request, "--file", str(tmp_path / "reply"))

    assert ran.code == 0
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

    assert ran.code == 1
    assert "run `hostbridge reply` in a terminal of your own" in ran.err
    assert len(project.bridge.questions()) == 1


def test_wait_on_a_terminal_asks_too(project):
    request = submitted(project)
    terminal = Terminal(project, "wait", request)

    terminal.read_until("Your reply (a number of the list, or the value): ")
    terminal.type("2\n")
    wait_until(lambda: project.bridge.status(request).request.exchanges)
    project.run("cancel", request)

    assert terminal.end() == 1
    done = project.bridge.status(request).request
    assert [each.reply for each in done.exchanges] == ["blue"]


def test_a_prompt_ends_with_the_deadline(project, asking):
    asking(question())
    terminal = ask(project, "--timeout", "4s")

    terminal.read_until("Your reply (a number")

    assert terminal.end() == 5
    said = "nobody had replied (timeout)\n  | question 1: Which colour?\n"
    assert said in terminal.seen


def test_an_asker_that_is_killed_leaves_its_question_to_others(project, asking):
    """Whoever serves next begins anew, with question and reply."""
    fake = asking(question())
    process = project.start("ask", "--route", "claude", "--may-ask", "Paint.")
    asked = waiting(project)
    process.kill()
    process.communicate()

    project.bridge.store.sweep()
    assert project.run("reply", asked.request_id, "blue").code == 0
    # Asked anew, the fake asks as often as it may.
    program = fake / "claude"
    program.write_text(
        program.read_text()
        .replace('"$here/argv"; then', '"$here/stdin"; then')
        .replace("-e --resume", "-e 'Paint.'")
    )
    served = project.run("serve", "--once", "--route", "claude")

    assert served.code == 0, served
    told = (fake / "told").read_text()
    assert told.startswith("Paint.")
    assert '"blue"' in told
    assert project.response(asked.request_id).success
