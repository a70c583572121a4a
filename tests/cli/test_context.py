"""`ask --context session` on the command line: what is said, and what is shown."""

import pytest

from bridge.protocol.request import Request

YES = "hostbridge config set --project share_conversation true"


@pytest.fixture
def waiting(project) -> str:
    """A request for a fork, as it lies on disk."""
    store = project.bridge.store
    facts = {"context_from": "session", "created_at": store.now_ms()}
    store.submit(Request(request_id="forked", prompt="What did we decide?", **facts))
    return "forked"


def test_show_and_status_say_whose_context_it_is(project, waiting):
    shown = project.run("show", waiting).out
    table = project.run("status").out
    record = project.run("show", waiting, "--json").json["request"]
    (live,) = project.run("status", "--json").json["requests"]

    assert ["context", "session"] in [line.split() for line in shown.splitlines()]
    assert "(context: session)" in table
    assert record["contextFrom"] == "session"
    assert live["context"] == "session"


def test_error_before_the_user_says_yes(project):
    project.run("ask", "Well?", "--context", "session").fails(
        2,
        f"no program may see the conversation of a session in {project.folder} "
        "(share_conversation)\n  what to do:\n"
        f"    - say yes for this project: `{YES}`\n    - ask without --context session",
    )


def test_error_without_a_session(project):
    project.run(*YES.split()[1:])

    ran = project.run("ask", "Well?", "--context", "session")

    ran.refuses(4, "no Claude Code session with hostbridge is open")
    assert "submit" not in ran.err
    # No way out that refuses the same words.
    assert "--route local" not in ran.err
    assert "ask a closed one: `--route claude --session ID`" in ran.err


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("how", ["ask", "submit"])
def test_error_inside_a_session(project, how):
    """The session of this test is one: what it starts asks for its model."""
    project.run(how, "Well?", "--context", "session").fails(
        1,
        "this runs inside a Claude Code session, whose model could decide; run "
        "`hostbridge ask --context session` in a terminal of your own",
    )
    assert not list(project.state.glob("requests/*"))
