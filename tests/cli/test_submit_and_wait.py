"""Asking without waiting, waiting without asking, and ending what is asked."""

import json
import re

import pytest

from bridge.protocol.failure_codes import explain

pytestmark = pytest.mark.slow

SUCCESS = '{"status": "success", "summary": "yes"}'


def test_submit_prints_just_the_id(project):
    """`id=$(hostbridge submit ...)` needs no session and no parsing."""
    ran = project.run("submit", "Explore", "Which?", "--timeout", "30")

    found = project.bridge.status(ran.out.strip())
    assert (ran.code, ran.err, ran.out.count("\n")) == (0, "", 1)
    assert found.status == "pending"
    assert (found.request.agent_type, found.request.timeout) == ("Explore", 30_000)


def test_submit_with_a_chosen_id(project):
    """A program that names its requests can find them after its own death."""
    first = project.run("submit", "Which?", "--id", "mine-1", "--json")
    again = project.run("submit", "Which?", "--id", "mine-1", "--json")

    message = "request id 'mine-1' was used before; choose another, or none"
    assert (first.code, first.json) == (0, {"requestId": "mine-1"})
    assert (again.code, again.err) == (2, f"hostbridge: {message}\n")
    assert again.json == {
        "requestId": "mine-1",
        "success": False,
        "error": {"code": "bad_request", "message": message, "stage": None},
    }


def test_error_submit_for_an_unknown_model(project):
    """It would run on another one, and say so only in the answer."""
    ran = project.run("submit", "Which?", "--model", "sonet")

    message = "an open session knows no model 'sonet'; did you mean sonnet?"
    assert ran == (2, "", f"hostbridge: {message}\n")
    assert project.run("submit", "Which?", "--model", "inherit").code == 0


def test_wait_prints_a_line_for_each_as_completed(project, host):
    """The failure of one does not hide the others; it shows in the exit code."""
    good, bad = project.submit("good"), project.submit("bad")

    with host.serving(lambda r: SUCCESS if r.prompt == "good" else "no\x1b[31m"):
        ran = project.run("wait", good, bad)

    lines = {line.partition("  ")[0]: line for line in ran.out.splitlines()}
    assert ran.code == 1
    assert ran.err.startswith(f"hostbridge: request {bad} failed: ")
    assert {*lines} == {good, bad}
    assert re.fullmatch(rf"{good}  success  [0-9.]+ s  yes", lines[good])
    said = re.escape(explain("no_json"))
    assert re.fullmatch(rf"{bad}  no_json  [0-9.]+ s  {said}", lines[bad])


def test_wait_json_is_a_record_a_line(project, host):
    """Machines read JSON lines."""
    ids = {project.submit("one"), project.submit("two")}

    with host.serving(SUCCESS):
        ran = project.run("wait", *ids, "--json")

    records = [json.loads(line) for line in ran.out.splitlines()]
    assert (ran.code, ran.err) == (0, "")
    assert {record["requestId"] for record in records} == ids
    assert all(record["parsedOutput"]["summary"] == "yes" for record in records)


def test_wait_for_a_request_that_ran_out_of_time(project, until):
    """What ends by its deadline exits with 5, whoever notices it."""
    request_id = project.submit(timeout_s=0.01)
    until(lambda: project.bridge.store.sweep(everything=True))

    ran = project.run("wait", request_id)

    assert (ran.code, ran.out.split("  ")[1]) == (5, "timeout")
    assert f"see all of it: hostbridge show {request_id}\n" in ran.err


def test_a_deadline_with_no_session_open_says_so(project):
    """Whose stage is "waiting" waits in vain where nobody could take it."""
    request_id = project.submit(timeout_s=1)

    ran = project.run("wait", request_id, "--json")

    said = "no answer within 1 s: no open session could take it"
    error = ran.json["error"]
    assert (error["stage"], error["message"]) == ("no host", said)


def test_error_wait_for_an_unknown_request(project):
    """A wrong id is not mistaken for a long wait, or for a wrong place."""
    nowhere = project.run("wait", "nobody")
    project.submit()
    here = project.run("wait", "nobody")

    ways = (
        "\n  what to do:\n    - see which there are: hostbridge status\n    - look "
        "into another project: hostbridge -C DIR status"
    )
    nowhere.fails(1, f"no request nobody here: there is no {project.state}{ways}")
    here.fails(1, f"no request nobody in {project.state}{ways}")


def test_cancel_goes_on_after_a_failure(project):
    """Each id has its message; the exit code says whether all were cancelled."""
    first, last = project.submit(), project.submit()
    project.bridge.cancel(first)

    ran = project.run("cancel", first, "nobody", last)

    ended = f"hostbridge: request {first} had ended: cancelled\n"
    nobody = f"hostbridge: no request nobody in {project.state}\n"
    assert ran == (1, f"cancelled {last}\n", ended + nobody)
    assert project.bridge.status(last).status == "cancelled"


def test_cancel_json(project):
    """One object a line."""
    request_id = project.submit()

    ran = project.run("cancel", request_id, "--json")

    assert (ran.code, ran.json) == (0, {"requestId": request_id, "cancelled": True})


def test_respond_from_stdin_and_from_a_file(project):
    """A person answers as an agent would; the record says that it was a person."""
    first, second = project.submit(), project.submit()
    (project.folder / "answer.json").write_text(SUCCESS)

    by_pipe = project.run("respond", first, stdin=SUCCESS.encode())
    by_file = project.run("respond", second, "answer.json", "--json")

    assert by_pipe == (0, f"answered {first}\n", "")
    assert (by_file.code, by_file.json["route"]) == (0, "manual")
    assert project.response(first).route == "manual"


def test_error_a_model_cannot_respond_for_another(project):
    """It would answer for whoever is to look at its work."""
    request_id = project.submit()
    project.env["CLAUDECODE"] = "1"

    ran = project.run("respond", request_id, "-", stdin=SUCCESS.encode())

    ran.refuses(1, "run `hostbridge reply` in a terminal of your own")
    assert project.response(request_id) is None


@pytest.mark.parametrize(
    ("words", "why"),
    [("yes", "no such file or directory"), ("yes " * 100, "file name too long")],
    ids=["word", "many words"],
)
def test_error_respond_with_words_for_a_file(project, words, why):
    """The answer is not an argument: the error says where it goes."""
    request_id = project.submit()

    ran = project.run("respond", request_id, words)

    hint = "an answer itself goes to stdin, which `-` reads, too"
    assert ran == (2, "", f"hostbridge: {words}: {why} ({hint})\n")


def test_error_respond_with_words_that_are_no_answer(project):
    """Nothing is reported as done without an answer that counts."""
    plain = project.submit()
    typed = project.submit(schema={"type": "integer"})

    words = project.run("respond", plain, stdin=b"Friday")
    value = project.run("respond", typed, stdin=b'"Friday"')

    words.fails(
        2,
        f"not an answer to request {plain}: what you gave holds no "
        "JSON value; expected one JSON value: `hostbridge schema agent-answer` "
        "prints its schema",
    )
    value.fails(
        2,
        f'not an answer to request {typed}: $: "Friday" is not of '
        'type "integer"; expected one JSON value: `hostbridge show --full '
        f"{typed}` shows its schema",
    )
