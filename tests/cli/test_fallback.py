"""`--fallback-after`: an open session first, then a process of ours; one result."""

import os
import time

import pytest
from fakeclaude import BY_CLAUDE, SERVED

pytestmark = pytest.mark.slow

FLAG = {"BRIDGE_CLI_FALLBACK": "claude"}
ANSWER = '{"status": "success", "summary": "three modules lack tests"}'


@pytest.mark.usefixtures("host", "claude")
def test_fallback_when_no_session_took_it(project):
    """The request stays the host's; the answer says who gave it."""
    ran = project.run("ask", "?", "--fallback-after", "0.5", "--json", env=FLAG)

    record = ran.json
    assert (ran.code, record["route"]) == (0, "claude")
    assert record["duration"] > 500
    assert project.bridge.status(record["requestId"]).request.route == "host"


def test_no_fallback_when_a_session_works_on_it(project, claude, host):
    """Taken is taken: the same work is not done twice."""
    ahead = project.folder.with_name("ahead")

    def answer_late(_: object) -> str:
        """The time for a session is over while it works; the fallback could begin."""
        ahead.write_text("1000")
        time.sleep(2)
        return ANSWER

    words = ("ask", "?", "--fallback-after", "600", "--timeout", "3000")
    with host.serving(answer_late):
        ran = project.run(*words, env=FLAG, ahead=ahead)

    assert ran == (0, "success: three modules lack tests\n", "")
    assert not (claude / "stdin").exists()


@pytest.mark.usefixtures("host", "claude")
def test_inside_the_only_session_the_fallback_may_wait(project):
    """There an ask would wait for itself; the fallback does not."""
    inside = {"CLAUDE_PID": str(os.getpid()), **FLAG}

    ran = project.run("ask", "?", "--fallback-after", "1000", env=inside)

    assert ran == (0, SERVED, BY_CLAUDE)
