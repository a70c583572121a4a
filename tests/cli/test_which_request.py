"""Which request is meant: the latest, or the one whose id begins so."""

import json

import pytest


@pytest.fixture
def two(project):
    """Two requests with ids of a program's own."""
    return [project.submit(n, request_id=f"ab-{n}", agent="Explore") for n in "12"]


def test_show_shows_the_latest(project):
    first = project.submit("a", request_id="zzz")
    latest = project.submit("b")

    assert project.run("show").out.startswith(f"request   {latest}\n")
    assert first not in project.run("show").out


def test_the_latest_may_have_an_id_of_its_own(project):
    """Such an id does not say when it was asked: its file does."""
    project.submit("a")
    project.submit("b", request_id="0")

    assert project.run("show", "--json").json["requestId"] == "0"


def test_error_show_where_nothing_was_asked(project):
    project.run("show").fails(
        1,
        f"nothing was ever asked here ({project.folder}); try: hostbridge ask "
        '"Which modules lack tests?"',
    )


def test_the_beginning_of_an_id_names_it(project, two):
    project.submit("c", request_id="b-1")
    project.submit("d", request_id="ab")

    def shown(words):
        return project.run("show", words, "--json").json["requestId"]

    assert [shown("b"), shown("ab-1"), shown("ab")] == ["b-1", two[0], "ab"]


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("command", ["show", "wait", "cancel", "respond"])
def test_error_several_ids_begin_so(project, command):
    """None is taken for another: the matches are listed."""
    project.run(command, "ab").fails(
        2,
        "request ab: the ids of 2 requests begin so; which one?\n"
        "  | ab-2  waiting  Explore  2\n  | ab-1  waiting  Explore  1",
    )


@pytest.mark.usefixtures("beside")
def test_each_command_takes_a_beginning(project, host):
    asked = project.submit("a", request_id="ask-me")
    project.submit("b", request_id="never-mind")
    project.submit("c", request_id="by-hand")
    answer = b'{"status": "success", "summary": "yes"}'

    assert project.run("cancel", "never").out == "cancelled never-mind\n"
    assert project.run("respond", "by", stdin=answer).out == "answered by-hand\n"
    (request,) = host.claim()
    host.answer(request, answer.decode())
    assert json.loads(project.run("wait", "ask", "--json").out)["requestId"] == asked


def test_error_no_id_begins_so(project, two):
    """As before: where it was looked for."""
    assert two
    ran = project.run("show", "x")
    ran.refuses(1, f"hostbridge: no request x in {project.state}\n")
    project.run("show", "").fails(
        2, "request id '': expected 1 to 128 of A-Z a-z 0-9 _ -"
    )
