"""The record of trust: what is written, what is refused, and who may write it."""

import json
import os
import subprocess
import sys
from hashlib import sha256

import pytest
from agentworld import is_found

from bridge.agents import trust
from bridge.config import Settings
from bridge.errors import NewerSchema, StateRefused
from bridge.store.host_process import UNSEEN_PID

GOOD = "name: a\nprompt: good {{ task }}\n"


def test_the_record_on_disk(world):
    world.write("a.yaml", GOOD, "project")

    world.trust()

    file = world.home / "trust.json"
    record = json.loads(file.read_text())
    assert file.stat().st_mode & 0o777 == 0o600
    [digests] = record["projects"][str(world.project)]["agents"].values()
    name = ".bridge/agents/a.yaml"
    projects = {str(world.project): {"agents": {name: digests}}}
    assert record == {"schemaVersion": 1, "projects": projects}
    assert digests == {name: sha256(GOOD.encode()).hexdigest()}


def test_revoke(world):
    world.write("a.yaml", GOOD, "project")
    world.trust()

    assert trust.revoke(world.home, world.project)

    assert not is_found(world)
    assert not trust.revoke(world.home, world.project)


RECORDS = """

{
[]
{"projects": []}
{"projects": {"P": 3}}
{"projects": {"P": {"agents": {".bridge/agents/a.yaml": true}}}}
{"projects": {"P": {"agents": {".bridge/agents/a.yaml": {}}}}}
{"projects": {"P": {"agents": [1]}}}
{"schemaVersion": 2}"""


@pytest.mark.parametrize("text", RECORDS.split("\n")[1:])
def test_a_record_that_cannot_be_read_trusts_nothing(world, text):
    world.write("a.yaml", GOOD, "project")
    (world.home / "trust.json").write_text(text.replace("P", str(world.project)))

    assert not is_found(world)


@pytest.mark.parametrize("data", [b"{", b"[]"])
def test_error_a_broken_record_is_not_overwritten(world, data):
    """It may hold the user's decisions about other projects."""
    file = world.home / "trust.json"
    file.write_bytes(data)

    with pytest.raises(StateRefused, match="move it away and trust again"):
        trust.revoke(world.home, world.project)

    assert file.read_bytes() == data


@pytest.mark.parametrize(
    "newer", ['"schemaVersion": 2', '"until": 1', '"projects": {"/p": {"until": 1}}']
)
def test_error_a_newer_record(world, newer):
    (world.home / "trust.json").write_text(f"{{{newer}}}")

    with pytest.raises(NewerSchema, match="update hostbridge"):
        trust.revoke(world.home, world.project)


def test_an_unsafe_record_trusts_nothing(world, tmp_path):
    """Others could write to it, or have linked it."""
    world.write("a.yaml", GOOD, "project")
    world.trust()
    assert is_found(world)

    world.home.chmod(0o777)
    assert not is_found(world)
    world.home.chmod(0o700)
    elsewhere = tmp_path / "elsewhere.json"
    os.rename(world.home / "trust.json", elsewhere)
    (world.home / "trust.json").symlink_to(elsewhere)
    assert not is_found(world)


@pytest.mark.parametrize(
    ("environment", "clients"),
    [({"CLAUDE_PID": "4711"}, []), ({"CLAUDECODE": "1"}, []), ({}, [os.getppid()])],
    ids=["CLAUDE_PID", "CLAUDECODE", "by its parents"],
)
def test_error_a_program_inside_a_session_trusts_nothing(world, environment, clients):
    """The library refuses it, too, not only the command."""
    world.write("a.yaml", GOOD, "project")
    home = {"BRIDGE_HOME": str(world.home)}
    settings = Settings.from_environment(environment | home)
    found = [each.loaded for each in world.registry.entries()]

    with pytest.raises(trust.InsideSession) as refused:
        trust.record(settings, world.project, found, clients=clients)

    assert str(refused.value) == (
        "this runs inside a Claude Code session, whose model could decide; run "
        "`hostbridge trust` in a terminal of your own"
    )
    assert not is_found(world)


def test_error_trust_while_a_session_cannot_be_seen(world):
    """In a PID namespace of its own, a program of a session's shows no client."""
    settings = Settings(home=world.home)

    with pytest.raises(trust.InsideSession, match="in another PID namespace"):
        trust.record(settings, world.project, [], clients={UNSEEN_PID})


def test_processes_that_write_at_once_lose_nothing(world):
    code = (
        "import sys; from pathlib import Path\n"
        "from bridge.agents import trust\n"
        "from bridge.config import Settings\n"
        "for n in range(10):\n"
        "    project = Path(f'/w/{sys.argv[2]}-{n}')\n"
        "    trust.record(Settings(Path(sys.argv[1])), project, [], clients=())\n"
    )
    words = [sys.executable, "-c", code, str(world.home)]
    running = [subprocess.Popen([*words, str(n)]) for n in range(4)]
    assert [process.wait() for process in running] == [0] * 4

    projects = trust.trusted_projects(world.home)

    assert set(projects) == {f"/w/{p}-{n}" for p in range(4) for n in range(10)}


def test_changes_names_every_changed_file(world):
    folder = world.project / "sub"
    folder.mkdir()
    (folder / "a.pym").write_text("1")
    (folder / "b.pym").write_text("2")
    digest = sha256(b"1").hexdigest()
    digests = {"sub/a.pym": digest, "sub/b.pym": digest, "sub/c.pym": digest}

    expected = {"sub/b.pym": "changed", "sub/c.pym": "gone"}
    assert trust.changes(world.project, digests) == expected
