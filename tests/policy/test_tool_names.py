"""The names of tools: which exist, and which are the client's."""

from __future__ import annotations

import pytest

from bridge.policy.tool_names import is_known, on_host, rule_on_host


@pytest.mark.parametrize("name", ["Read", "read_file", "Task", "WebFetch", "mcp__x__y"])
def test_known_tools(name):
    assert is_known(name)


@pytest.mark.parametrize("name", ["Raed", "read", "mcp_x", ""])
def test_unknown_tools(name):
    assert not is_known(name)


def test_our_names_become_the_clients():
    names = ("read_file", "Read", "Task", "mcp__x__y", "run_command")

    assert on_host(names) == ("Read", "Agent", "mcp__x__y", "Bash")


@pytest.mark.parametrize(
    ("rule", "on_client"),
    [
        (" run_command(ls *) ", "Bash(ls *)"),
        ("search_text", "Grep"),
        ("Edit(a)", "Edit(a)"),
    ],
)
def test_a_rule_by_the_clients_name(rule, on_client):
    assert rule_on_host(rule) == on_client
