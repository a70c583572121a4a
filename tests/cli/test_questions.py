"""`ask` on a terminal, `reply` and `questions`: a person replies to an agent."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakeclaude import fake_claude, printing, result, trust_folder
from leftprocesses import Marked
from polling import wait_until
from questionworld import COLOURS, submitted
from trustworld import Terminal

pytestmark = pytest.mark.slow

ANSWER = json.dumps({"status": "success", "summary": "painted"})


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


def ask(project, *words: str, **how: Any) -> Terminal:
    asks = ("ask", "--route", "claude", "--may-ask", "Paint.")
    return Terminal(project, *asks, *words, **how)


def waiting(project):
    """The open question, once it is there."""
    wait_until(project.bridge.questions)
    [found] = project.bridge.questions()
    return found


def test_ask_on_a_terminal_simply_asks(project, asking):
    fake = asking(question())
    terminal = ask(project)

    terminal.read_until("Your reply (a number of the list, or the value): ")
    assert "    Which colour?\n      1  red\n      2  blue\n" in terminal.seen
    terminal.type("green\n")
    terminal.read_until('not a reply: $: "green" is not one of "red" or "blue"')
    terminal.read_until("Your reply")
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


CHOICE = {"enum": [7, "two"], "type": "integer"}


@pytest.mark.parametrize(
    ("form", "wrong", "right", "why"),
    [
        ({"type": "boolean", "const": True}, "no", "yes", "true was expected"),
        (CHOICE, "2", "1", '"two" is not of type "integer"'),
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

    ran.prints(0, f"replied to {asked.request_id}: its agent goes on\n")
    assert terminal.end() == 0
    assert "replied to elsewhere" in terminal.seen
    assert '"red"' in (fake / "told").read_text()


def test_without_a_terminal_it_says_how_to_reply(project, asking):
    asking(question())
    words = ("ask", "--route", "claude", "--may-ask", "Paint.", "--json")
    process = project.start(*words, bufsize=0)

    asked = waiting(project)
    # It looks for questions from time to time only.
    said = b""
    while b"to reply: " not in said:
        said += process.stderr.readline()
    listed = project.run("questions")
    ran = project.run("reply", asked.request_id, "red", "--json")
    out, err = process.communicate(timeout=300)

    assert json.loads(out)["success"]
    assert (said + err).decode() == (
        "hostbridge: general-purpose asks:\n    Which colour?\n      1  red\n"
        "      2  blue\n"
        f"hostbridge: to reply: hostbridge reply {asked.request_id} VALUE\n"
    )
    assert "    Which colour?\n      1  red\n      2  blue\n" in listed.out
    assert f"hostbridge reply {asked.request_id} VALUE" in listed.out
    assert ran.json == {"requestId": asked.request_id, "question": 1, "reply": "red"}


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


def test_a_prompt_ends_with_the_deadline(project, asking, tmp_path):
    asking(question())
    ahead = tmp_path / "ahead"
    terminal = ask(project, "--timeout", "20m", ahead=ahead)

    terminal.read_until("Your reply (a number")
    ahead.write_text("3600")

    assert terminal.end() == 5
    said = "nobody had replied (timeout)\n  | question 1: Which colour?\n"
    assert said in terminal.seen


def test_no_process_waits_for_a_reply_once_its_asker_is_gone(project, asking):
    """The question lies in a file, and whoever serves next goes on."""
    marked = Marked()
    project.env |= marked.env
    asking(question())
    process = project.start("ask", "--route", "claude", "--may-ask", "Paint.")
    asked = waiting(project)
    assert marked.running()
    process.kill()
    process.communicate()

    assert marked.have_ended()
    project.bridge.store.sweep()
    for words in (("questions",), ("reply", asked.request_id, "blue")):
        assert project.run(*words).code == 0
        assert marked.have_ended()
