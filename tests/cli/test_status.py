"""`hostbridge status`: sessions, requests, what ended last; once or followed."""

import json
import os
import re
import signal
import time

import pytest
from trustworld import Terminal

from bridge.config import DEFAULTS
from bridge.protocol.ids import new_request_id

pytestmark = pytest.mark.slow


def spans(text: str) -> str:
    """Lengths of time made equal."""
    text = re.sub(r"\bjust now\b|\d+ s ago\b", "AGO", text)
    return re.sub(r"\d+(\.\d)? (s|min)\b", "SPAN", text)


def test_sessions_requests_and_results(project, host):
    """One look shows who works on what, what waits, and how the rest ended."""
    ended = project.submit("a")
    (request,) = host.claim()
    host.answer(request, "prose")
    running = project.submit("b", agent="Explore")
    host.claim()
    waiting = project.submit("c", priority="low")
    nobody = project.submit("d", session="another")

    ran = project.run("status")

    assert (ran.code, ran.err) == (0, "")
    assert spans(ran.out) == (
        f"{project.folder}\n\nSESSION\tSTATE\tAGENTS\tPID\n"
        f"session-1\topen\t1 of 4\t{os.getpid()}\n\n"
        "REQUEST\tSTAGE\tASKED\tLEFT\tAGENT\tBY\tPROMPT\n"
        f"{running}\trunning\tAGO\tSPAN\tExplore\ta test\tb\n"
        f"{nobody}\tno open session\tAGO\tSPAN\tgeneral-purpose\ta test\td\n"
        f"{waiting}\twaiting (low)\tAGO\tSPAN\tgeneral-purpose\ta test\tc\n\n"
        "REQUEST\tRESULT\tENDED\tTOOK\tAGENT\tPROMPT\n"
        f"{ended}\tfailed: no_json\tAGO\tSPAN\tgeneral-purpose\ta\n1 ended in all\n"
    )


@pytest.mark.usefixtures("host")
def test_json_has_the_same_facts(project):
    """For machines; lengths of time in seconds."""
    request_id = project.submit("a")

    ran = project.run("status", "--json")

    printed = ran.json
    (request,) = printed.pop("requests")
    (session,) = printed.pop("sessions")
    budgets = {each["key"]: each for each in session.pop("budgets")}
    assert (ran.code, ran.err) == (0, "")
    place = {"project": str(project.folder), "state": str(project.state)}
    switches = {"exists": True, "isOff": False, "isOffHere": False, "offS": None}
    counts = {"claimed": 0, "waiting": 1, "ended": 0, "tasks": None}
    lists = {"unreadable": [], "last": [], "runs": [], "worktrees": []}
    switches |= {"dropped": None, "cleaned": None}
    assert printed == place | switches | counts | lists
    who = {"sessionId": "session-1", "pid": os.getpid(), "cwd": str(project.folder)}
    state = {"seen": "alive", "wakes": True, "isOff": False, "offS": None}
    state |= {"wakesAtOnce": False}
    agents = {"running": 0, "slots": 4, "started": 0, "agentsPerHour": 200, "untold": 0}
    assert session == who | state | agents
    kinds = [f"{what}_per_" for what in ("agents", "tokens")]
    assert budgets == {
        key: {"key": key, "used": 0, "most": DEFAULTS[key]}
        for key in (kind + window for window in ("session", "hour") for kind in kinds)
    }
    assert (request["requestId"], request["stage"]) == (request_id, "waiting")
    assert request["waits"]["kind"] == "turn"
    assert 119 <= request["ageS"] + request["leftS"] <= 120


def test_of_many_waiting_the_first_twenty_are_shown(project):
    """In the order in which they will be taken; the rest is counted, not read."""
    project.submit("first")
    first = next((project.state / "requests").iterdir())
    record = json.loads(first.read_text())
    for number in range(1, 1_000):
        name = new_request_id(time.time_ns() // 1000 + number)
        text = json.dumps(record | {"requestId": name}) if number < 30 else "not read"
        first.with_name(f"{name}.json").write_text(text)

    ran = project.run("status")

    shown = [line for line in ran.out.splitlines() if "\tno open session\t" in line]
    assert (len(shown), shown[0].split()[0]) == (20, first.stem)
    assert "\nand 980 more wait; 1,000 in all\n" in ran.out


def test_what_cannot_be_read_is_named(project):
    """It waits as the others do; `and 1 more` would hide it."""
    project.submit("first")
    for name in ("cut", "empty", "a b; touch c"):
        file = project.state / "requests" / f"{name}.json"
        file.write_text('{"prompt": ' if name == "cut" else "")
        os.utime(file, (0, 0))

    ran = project.run("status")

    assert "\ncut  cannot be read: hostbridge show cut\n" in ran.out
    assert "\nempty  cannot be read: hostbridge show empty\n" in ran.out
    # A name may be a command of somebody's own: it is in none of ours.
    odd = "a b; touch c  is no id of a request; the file is in requests/"
    assert odd in ran.out.splitlines()
    assert "more wait" not in ran.out


def test_a_request_that_has_ended_is_not_open_before_the_cleanup(project):
    """Somebody else had the lock when it was cancelled: the response decides."""
    request_id = project.submit()
    with project.bridge.store.exclusive():
        assert project.run("cancel", request_id).code == 0

        printed = project.run("status", "--json").json

    assert (printed["requests"], printed["waiting"], printed["ended"]) == ([], 0, 1)


def test_off_is_shown_with_its_cause(project):
    """Two switches: one for the project, one for what is started in this shell."""
    project.run("off")

    ran = project.run("status", env={"BRIDGE_OFF": "1"})

    assert spans(ran.out).splitlines()[:3] == [
        str(project.folder),
        "off for SPAN, by `hostbridge off`; `hostbridge on` turns it on",
        "off in this shell: BRIDGE_OFF is set",
    ]


def test_overdue_is_shown_if_it_cannot_be_ended(project):
    """The lock is taken: a look does not fail for that."""
    project.submit("a", timeout_s=0.001)

    with project.bridge.store.exclusive():
        ran = project.run("status")

    assert (ran.code, ran.err) == (0, "")
    assert "\toverdue\t" in ran.out


@pytest.mark.usefixtures("host")
def test_watch_cuts_no_id(project):
    """A narrow terminal loses what is said of a request, not which one it is."""
    ids = [project.submit("a"), project.submit("b", request_id="x" * 50)]
    env = {"TERM": "xterm", "COLUMNS": "30"}
    terminal = Terminal(project, "status", "--watch", size=(40, 30), **env)
    terminal.read_until("ended in all")
    terminal.type("\x03")
    terminal.end()

    whole = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\s", "", terminal.seen)
    assert all(each in whole for each in ids)
    assert "general-purpose" not in whole


def test_watch_json_prints_lines(project):
    """A program can follow, too."""
    with project.start("status", "--watch", "--json") as process:
        first = json.loads(process.stdout.readline())
        project.submit("a")
        # It may have looked between the making of the folder and that of the file.
        seen = (json.loads(line)["waiting"] for line in process.stdout)
        assert next(waiting for waiting in seen if waiting) == 1
        process.send_signal(signal.SIGINT)

    assert (first["waiting"], process.returncode) == (0, 0)
