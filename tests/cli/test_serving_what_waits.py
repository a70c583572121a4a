"""`submit --route` and `serve`: asked here, answered by another process."""

import signal

import pytest
from fakeclaude import WAITING, fake_claude

from bridge.api.project_status import SHOWN_WAITING

pytestmark = [pytest.mark.usefixtures("claude"), pytest.mark.slow]


def test_submit_waits_for_somebody_who_serves(project, claude):
    asked = project.run("submit", "--route", "claude", "Which?")
    waiting = project.run("status").out

    ran = project.run("serve", "--once")

    request_id = asked.out.strip()
    assert "waiting (claude)" in waiting
    assert ran.code == 0
    assert ran.out.startswith(f"{request_id}  success  ")
    assert (claude / "stdin").exists()
    assert project.response(request_id).route == "claude"


def test_serve_leaves_what_is_for_a_session(project):
    request_id = project.submit()

    ran = project.run("serve", "--once", "--route", "claude")

    serving = f"hostbridge: serving {project.folder} by claude\n"
    assert ran == (0, "", serving)
    assert project.bridge.status(request_id).status == "pending"


def test_serve_once_names_what_still_waits(project):
    """A route that this machine lacks is served by nobody, and nobody would know."""
    for _ in range(SHOWN_WAITING + 1):
        project.submit()
    project.submit(route="endpoint")
    project.submit(route="endpoint")

    ran = project.run("serve", "--once")
    chosen = project.run("serve", "--once", "--route", "claude")

    left = "hostbridge: still waiting: 2 for endpoint; `hostbridge doctor` says what"
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.splitlines()[-1].startswith(left)
    assert "hostbridge: not served: route endpoint: " in ran.err
    assert "still waiting" not in chosen.err
    assert "not served" not in chosen.err

    project.run("off")
    off = project.run("serve", "--once")
    assert off.err.splitlines()[-1].endswith(
        " off in this project; `hostbridge on` goes on"
    )


def test_serve_once_names_what_is_tried_again(project, claude):
    fake_claude(claude, "exit 3")
    request_id = project.submit(route="claude")

    ran = project.run("serve", "--once", "--route", "claude")

    assert (ran.code, ran.out) == (0, ""), ran
    said = ran.err.splitlines()[-1]
    assert said.startswith(f"hostbridge: request {request_id}: "), ran.err
    assert said.endswith("`hostbridge serve` goes on with it")
    waited = project.run("wait", request_id, "--timeout", "6s")
    assert "tried once before (" in waited.err, waited
    assert "`hostbridge serve` goes on with it" in waited.err
    assert "nobody had taken it" not in waited.err


def test_serve_prints_what_nobody_served_in_time(project):
    """Only of its own routes; a line each, as for any other."""
    late = project.submit(route="claude", timeout_s=0.001)
    project.submit(timeout_s=0.001)

    ran = project.run("serve", "--once", "--route", "claude")

    assert ran.code == 0
    assert ran.out.count("\n") == 1
    assert ran.out.startswith(f"{late}  timeout  ")


def test_a_killed_process_is_shown_as_gone(project, claude, until):
    """Its request waits again after the next sweep; until then `status` says so."""
    fake_claude(claude, WAITING)
    with project.start("ask", "--route", "claude", "Which?") as process:
        until((claude / "pid").exists)
        process.kill()
        process.communicate(timeout=300)
    (file,) = project.state.glob("processing/*.json")

    status = project.run("status").out
    (waiting,) = project.run("status", "--json").json["requests"]
    show = project.run("show", file.stem).out

    assert "\trunning (claude, its process is gone)\t" in status
    assert waiting["isAbandoned"]
    assert f"\nserved by pid {process.pid}, which is gone\n" in show


def test_serve_goes_on_until_interrupted(project, claude, until):
    """What was interrupted waits again, with no try used up."""
    with project.start("serve") as process:
        first = project.submit(route="claude")
        until(lambda: project.response(first))
        fake_claude(claude, WAITING)
        second = project.submit(route="claude")
        until((claude / "pid").exists)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)

    assert process.returncode == 130
    found = project.bridge.status(second)
    assert (found.status, found.request.attempt) == ("pending", 0)


def test_error_serve_with_nothing_to_serve_with(project):
    none = {"BRIDGE_CLAUDE": "no-such-claude"}
    ran = project.run("serve", "--route", "claude", "--route", "endpoint", env=none)

    assert (ran.code, ran.out) == (4, "")
