"""`scripts/demo`: what a newcomer sees of one exchange."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import needs
import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"


def test_help_says_what_it_does_and_starts_nothing():
    done = subprocess.run(
        [SCRIPTS / "demo", "--help"], capture_output=True, text=True, check=True
    )

    assert done.stdout.startswith("Show two whole exchanges: ")
    assert "    scripts/demo [--keep] [session|model]\n" in done.stdout
    assert done.stdout.endswith("stay, and their paths are printed.\n")


@pytest.mark.host
@pytest.mark.parametrize("options", [[], ["--keep"]], ids=["gone", "kept"])
def test_the_answer_stands_out_and_the_folder_is_kept_on_demand(tmp_path, options):
    done = subprocess.run(
        [sys.executable, SCRIPTS / "exchange.py", *options],
        env={
            **os.environ,
            "PYTHONPATH": str(SCRIPTS),
            "TMPDIR": str(tmp_path),
            "BRIDGE_TEST_CLAUDE": str(needs.client()),
        },
        capture_output=True,
        text=True,
        check=True,
    )

    lines = done.stdout.splitlines()
    answers = [json.loads(line[4:]) for line in lines if line.startswith(">>> ")]
    by_host, by_model = answers
    assert by_host["parsedOutput"] == {"modules": ["billing"]}
    assert by_model["route"] == "local"
    assert by_model["degraded"] is True
    assert by_model["parsedOutput"] == {
        "command": "shop export",
        "version": "2.14.3",
        "exit_code": 70,
    }
    assert "That is right." in done.stdout
    left = list(tmp_path.glob("hostbridge-demo-*"))
    assert len(left) == len(options)
    for folder in left:
        assert f"Kept: {folder} " in done.stdout
        assert list(folder.glob("home/.hostbridge/state/**/responses/*.json"))
