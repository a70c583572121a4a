"""Whoever asks for many agents at once waits for a yes: `hostbridge reply`."""

import os

import pytest
from fakeclaude import BY_CLAUDE, SERVED
from sessionworld import in_a_session
from trustworld import Terminal

pytestmark = pytest.mark.slow

SURPLUS = "session session-1 asked for more than 2 agents at once (fan_out)"


@pytest.fixture
def asked(project):
    """Two requests that may go on, and two that are held."""
    project.env["BRIDGE_FAN_OUT"] = "2"
    return [project.run("submit", f"number {n}").out.strip() for n in range(4)]


def held(project) -> list[str]:
    return [each.request_id for each in project.bridge.store.held_requests()]


def answer(project, word: str, *words: str) -> Terminal:
    terminal = Terminal(project, "reply", *words)
    terminal.read_until("Type yes to agree: ")
    terminal.type(f"{word}\n")
    return terminal


def test_a_yes_frees_what_is_held(project, asked):
    assert held(project) == asked[2:]

    terminal = answer(project, "yes", "--all-held")

    assert terminal.end() == 0
    assert f"{asked[2]}  general-purpose  by a test: number 2" in terminal.seen
    assert "Let 2 requests go on?" in terminal.seen
    assert "approved 2 requests" in terminal.seen
    assert held(project) == []
    assert not (project.state / "held").exists()
    # The next is held again.
    fifth = project.run("submit", "number 4").out.strip()
    assert held(project) == [fifth]


def test_a_no_leaves_it(project, asked):
    terminal = answer(project, "y", "--all-held")

    assert terminal.end() == 1
    assert "nothing was changed; only the word yes agrees" in terminal.seen
    assert held(project) == asked[2:]


def test_one_is_named(project, asked):
    assert answer(project, "yes", asked[3]).end() == 0

    assert held(project) == [asked[2]]


@pytest.mark.usefixtures("host")
def test_it_says_why_it_waits(project, asked):
    """In every place where somebody may look."""
    status, show = project.run("status"), project.run("show", asked[3])
    doctor = project.run("doctor")
    waited = project.run("wait", asked[3], "--timeout", "0.2")
    (limit,) = {
        str(each.get("heldBack"))
        for each in project.run("status", "--json").json["requests"]
        if each.get("heldBack")
    }

    assert "waiting (held)" in status.out
    line = f"held back: {SURPLUS}; the others wait for a person's yes; more now: "
    assert f"{line}hostbridge reply --all-held" in " ".join(status.out.split())
    for ran in (show.out, doctor.out, waited.err):
        assert SURPLUS in " ".join(ran.split())
    assert "'limit': 'fan_out'" in limit


def test_the_older_spelling_says_which_is_the_newer(project, asked):
    assert asked
    terminal = Terminal(project, "approve", "--all")
    terminal.read_until("Type yes to agree: ")
    terminal.type("yes\n")

    assert terminal.end() == 0
    newer = "`hostbridge approve` is the older spelling of `hostbridge reply`"
    assert newer in " ".join(terminal.seen.split())
    assert held(project) == []


def test_a_no_cancels_what_is_held_and_other_words_do_nothing(project, asked):
    project.run("reply", asked[2], "perhaps").refuses(2, "reply yes or no")
    assert held(project) == asked[2:]

    project.run("reply", asked[2], "no").prints(0, f"cancelled {asked[2]}\n")

    assert held(project) == asked[3:]
    assert project.response(asked[2]).error.code == "cancelled"


def test_another_program_is_not_held(project, asked):
    project.env["BRIDGE_REQUESTER"] = "somebody else"

    project.run("submit", "?")

    assert held(project) == asked[2:]


@pytest.mark.usefixtures("asked")
def test_what_is_held_ends_by_its_deadline(project):
    late = project.run("submit", "?", "--timeout", "0.2").out.strip()

    project.run("wait", late)

    assert project.response(late).error.code == "timeout"


@pytest.mark.usefixtures("claude", "asked", "host")
def test_what_may_fall_back_does(project):
    how = ("--fallback-after", "0.5", "--fallback", "claude")

    assert project.run("ask", "?", *how) == (0, SERVED, BY_CLAUDE)


@pytest.mark.parametrize("words", [("--all-held",), ("ID",)])
def test_a_session_cannot_say_yes(project, asked, words):
    """Its model would approve what it asked for itself."""
    in_a_session(project, os.getpid())
    named = [asked[2] if word == "ID" else word for word in words]

    terminal = Terminal(project, "reply", *named)

    assert terminal.end() != 0
    assert "session" in terminal.seen
    assert "Type yes" not in terminal.seen
    assert held(project) == asked[2:]


def test_without_a_terminal_nobody_can_say_yes(project, asked):
    assert project.run("reply", "--all-held", start_new_session=True).code != 0
    assert held(project) == asked[2:]


def test_error_nothing_to_approve(project):
    assert project.run("approve", "--all").out == "no request waits for a yes\n"
    project.run("approve").fails(
        2, "approve needs an ID, a RUN, or --all; see `hostbridge questions`"
    )
    project.submit()
    project.run("reply").fails(2, "reply needs an ID; see `hostbridge questions`")
    project.run("approve", "nobody").fails(
        2, "request nobody does not wait or run here"
    )
