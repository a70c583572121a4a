"""Things that are badly broken: doctor names them, and never falls over them."""

import json
import os
import shutil
import signal
import subprocess
import sys

import forkserver
import pytest

from bridge.doctor import machine, state
from bridge.doctor.examine import CHECKS, examine, guarded, worst
from bridge.doctor.finding import Finding, Verdict, ok, problem, warning
from bridge.store.host_process import name_of

pytestmark = pytest.mark.slow


def make_state(patient):
    """A state directory as our hooks leave it."""
    store = patient.seen().store()
    with store.exclusive():
        pass


def test_every_check_reports_on_a_healthy_machine(patient):
    """And the names in the table are those of the findings."""
    findings = list(examine(patient.seen()))

    names = [finding.name for finding in findings]
    assert set(names) <= {name for name, _ in CHECKS}
    problems = {f.name: f.found for f in findings if f.verdict is Verdict.PROBLEM}
    assert problems == {"hooks": f"not registered for {patient.project}"}
    for finding in findings:
        assert finding.verdict is Verdict.OK or (finding.cause and finding.cure)


def file_in_the_way(patient):
    patient.bridge.write_text("not a folder")


def link_in_the_way(patient):
    patient.bridge.symlink_to(patient.project)


def open_to_others(patient):
    make_state(patient)
    patient.bridge.chmod(0o777)


def state_is_a_file(patient):
    make_state(patient)
    shutil.rmtree(patient.state)
    patient.state.write_text("x")


def folders_are_files(patient):
    make_state(patient)
    for name in ("requests", "responses", "sessions", "quarantine", "locks"):
        shutil.rmtree(patient.state / name, ignore_errors=True)
        (patient.state / name).write_text("x")


def garbage_everywhere(patient):
    make_state(patient)
    for name in ("requests", "processing", "responses", "done", "sessions"):
        folder = patient.state / name
        folder.mkdir(exist_ok=True)
        (folder / "one.json").write_bytes(b"\xff\x00{")
        (folder / "two.json").mkdir()
        os.mkfifo(folder / "three.json")
        (folder / "four.json").symlink_to("/etc/passwd")
        (folder / "five.json").write_text('{"schemaVersion": 99}')
        for file in ("one.json", "five.json"):
            os.utime(folder / file, (1, 1))
    (patient.state / "quarantine").mkdir(exist_ok=True)
    (patient.state / "quarantine" / "x.reason").write_text("[]")
    (patient.bridge / "hook-errors.log").write_bytes(b"\xff" * 100_000)


def settings_are_garbage(patient):
    for folder in (patient.project, patient.home):
        (folder / ".claude").mkdir()
        for name in ("settings.json", "settings.local.json"):
            (folder / ".claude" / name).write_bytes(b"\xff{")
    (patient.managed / "managed-settings.json").write_text("[]")


LIES = (file_in_the_way, link_in_the_way, open_to_others, state_is_a_file)
DAMAGE = (*LIES, folders_are_files, garbage_everywhere, settings_are_garbage)


def assert_no_bug(found):
    words = found.partition(":")[0]
    assert words not in ("AttributeError", "TypeError", "KeyError", "ValueError")


def test_it_finds_that_the_project_is_gone(patient):
    shutil.rmtree(patient.project)

    findings = list(examine(patient.seen()))

    assert worst(findings) is not Verdict.OK
    for finding in findings:
        assert_no_bug(finding.found)


@pytest.mark.parametrize("damage", DAMAGE)
def test_it_finds_damage_and_no_bug_of_its_own(patient, damage):
    """And the command line never traces back."""
    damage(patient)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(patient.home), "LANG": "C.UTF-8"}

    done = forkserver.run(
        ["doctor", "--json", "--live", "--timeout", "1"], env=env, cwd=patient.project
    )

    assert (done.code, done.err) == (1, b"")
    printed = json.loads(done.out)
    assert printed["verdict"] == "problem"
    assert {"name", "verdict", "found", "cause", "cure"} == set(printed["checks"][0])
    for check in printed["checks"]:
        assert_no_bug(check["found"])


def test_error_state_is_open_to_others(patient):
    open_to_others(patient)

    assert patient.only(state.directory) == problem(
        f"{patient.bridge}: others can write to it (mode 0777); run: chmod 700 "
        f"{patient.bridge}",
        "requests and answers would not be safe there",
        "see to what `state` says, then look again",
    )


def test_a_state_that_is_not_there_yet_is_not_made(patient):
    """To look is not to ask; its place is checked all the same."""
    (finding,) = patient.found(state.directory)
    list(examine(patient.seen()))
    made = patient.bridge.exists()
    patient.bridge.mkdir()
    patient.bridge.chmod(0o777)
    (refused,) = patient.found(state.directory)

    assert finding.verdict is Verdict.OK
    assert finding.found.startswith(
        f"{patient.state} (the state lies under ~/.hostbridge/state, at the same "
        "path as the project); "
        "not there yet: nothing was ever asked here, "
    )
    assert not made
    assert refused.found.startswith(f"{patient.bridge}: others can write to it")


def test_error_a_place_where_no_state_can_be_made(patient):
    """Below a file; or inside the project, where a clone could fill it."""
    (patient.root / "file").touch()
    blocked, inside = patient.root / "file" / "state", patient.project / "state"

    (below,) = patient.found(state.directory, BRIDGE_STATE_DIR=str(blocked))
    (within,) = patient.found(state.directory, BRIDGE_HOME=str(inside))

    assert {below.verdict, within.verdict} == {Verdict.PROBLEM}
    assert below.found == (
        f"{blocked}: not a folder of its own; set BRIDGE_HOME, or BRIDGE_STATE_DIR, to "
        "one; hostbridge follows no link"
    )
    assert within.found == (
        f"{inside}: BRIDGE_HOME lies inside the project {patient.project}, whose files "
        "anyone may write; set BRIDGE_HOME to a folder outside of it"
    )


TAKES = """
import fcntl, os, signal, sys
fcntl.flock(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX)
pid = os.fork() if sys.argv[2:] else 0
pid or print(os.getpid(), flush=True)
pid or signal.pause()
"""


@pytest.mark.parametrize("is_forked", [False, True], ids=["itself", "its fork"])
def test_a_lock_that_somebody_holds_is_named(patient, is_forked):
    """With the pid if the kernel knows it: a stopped process holds it for ever.

    What has the file open may be a child, and the one that took the lock gone.
    """
    make_state(patient)
    lock = patient.state / "locks" / "store.lock"
    command = [sys.executable, "-Sc", TAKES, lock, *["fork"] * is_forked]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        pid = int(holder.stdout.readline())
        if is_forked:
            holder.wait()
        (finding,) = patient.found(state.locks)
        name = name_of(pid)
        os.kill(pid, signal.SIGKILL)

    by = f" by pid {pid} ({name})" if sys.platform == "linux" else ""
    assert finding == problem(
        f"{lock} is held{by}; waited 2 s. See `hostbridge doctor`",
        "that process is stopped, stuck in a slow file system, or the fork of one that "
        "held the lock",
        "end the process that holds the lock; that frees it",
    )


def test_locks_that_lock_are_ok(patient):
    make_state(patient)

    (finding,) = patient.found(state.locks)

    assert finding.verdict is Verdict.OK
    assert finding.found.startswith("flock works; the store's lock was free (")
    assert os.listdir(patient.state / "locks") == ["store.lock"]


def test_quarantine_shows_the_newest_reason(patient):
    make_state(patient)
    folder = patient.state / "quarantine"
    folder.mkdir()
    for number, why in enumerate(["the first", "the last"]):
        (folder / f"r{number}").write_text("x")
        reason = {"from": f"/x/r{number}.json", "at": number, "reason": why}
        (folder / f"r{number}.reason").write_text(json.dumps(reason))

    (finding,) = patient.found(state.quarantine)

    assert finding.verdict is Verdict.WARNING
    assert finding.found == f"2 files in {folder}; the newest: /x/r1.json: the last"


def test_hook_errors_show_the_newest(patient):
    make_state(patient)
    log = patient.bridge / "hook-errors.log"
    log.write_text(
        "2026-11-21T10:00:00 Stop\nTraceback (most recent call last):\nOSError: old\n"
        "2026-11-21T11:00:00 PostToolUse\nTraceback (most recent call last):\n"
        '  File "x", line 1\nOSError: [Errno 28] No space left on device\n'
    )

    (finding,) = patient.found(state.hook_errors)

    assert finding.verdict is Verdict.WARNING
    assert finding.found == (
        f"2 in {log}; the newest, 2026-11-21T11:00:00 PostToolUse: "
        "OSError: [Errno 28] No space left on device"
    )


TWO_WRONG = {"BRIDGE_SLOTS": "many", "BRIDGE_OFF": "perhaps"}
NO_PATH = "BRIDGE_HOME='here': expected an absolute path"


@pytest.mark.parametrize(
    ("env", "verdict", "found"),
    [
        ({}, Verdict.OK, "the defaults; no BRIDGE_* variable is set"),
        ({"BRIDGE_SLOTS": "2"}, Verdict.OK, "BRIDGE_SLOTS=2"),
        # What doctor prints is pasted into reports.
        ({"BRIDGE_OPENAI_API_KEY": "sk"}, Verdict.OK, "BRIDGE_OPENAI_API_KEY=…"),
        (TWO_WRONG, Verdict.PROBLEM, "BRIDGE_OFF='perhaps': expected 1 or 0"),
        ({"BRIDGE_HOME": "here"}, Verdict.PROBLEM, NO_PATH),
    ],
)
def test_settings_are_checked(patient, env, verdict, found):
    (finding,) = patient.found(machine.variables, **env)

    assert (finding.verdict, finding.found) == (verdict, found)


def test_a_misspelt_variable_is_noticed(patient):
    findings = patient.found(machine.variables, BRIDGE_SLOT="2", BRIDGE_OF_SIGHS="1")

    assert findings == [
        ok("the defaults"),
        warning(
            "BRIDGE_SLOT is set; hostbridge has no such setting",
            "perhaps it is misspelt",
            "rename BRIDGE_SLOT, if BRIDGE_SLOTS was meant",
        ),
    ]


def test_off_is_a_problem_with_a_cure(patient):
    make_state(patient)
    on = patient.found(machine.switch)
    (patient.state / "off").touch()
    off = patient.found(machine.switch)
    both = patient.found(machine.switch, BRIDGE_OFF="1")
    (patient.state / "off").unlink()
    env = patient.found(machine.switch, BRIDGE_OFF="1")

    by_env = "off in this shell: BRIDGE_OFF is set"
    by_word = f"off in {patient.project}"
    found = [[f.found for f in each] for each in (on, off, both, env)]
    assert found == [["on"], [by_word], [by_env, by_word], [by_env]]
    assert [f.cure for f in off] == ["hostbridge on"]


def test_a_check_that_breaks_is_a_finding():
    def look():
        yield ok("so far")
        raise ZeroDivisionError("division by zero")

    first, second = guarded("x", look)

    assert first.found == "so far"
    assert second == Finding(
        Verdict.PROBLEM,
        "ZeroDivisionError: division by zero",
        "this could not be checked",
        "see to what `x` says; if you cannot, report a bug",
        name="x",
    )
