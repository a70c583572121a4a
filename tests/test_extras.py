"""How to add an extra: the command works for the way hostbridge was installed."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from bridge import extras

FOLDER = "file:///home/u/our%20tools/hostbridge"
HUB = "https://git.example/hostbridge.git"


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        (None, "'hostbridge[local]'"),
        (
            {"url": FOLDER, "dir_info": {"editable": True}},
            "-e '/home/u/our tools/hostbridge[local]'",
        ),
        ({"url": FOLDER, "dir_info": {}}, "'/home/u/our tools/hostbridge[local]'"),
        (
            {"url": HUB, "vcs_info": {"vcs": "git", "commit_id": "0a1b"}},
            f"'hostbridge[local] @ git+{HUB}@0a1b'",
        ),
        (
            {"url": "file:///tmp/h.whl", "archive_info": {}},
            "'hostbridge[local] @ file:///tmp/h.whl'",
        ),
    ],
    ids=["index", "editable", "folder", "git", "wheel"],
)
def test_an_extra_comes_from_where_hostbridge_came_from(origin, wanted):
    """Another source may hold another version, or somebody else's package."""
    text = None if origin is None else json.dumps(origin)

    assert extras._requirement("local", text) == wanted


def test_it_goes_where_hostbridge_is(monkeypatch):
    """A bare `pip` may be that of another environment."""
    monkeypatch.setattr(sys, "executable", "/opt/h b/bin/python")
    monkeypatch.setattr(extras, "find_spec", lambda _name: object())

    for pip, command in (
        ("/opt/h b/bin/pip", "pip install"),
        ("/usr/bin/pip", "'/opt/h b/bin/python' -m pip install"),
        (None, "'/opt/h b/bin/python' -m pip install"),
    ):
        monkeypatch.setattr(shutil, "which", lambda _name, found=pip: found)
        assert extras._installer() == command

    monkeypatch.setattr(extras, "find_spec", lambda _name: None)
    assert extras._installer() == "uv pip install --python '/opt/h b/bin/python'"


def test_the_command_names_this_checkout():
    """Tests run on an editable install."""
    root = Path(extras.__file__).parents[1]

    assert extras.how_to_add("local").endswith(f"install -e '{root}[local]'")
