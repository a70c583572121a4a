"""What tests of changes begin with: a repository, made by git."""

import pytest
from changeworld import made
from gitcomparison import two_branches

from bridge.change.collect import read_change


@pytest.fixture(autouse=True)
def _has_time(monkeypatch):
    """How long it takes depends on what else the machine does."""
    defaults = read_change.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "timeout_s", 300.0)


@pytest.fixture
def repo(tmp_path):
    return two_branches(tmp_path / "app")


@pytest.fixture
def project(tmp_path):
    return made(tmp_path / "app")
