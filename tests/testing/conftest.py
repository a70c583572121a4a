"""A project in which a program asks."""

import pytest


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of nobody's; what the program asks must not reach a real one."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path
