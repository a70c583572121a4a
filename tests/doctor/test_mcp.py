"""`doctor` says whether sessions get the MCP server's tools."""

import json
import sys

import pytest

from bridge.doctor import mcp
from bridge.doctor.finding import Verdict, ok, warning
from bridge.host.hook_table import form_of
from bridge.host.mcp_registration import entry
from bridge.shipped import hooks_folder
from bridge.tasks.tool_table import TOOLS

pytestmark = pytest.mark.slow


def register(patient, python=sys.executable):
    """As `claude mcp add-json --scope local` leaves it."""
    server = entry(form_of("local", hooks_folder(), python))
    project = {"mcpServers": {"hostbridge": server}}
    record = {"projects": {str(patient.project): project}}
    (patient.home / ".claude.json").write_text(json.dumps(record))


def test_without_a_server_there_is_nothing_to_say(patient):
    assert patient.found(mcp.server) == []


def test_a_server_starts_and_has_its_tools(patient):
    register(patient)

    (finding,) = patient.found(mcp.server)

    assert finding.verdict is Verdict.OK
    # None by which a model could undo what its user set.
    assert finding.found == (
        "--local: it starts, and has start_agent, spawn_agent, wait_for_agent, "
        "cancel_agent, run_flow, wait_for_flow, cancel_flow, validate_change, "
        "build_and_validate, status, get_variables, "
        f"set_variables, {', '.join(TOOLS)}"
    )
    assert not patient.state.exists()


def test_a_server_that_an_older_install_registered(patient):
    register(patient, "/gone/bin/python")

    assert patient.only(mcp.server) == warning(
        "--local: not registered as this hostbridge would do it",
        "another version or installation did, or an edit",
        "hostbridge install --local --mcp",
    )


def test_a_server_whose_package_is_missing(patient, monkeypatch):
    register(patient)
    monkeypatch.setattr(mcp, "find_spec", lambda _: None)

    (finding,) = patient.found(mcp.server)

    assert finding.verdict is Verdict.PROBLEM
    assert finding.found == "--local: the package mcp is missing"
    assert finding.cure.endswith("[mcp]'") or finding.cure.endswith("[mcp]")


@pytest.mark.parametrize(
    "said", ["", "no", '{"id": 2, "result": {}}', '{"id": 2, "error": {}}', "7"]
)
def test_a_server_that_fails(patient, monkeypatch, said):
    """It ends, or talks of something else: that is the finding, and no traceback."""
    register(patient)
    broken = {"command": "/bin/sh", "args": ["-c", f"echo '{said}'"]}
    monkeypatch.setattr(mcp.mcp_registration, "entry", lambda _: broken)
    monkeypatch.setattr(mcp.mcp_registration, "is_current", lambda *_: True)

    (finding,) = patient.found(mcp.server)

    assert finding.verdict is Verdict.PROBLEM
    assert finding.found == "--local: it does not start, or lists no tools"


def test_the_plugin_brings_its_own(patient):
    plugins = {"enabledPlugins": {"hostbridge@hostbridge": True}}
    patient.local.parent.mkdir()
    patient.local.write_text(json.dumps(plugins))

    assert patient.only(mcp.server) == ok(
        f"the plugin hostbridge@hostbridge ({patient.local}) brings the server"
    )
