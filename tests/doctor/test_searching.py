"""Whether agents that only read can search: our own agent, file and sessions."""

import os

import pytest

from bridge.doctor.finding import Finding, Verdict
from bridge.doctor.searching import agents_search
from bridge.host.carrier import OF_PLUGIN, CarrierFile
from bridge.protocol.names import CARRIER


def written(patient):
    file = CarrierFile(patient.seen().settings)
    file.write()
    return file


def found(patient):
    findings: list[Finding] = patient.found(agents_search)
    return [(each.verdict, each.found, each.cure or "") for each in findings]


def test_finds_nothing_if_nothing_is_installed(patient):
    assert found(patient) == []


@pytest.mark.parametrize("carrier", [CARRIER, None])
def test_a_session_that_was_open_before(patient, carrier):
    """Its client reads that folder when it starts: only a restart helps."""
    patient.install()
    written(patient)
    patient.opens(carrier=carrier)

    (finding,) = found(patient)

    where = f"s1 (pid {os.getpid()})"
    lacks = f"agents that only read have no Grep and no Glob in session {where}"
    assert finding == (
        (Verdict.OK, "agents that only read can search", "")
        if carrier
        else (Verdict.WARNING, lacks, "restart session s1")
    )


@pytest.mark.parametrize("is_open", [False, True])
def test_the_file_is_gone(patient, is_open):
    patient.install()
    file = written(patient).file
    file.unlink()
    if is_open:
        patient.opens(carrier=CARRIER)

    assert found(patient) == [
        (
            Verdict.WARNING,
            f"agents that only read cannot search: {file} is not there",
            "hostbridge install, then restart the open sessions",
        )
    ]


def test_the_file_was_changed(patient):
    patient.install()
    file = written(patient).file
    file.write_text("---\nname: hostbridge-reader\n---\nmine\n")

    ((_, what, cure),) = found(patient)

    assert what.endswith(f"{file} is not hostbridge's")
    assert cure.startswith(f"rename {file}; hostbridge install")


def test_the_plugin_brings_its_own(patient):
    patient.opens(carrier=OF_PLUGIN)

    assert found(patient) == []
