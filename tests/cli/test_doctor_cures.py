"""The cures of doctor and of failures, followed: then the finding is gone.

A cure that is no command is an action of a person, such as opening a session.
"""

import json
import re
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from bridge.doctor import hooks, machine, requests, searching
from bridge.doctor.client import open_sessions
from bridge.doctor.finding import Finding, Verdict
from bridge.doctor.subject import Subject, subject
from bridge.store import wakeups
from bridge.store.host_process import identify

pytestmark = pytest.mark.slow

NAMED = re.compile(r"(?:hostbridge|chmod) [a-z0-7][^;,(`\n]*")


class Case(NamedTuple):
    """A check, what makes it find something, and the verdict after the cure."""

    check: Callable[[Subject], Iterator[Finding]]
    ruin: Callable[[object], object]
    verdict: Verdict = Verdict.OK


def installed(*kinds: str):
    return lambda p: [p.run("install", f"--{kind}") for kind in kinds]


def moved_away(project) -> None:
    project.run("install")
    file = project.folder / ".claude" / "settings.local.json"
    file.write_text(re.sub(r'"[^"]*/hooks/', '"/gone/hooks/', file.read_text()))


def edited(project) -> None:
    project.run("install")
    file = project.folder / ".claude" / "settings.local.json"
    content = json.loads(file.read_text())
    del content["hooks"]["Stop"]
    file.write_text(json.dumps(content))


def overdue(project) -> None:
    project.submit(timeout_s=0.01)
    time.sleep(0.02)


def exposed(project) -> None:
    file = Path(project.env["HOME"], ".hostbridge", "config.toml")
    project.submit()
    file.write_text('openai_api_key = "secret"\n')
    file.chmod(0o644)


def searchless(project) -> None:
    project.run("install")
    for file in Path(project.env["HOME"]).rglob("hostbridge-reader.md"):
        file.unlink()


CASES = {
    "not registered": Case(hooks.registered, lambda _: None),
    "registered twice": Case(hooks.registered, installed("user", "local")),
    "files are gone": Case(hooks.registered, moved_away),
    "hooks were edited": Case(hooks.registered, edited),
    "off": Case(machine.switch, lambda p: (p.submit(), p.run("off"))),
    "requests while off": Case(
        requests.stuck,
        lambda p: (p.submit(), p.run("off")),
        # Then it waits for a session.
        Verdict.PROBLEM,
    ),
    "overdue": Case(requests.stuck, overdue),
    "others can read a key": Case(machine.config_files, exposed),
    "agents cannot search": Case(searching.agents_search, searchless),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_cure_is_followed(project, case):
    case.ruin(project)
    before = found(project, case)
    assert before.verdict is not Verdict.OK

    run_cure(project, before.cure)

    after = found(project, case)
    assert after.verdict is case.verdict
    assert (after.found, after.cause) != (before.found, before.cause)


@pytest.mark.usefixtures("client")
def test_a_session_is_switched_on_again(project):
    project.run("off", "--session", "s-1")
    case = Case(open_sessions, lambda _: None)
    before = found(project, case)

    run_cure(project, before.cure)

    assert "is switched off" in before.found
    assert "is switched off" not in found(project, case).found


def test_an_idle_session_is_woken_for_a_new_limit(project, client):
    """It writes down what it obeys; `status` and `doctor` show that."""
    assert project.run("config", "set", "agents_per_hour", "0").code == 0

    host = identify(client.pid)
    assert wakeups.unanswered_s(project.bridge.store, host) is not None


def found(project, case: Case) -> Finding:
    """The worst that the check finds."""
    seen = subject(project.env, project.folder)
    return max(case.check(seen), key=lambda each: list(Verdict).index(each.verdict))


def run_cure(project, cure: str) -> None:
    command = shlex.split(NAMED.findall(cure)[0])
    if command[0] == "chmod":
        Path(command[2]).chmod(int(command[1], 8))
        return
    ran = project.run(*command[1:])
    assert ran.code == 0, ran


def test_what_a_timeout_says_is_done(project):
    """To wait again, and to end it: both commands are those of this request."""
    request_id = project.submit()
    said = project.run("wait", request_id, "--timeout", "0.1").err
    again, end = (shlex.split(line) for line in NAMED.findall(said))

    assert project.run(*again[1:], "--timeout", "0.1").code == 5
    assert project.run(*end[1:]).code == 0
    assert project.run(*again[1:]).code == 1


def test_live_says_that_hostbridge_is_off(project):
    project.run("submit", "x")
    project.run("off")

    ran = project.run("doctor", "--live", "--json")

    (live,) = (each for each in ran.json["checks"] if each["name"] == "live")
    assert live["cure"] == "`hostbridge on`"
