"""The models of a server: listed, and the only one is asked."""

from __future__ import annotations

import pytest
from scripted_server import say

pytest.importorskip("openai")
LIST = ("models", "--route", "endpoint")


def test_the_only_one_answers(project, server):
    server.served = ["qwen3"]
    server.acts = [say('{"tool": "submit_result", "arguments": {"a": 1}}')]
    (project.folder / "s.json").write_text('{"type": "object"}')

    ran = project.run("ask", "--route", "endpoint", "--schema", "s.json", "--json", "x")

    assert ran.code == 0
    assert (ran.json["model"], ran.json["degraded"]) == ("openai:qwen3", False)
    assert [asked["model"] for asked in server.asked] == ["qwen3"]


def test_they_are_listed(project, server):
    server.served = ["a", "b"]
    none = "none is in use: name one: --model openai:NAME, or BRIDGE_OPENAI_MODEL"

    project.run(*LIST).prints(1, f"  a\n  b\n{none}\n")

    project.env["BRIDGE_OPENAI_MODEL"] = "b"
    project.run(*LIST).prints(0, "  a\n* b\n")
    assert project.run(*LIST, "--json").json == {
        "models": [{"name": "a", "inUse": False}, {"name": "b", "inUse": True}],
        "server": server.url,
    }

    server.served = ["a"]
    project.run(*LIST).prints(
        1, "  a\nthe server has no 'b', which BRIDGE_OPENAI_MODEL names\n"
    )


def test_error_several(project, server):
    """Nothing is asked of either."""
    server.served = ["a", "b"]

    ran = project.run("ask", "--route", "endpoint", "x")

    assert ran.code == 1
    assert f"{server.url} has several models: a, b; name one: " in ran.err
    assert server.asked == []


def test_error_a_list_that_does_not_end(project, server):
    server.served = ["slow"]

    ran = project.run("ask", "--route", "endpoint", "--timeout", "1s", "x")

    assert (ran.code, ran.out) == (5, "")


def test_a_name_stays_on_its_line(project, server):
    server.served = ["a\n* b", "c"]

    assert project.run(*LIST).out.startswith("  a * b\n  c\n")


def test_error_no_server(project):
    project.env["BRIDGE_OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"

    ran = project.run(*LIST)

    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith("hostbridge: no server at http://127.0.0.1:9/v1/: ")
