"""What doctor says about `config.toml`."""

import pytest

from bridge.doctor.machine import config_files

KEY = "openai_api_key = 'sk-1'\n"
OPEN = "warning: {} holds a key, and others can read it"
UNKNOWN = "problem: {}:1:1: no setting 'slot'; did you mean slots?"


@pytest.mark.parametrize(
    ("text", "mode", "expected"),
    [
        ("slots = 3\n", 0o644, "ok: {}: slots"),
        (KEY, 0o600, "ok: {}: openai_api_key"),
        (KEY, 0o640, OPEN),
        ("slot = 3\n", 0o600, UNKNOWN),
    ],
)
def test_config_toml(patient, text, mode, expected):
    patient.bridge.mkdir(mode=0o700, parents=True)
    file = patient.bridge / "config.toml"
    file.write_text(text)
    file.chmod(mode)

    (finding,) = patient.found(config_files)

    assert f"{finding.verdict}: {finding.found}" == expected.format(file)
    assert "sk-1" not in str(finding)


def test_without_a_file_nothing_is_said(patient):
    assert patient.found(config_files) == []
