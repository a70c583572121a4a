"""The plugin: it costs nothing where nobody uses it, and names what it lacks."""

import sys
import tomllib
from pathlib import Path

import pytest
from programs import loaded_by, ran

import bridge.testing

ROOT = Path(bridge.testing.__file__).parents[2]


def test_its_fixtures_load_nothing_until_they_are_used():
    more = loaded_by("import bridge.testing.plugin") - loaded_by("import pytest")

    assert {name.partition(".")[0] for name in more} == {"bridge"}


def test_no_project_gets_it_unasked():
    """In one with a `bridge` of its own, pytest would find that, and not even start."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert "entry-points" not in project


def test_answers_by_hand_take_no_hypothesis():
    assert "hypothesis" not in loaded_by("from bridge.testing import answering, replay")


def test_every_public_name_is_there_and_told():
    for name in bridge.testing.__all__:
        found = getattr(bridge.testing, name)
        assert name == "CODES" or found.__doc__
    assert dir(bridge.testing) == sorted(bridge.testing.__all__)


def test_error_no_such_name():
    with pytest.raises(AttributeError, match="has no attribute 'every_answers'"):
        bridge.testing.every_answers  # noqa: B018


def test_error_the_extra_is_missing():
    script = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from bridge.testing import every_answer"
    )
    done = ran(sys.executable, "-c", script)

    last = done.stderr.strip().splitlines()[-1]
    why = "every_answer takes hypothesis, which is not installed; run: "
    assert last.startswith(f"bridge.ExtraMissing: {why}")
    assert "[testing]" in last
