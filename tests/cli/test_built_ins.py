"""The built-in agents, asked from a shell."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("name", ["validator-logic", "validator-security"])
def test_error_a_judge_and_the_local_route(project, name):
    """A small model would approve what it cannot judge; nothing was asked."""
    ran = project.run("ask", name, "The change to a.py", "--route", "local")

    assert (ran.code, ran.out) == (2, "")
    assert f"agent '{name}' does not take the route local" in ran.err
    assert project.bridge.overview().waiting == 0
