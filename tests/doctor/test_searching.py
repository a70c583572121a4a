"""Whether agents that only read can search: our own agent, file and sessions."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from bridge.doctor.finding import Finding, Verdict
from bridge.doctor.searching import agents_search
from bridge.host.carrier import OF_PLUGIN, CarrierFile
from bridge.host.install import Installer, target_of
from bridge.protocol.names import CARRIER
from bridge.shipped import hooks_folder
from bridge.store.host_process import identify
from bridge.store.sessions import Session

if TYPE_CHECKING:
    from conftest import Patient


def install(patient: Patient) -> None:
    seen = patient.seen()
    installer = Installer(seen.settings, patient.project)
    target = target_of("local", seen.settings, patient.project)
    change = installer.plan_install(target, hooks_folder(), sys.executable)
    installer.install(change, hooks_folder(), sys.executable)


def written(patient: Patient) -> CarrierFile:
    file = CarrierFile(patient.seen().settings)
    file.write()
    return file


def opened(patient: Patient, carrier: str | None) -> None:
    """A session that knows our agent by this name."""
    host = identify(os.getpid())
    assert host is not None
    session = Session(session_id="s1", host=host, registered_at=1, carrier=carrier)
    store = patient.seen().store()
    assert store is not None
    with store.state() as state, state["sessions"] as folder:
        folder.replace("s1.json", session.to_json())


def found(patient: Patient) -> list[tuple[Verdict, str, str]]:
    findings: list[Finding] = patient.found(agents_search)
    return [(each.verdict, each.found, each.cure or "") for each in findings]


def test_finds_nothing_if_nothing_is_installed(patient):
    assert found(patient) == []


@pytest.mark.parametrize("carrier", [CARRIER, None])
def test_a_session_that_was_open_before(patient, carrier):
    """Its client reads that folder when it starts: only a restart helps."""
    install(patient)
    written(patient)
    opened(patient, carrier)

    (finding,) = found(patient)

    where = f"s1 (pid {os.getpid()})"
    if carrier:
        assert finding == (Verdict.OK, "agents that only read can search", "")
    else:
        assert finding == (
            Verdict.WARNING,
            f"agents that only read have no Grep and no Glob in session {where}",
            "restart session s1",
        )


@pytest.mark.parametrize("is_open", [False, True])
def test_the_file_is_gone(patient, *, is_open):
    install(patient)
    file = written(patient).file
    file.unlink()
    if is_open:
        opened(patient, CARRIER)

    ((verdict, what, cure),) = found(patient)

    assert verdict is Verdict.WARNING
    assert what == f"agents that only read cannot search: {file} is not there"
    assert cure == "hostbridge install, then restart the open sessions"


def test_the_file_was_changed(patient):
    install(patient)
    file = written(patient).file
    file.write_text("---\nname: hostbridge-reader\n---\nmine\n")

    ((_, what, cure),) = found(patient)

    assert what.endswith(f"{file} is not hostbridge's")
    assert cure.startswith(f"rename {file}; hostbridge install")


def test_the_plugin_brings_its_own(patient):
    opened(patient, OF_PLUGIN)

    assert found(patient) == []
