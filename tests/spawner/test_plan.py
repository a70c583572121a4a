"""Which route an ask begins on: the whole table."""

from __future__ import annotations

import pytest

from bridge.errors import InvalidRequest
from bridge.spawner.routes import Plan, plan

HOST = Plan("host")
# choice, flag, fallback_after_s, a session is open: the plan
TABLE = [
    ("auto", None, None, True, HOST),
    ("auto", None, None, False, HOST),
    ("auto", "local", None, True, Plan("local", "local")),
    ("auto", "claude", None, False, Plan("claude", "claude")),
    ("auto", None, 5.0, True, Plan("host", "local", 5.0)),
    ("auto", None, 5.0, False, Plan("local", "local")),
    ("auto", "claude", 5.0, True, Plan("host", "claude", 5.0)),
    ("auto", "claude", 5.0, False, Plan("claude", "claude")),
    ("host", "claude", None, True, HOST),
    ("host", "claude", 0.0, False, Plan("host", "claude", 0.0)),
    ("host", None, 5.0, True, Plan("host", "local", 5.0)),
    ("claude", None, None, True, Plan("claude", "claude")),
    ("local", "claude", None, False, Plan("local", "local")),
    ("endpoint", None, None, False, Plan("endpoint", "endpoint")),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: "-".join(map(str, row[:4])))
def test_plan(row):
    choice, flag, after, has_host, expected = row

    planned = plan(choice, flag=flag, fallback_after_s=after, has_host=has_host)

    assert planned == expected


@pytest.mark.parametrize("after", [-1.0, float("inf"), float("nan")])
def test_error_no_time(after):
    with pytest.raises(InvalidRequest) as caught:
        plan("auto", flag=None, fallback_after_s=after, has_host=True)

    assert str(caught.value).startswith(f"fallback_after_s {after!r}: expected ")


def test_error_nothing_to_fall_back_from():
    with pytest.raises(InvalidRequest) as caught:
        plan("claude", flag=None, fallback_after_s=1, has_host=True)

    assert str(caught.value) == (
        "route 'claude' is served here at once: fallback_after_s belongs to auto and "
        "host"
    )
