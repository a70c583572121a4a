"""`scripts/demo`: what a newcomer sees of one exchange."""

import json
import os
import sys
from pathlib import Path

import needs
import pytest
from programs import ran

SCRIPTS = Path(__file__).parents[3] / "scripts"


def test_help_says_what_it_does_and_starts_nothing():
    shown = ran(SCRIPTS / "demo", "--help").stdout

    assert shown.startswith("Show two whole exchanges: ")
    assert "    scripts/demo [--keep] [session|model]\n" in shown
    assert shown.endswith("stay, and their paths are printed.\n")


@pytest.mark.host
@pytest.mark.parametrize("is_kept", [False, True], ids=["gone", "kept"])
def test_the_answer_stands_out_and_the_folder_is_kept_on_demand(tmp_path, is_kept):
    """Of the two exchanges, the one whose folder is kept is with a session."""
    options = ["--keep", "session"] if is_kept else []
    env = os.environ | {"PYTHONPATH": str(SCRIPTS), "TMPDIR": str(tmp_path)}
    env |= {"BRIDGE_TEST_CLAUDE": str(needs.client())}
    done = ran(sys.executable, SCRIPTS / "exchange.py", *options, env=env)
    assert done.returncode == 0, done.stderr

    lines = done.stdout.splitlines()
    answers = [json.loads(line[4:]) for line in lines if line.startswith(">>> ")]
    by_host, *by_model = answers
    assert by_host["parsedOutput"] == {"modules": ["billing"]}
    assert len(by_model) == (not is_kept)
    found = {"command": "shop export", "version": "2.14.3", "exit_code": 70}
    for each in by_model:
        assert (each["route"], each["degraded"]) == ("local", True)
        assert each["parsedOutput"] == found
        assert "That is right." in done.stdout
    left = list(tmp_path.glob("hostbridge-demo-*"))
    assert len(left) == is_kept
    for folder in left:
        assert f"Kept: {folder} " in done.stdout
        assert list(folder.glob("home/.hostbridge/state/**/responses/*.json"))
