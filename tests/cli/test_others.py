"""The small commands: where, off and on, schema, prune."""

import json
import os
import time

import jsonschema
import pytest
from screens import on_terminal

from bridge.api.record_schemas import schema_for, schema_names
from bridge.cli.main import run
from bridge.store.clock import SystemClock


def test_where_prints_the_path_alone(project):
    """`ls "$(hostbridge where)"` works, and shows nothing else."""
    project.run("where").prints(0, f"{project.state}\n")
    assert not project.state.exists()


def test_where_explains_itself_on_a_terminal(project):
    """And says whether there is anything."""
    why = (
        f"the project is {project.folder}; the state lies under "
        "~/.hostbridge/state, at the same path as the project\n"
    )
    yet = "it is not there yet: nothing was ever asked here\n"

    before = on_terminal(project, "where", columns=500, NO_COLOR="1")
    project.submit("a")
    after = on_terminal(project, "where", columns=500, NO_COLOR="1")

    assert before == f"{project.state}\n{why}{yet}"
    assert after == f"{project.state}\n{why}"


NEVER = "nothing was ever asked here"
NOBODY = "no request nobody here: there is no "
LOOKS = {
    "status": NEVER,
    "status --json": '"exists":false',
    "show nobody": NOBODY,
    "wait nobody": NOBODY,
    "cancel nobody": NOBODY,
    "respond nobody": NOBODY,
    "where": "\n",
    "on": "(it was not off)",
    "report -": "<!doctype html>",
    "prune": "removed: requests 0",
    "doctor --all": NEVER,
    "ask Anybody?": "no Claude Code session with hostbridge is open",
}


@pytest.mark.parametrize("words", LOOKS)
@pytest.mark.parametrize("variable", ["HOME", "BRIDGE_STATE_DIR"])
def test_looking_creates_nothing(project, tmp_path, words, variable):
    """A fresh home stays fresh, and a slip in a path leaves no folders."""
    before = set(tmp_path.rglob("*"))

    ran = project.run(*words.split(), env={variable: str(tmp_path / "slip" / "of")})

    assert LOOKS[words] in ran.out + ran.err
    assert set(tmp_path.rglob("*")) == before


def test_where_json(project):
    """All of it on stdout."""
    ran = project.run("where", "--json", env={"BRIDGE_STATE_DIR": "/tmp/elsewhere"})

    assert (ran.code, ran.err) == (0, "")
    assert ran.json == {
        "state": "/tmp/elsewhere",
        "project": str(project.folder),
        "reason": "BRIDGE_STATE_DIR names it",
        "exists": False,
    }


@pytest.mark.usefixtures("beside")
def test_off_and_on_for_the_project(project):
    """One word stops everything; it says what that means."""
    off = project.run("off")
    repeated = project.run("off")
    asked = project.run("ask", "x")
    on = project.run("on")
    again = project.run("on")

    off.prints(
        0,
        f"off in {project.folder}, in every session: running agents are stopped at "
        "their next tool call, requests wait. `hostbridge on` turns it on again\n",
    )
    assert (
        f"off in {project.folder}, in every session (it was off, for " in repeated.out
    )
    asked.refuses(4, "hostbridge is off in this")
    assert on == (0, f"on in {project.folder}\n", "")
    assert again == (0, f"on in {project.folder} (it was not off)\n", "")


@pytest.mark.usefixtures("beside")
def test_off_and_on_for_a_session(project):
    """Another session goes on as before."""
    off = project.run("off", "--session", "session-1")
    seen = project.bridge.overview()
    still = project.run("on")
    on = project.run("on", "--session", "session-1")

    others = f"the others of {project.folder} go on"
    assert off.out.startswith(f"off in session session-1 only; {others}: ")
    assert off.out.endswith("`hostbridge on --session session-1` turns it on again\n")
    assert (seen.is_off, seen.sessions[0].is_off) == (False, True)
    assert still.err == (
        "hostbridge: session session-1 is still off by itself; `hostbridge on "
        "--session session-1` turns it on\n"
    )
    assert on == (0, "on in session session-1\n", "")
    assert not project.bridge.overview().sessions[0].is_off


@pytest.mark.parametrize(
    ("session", "message"),
    [
        ("other", "session 'other' is not open here (open: session-1)"),
        ("../x", "session '../x': expected 1 to 128 of A-Z a-z 0-9 _ -"),
    ],
)
@pytest.mark.parametrize("switch", ["off", "on"])
@pytest.mark.usefixtures("host")
def test_error_a_switch_of_a_session_that_is_not_open(
    project, switch, session, message
):
    """A word mistyped must not pass for a switch turned."""
    ran = project.run(switch, "--session", session)

    ran.fails(2, message)


def test_error_off_in_a_session_that_has_ended(project, host):
    """Its record stays until the next sweep; nothing of it runs any more."""
    host.change(host=host.claimant.host.with_(start_time="1"))

    ran = project.run("off", "--session", host.session_id)

    ran.fails(2, "session 'session-1' is not open here (open: none)")


@pytest.mark.usefixtures("beside")
def test_off_by_an_id_that_one_session_has_and_another_had(project, host):
    """It is taken up again by a second client, with `claude --resume`."""
    file = project.state / "sessions" / f"{host.session_id}.json"
    facts = json.loads(file.read_bytes())
    cleared = {"sessionId": "z", "formerIds": [host.session_id]}
    later = {"registeredAt": facts["registeredAt"] + 1}
    file.with_name("z.json").write_text(json.dumps(facts | cleared | later))

    off = project.run("off", "--session", host.session_id)

    assert off.out.startswith(f"off in session {host.session_id} only; ")


@pytest.mark.usefixtures("beside")
def test_off_by_an_id_that_a_session_had_before_clear(project, host):
    """`/clear` gives a session a new id; the old one is still what its user noted."""
    host.change(former_ids=("s-1",))

    off = project.run("off", "--session", "s-1")

    assert off.out.startswith("off in session session-1 only; ")
    assert project.bridge.overview().sessions[0].is_off


@pytest.mark.usefixtures("host")
def test_schema_lists_names_and_prints_each(project):
    """Other programs can check what they read and write."""
    names = project.run("schema").out.split()

    printed = json.loads(project.run("schema", "request").out)

    assert names == schema_names()
    assert printed == schema_for("request")
    for name in names:
        jsonschema.Draft202012Validator.check_schema(schema_for(name))


def test_the_records_on_disk_satisfy_their_schemas(project, host):
    """The keys are those of the files, not those of the code."""
    with host.serving('{"status": "success", "summary": "yes"}'):
        project.run("ask", "x")

    for name, pattern in {
        "request": "done/*.json",
        "response": "responses/*.json",
        "session": "sessions/*.json",
    }.items():
        (file,) = project.state.glob(pattern)
        jsonschema.validate(json.loads(file.read_text()), schema_for(name))


def test_schema_of_a_request_by_hand():
    """Only `requestId` and `prompt` have to be there."""
    jsonschema.validate({"requestId": "a", "prompt": "x"}, schema_for("request"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"requestId": "a"}, schema_for("request"))


def test_prune_removes_what_has_ended(project):
    """What waits stays; by default only what is old goes."""
    ended, waiting = project.submit(), project.submit()
    project.bridge.cancel(ended)

    by_default = project.run("prune")
    by_size = project.run("prune", "--max-mib", "0", "--json")

    by_default.prints(
        0,
        "removed: requests 0, quarantined files 0, temporary files 0, wake-up "
        "files of closed sessions 0, runs of flows 0; 0.0 MiB freed\n",
    )
    assert by_size.json["requests"] == 1
    assert project.run("show", waiting).code == 0
    assert not list(project.state.glob("responses/*"))


def files_in(state):
    return sorted(each for each in state.rglob("*") if each.is_file())


def test_prune_shows_what_it_would_remove(project):
    project.bridge.cancel(project.submit())
    project.submit(timeout_s=0.001)
    before = files_in(project.state)

    shown = project.run("prune", "--days", "0", "-n")

    assert shown.code == 0
    assert shown.out.startswith("would remove: requests 1, quarantined files 0; ")
    assert files_in(project.state) == before


@pytest.mark.parametrize(("days", "left"), [(29, True), (31, False)])
def test_prune_keeps_a_month_by_default(project, monkeypatch, days, left):
    project.bridge.cancel(project.submit())
    monkeypatch.chdir(project.folder)
    monkeypatch.setenv("HOME", project.env["HOME"])
    later_us = time.time_ns() // 1000 + days * 86_400_000_000
    monkeypatch.setattr(SystemClock, "now_us", lambda _: later_us)

    assert run(["prune"]) == 0

    assert len(list(project.state.glob("responses/*"))) == left


def test_prune_removes_wake_up_files_of_sessions_that_are_gone(project):
    """Each session leaves a folder; they would pile up for ever."""
    project.submit()
    folder = project.state / "bell" / "4194305-0123456789ab"
    folder.mkdir(mode=0o700, parents=True)
    os.utime(folder, (1, 1))

    assert project.run("prune", "--json").json["bells"] == 1
    assert not folder.exists()
