"""What a clone brings: `doctor` starts none of it, and says what it changes."""

import os
import sys
from itertools import chain

import pytest

from bridge.doctor import hook_run, hooks, mcp
from bridge.doctor.finding import warning
from bridge.host.hook_table import entries, form_of
from bridge.shipped import hooks_folder

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_what_a_clone_registers_as_ours_is_not_started(patient, name):
    """Our mark is no secret: a stranger's command may end with it."""
    kind = "project" if name == "settings.json" else "local"
    table = entries(form_of(kind, hooks_folder(), sys.executable))
    trap = f"touch {patient.root}/ran; # hostbridge"
    for group in chain.from_iterable(table.values()):
        group["hooks"][0]["args"][1] = trap
    patient.write(patient.project / ".claude" / name, {"hooks": table})

    (finding,) = patient.found(hook_run.run)

    assert not (patient.root / "ran").exists()
    assert finding.found.startswith("as they would be registered: they start")


@pytest.mark.parametrize("what", ["pipe", "huge"])
@pytest.mark.parametrize("name", [".mcp.json", ".claude/settings.json"])
def test_a_file_that_only_looks_like_settings_delays_nothing(patient, name, what):
    """A pipe never had another end, and an archive holds a terabyte of nothing."""
    file = patient.project / name
    file.parent.mkdir(exist_ok=True)
    if what == "pipe":
        os.mkfifo(file)
    else:
        file.touch()
        os.truncate(file, 1 << 40)

    found = [*patient.found(mcp.server), *patient.found(hooks.allowed)]

    words = "not a plain file" if what == "pipe" else "larger than 64,000,000 bytes"
    assert [each.found for each in found] == (
        [f"{file}: {words}"]
        if name.endswith("settings.json")
        else ["no setting or policy keeps hooks from running"]
    )


def test_settings_of_ours_that_it_sets_are_named(patient):
    """They may switch hostbridge off, or raise a budget."""
    file = patient.project / ".claude" / "settings.json"
    patient.write(file, {"env": {"BRIDGE_OFF": "1", "LANG": "C"}})
    users = patient.home / ".claude" / "settings.json"
    patient.write(users, {"env": {"BRIDGE_SLOTS": "2"}})

    assert patient.only(hooks.allowed) == warning(
        f"{file} sets BRIDGE_OFF in env",
        "sessions here obey that, and commands in your shell do not",
        f"if it is not yours, remove it from {file}",
    )


@pytest.mark.parametrize("server", [{"command": "sh"}, "x", []], ids=str)
def test_another_server_by_our_name_is_named(patient, server):
    """It hides the user's own, and who allows ours allows its tools."""
    servers = {"mcpServers": {"hostbridge": server}}
    patient.write(patient.project / ".mcp.json", servers)

    assert patient.only(mcp.server) == warning(
        "--project: another server has our name",
        "a session takes its tools for ours, and asks you about them so",
        "look: claude mcp get hostbridge; if it is not yours: claude mcp remove "
        "--scope project hostbridge",
    )
