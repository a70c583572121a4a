"""What to do about a failure."""

from __future__ import annotations

import pytest

from bridge.protocol.failure_codes import CURES, MEANINGS, cure_of, explain
from bridge.protocol.status import Stage


@pytest.mark.parametrize(
    ("code", "stage", "cure"),
    [
        ("timeout", Stage.NO_HOST, "start `claude` in the project first"),
        ("timeout", Stage.RUNNING, "ask with a longer deadline (--timeout)"),
        ("no_host", Stage.NO_HOST, CURES["no_host"]),
        ("unverified", Stage.RUNNING, "see its evidence: hostbridge show 01k3-n-7f"),
    ],
)
def test_the_cure_depends_on_the_stage_and_names_the_request(code, stage, cure):
    assert cure_of(code, stage, "01k3-n-7f") == cure


def test_the_detail_follows_the_meaning():
    assert explain("depth") == ("too many agents asked for one another")
    assert explain("no_json", "see there") == f"{MEANINGS['no_json']}: see there"
