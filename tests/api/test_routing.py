"""Which route an ask starts on: the whole table."""

import pytest

from bridge.api.routing import RoutePlan, plan
from bridge.errors import InvalidRequest

HOST = RoutePlan("host")
# choice, flag, fallback_after_s, a session is open: the plan
TABLE = [
    ("auto", None, None, True, HOST),
    ("auto", None, None, False, HOST),
    ("auto", "local", None, True, RoutePlan("local", "local")),
    ("auto", "claude", None, False, RoutePlan("claude", "claude")),
    ("auto", "local", 5.0, True, RoutePlan("host", "local", 5.0)),
    ("auto", "local", 5.0, False, RoutePlan("local", "local")),
    ("auto", "claude", 5.0, True, RoutePlan("host", "claude", 5.0)),
    ("auto", "claude", 5.0, False, RoutePlan("claude", "claude")),
    ("host", "claude", None, True, HOST),
    ("host", "claude", 0.0, False, RoutePlan("host", "claude", 0.0)),
    ("host", "local", 5.0, True, RoutePlan("host", "local", 5.0)),
    ("claude", None, None, True, RoutePlan("claude", "claude")),
    ("local", "claude", None, False, RoutePlan("local", "local")),
    ("endpoint", None, None, False, RoutePlan("endpoint", "endpoint")),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: "-".join(map(str, row[:4])))
def test_plan(row):
    choice, flag, after, has_host, expected = row

    planned = plan(choice, flag=flag, fallback_after_s=after, has_host=has_host)

    assert planned == expected


@pytest.mark.parametrize("flag", [None, "local"])
def test_the_fallback_of_the_call_wins_over_the_setting(flag):
    how = {"flag": flag, "fallback": "claude", "fallback_after_s": 5.0}

    assert plan("host", has_host=False, **how) == RoutePlan("host", "claude", 5.0)
    assert plan("auto", has_host=False, **how) == RoutePlan("claude", "claude")


@pytest.mark.parametrize("choice", ["auto", "host"])
@pytest.mark.parametrize("has_host", [True, False])
def test_error_nothing_to_fall_back_to(choice, has_host):
    """Never a model that nobody named: it may be far too small."""
    with pytest.raises(InvalidRequest) as caught:
        plan(choice, flag=None, fallback_after_s=20, has_host=has_host)

    assert str(caught.value) == (
        "fallback_after_s needs fallback, the route to fall back to: one of claude, "
        "local, endpoint, remote; or set BRIDGE_CLI_FALLBACK"
    )


def test_error_a_fallback_without_a_time():
    with pytest.raises(InvalidRequest) as caught:
        plan("auto", flag=None, fallback="claude", fallback_after_s=None, has_host=True)

    assert str(caught.value) == (
        "fallback 'claude' needs fallback_after_s: how many seconds an open session "
        "has first"
    )


@pytest.mark.parametrize("after", [-1.5, float("inf"), float("nan")])
def test_error_not_a_time(after):
    with pytest.raises(InvalidRequest) as caught:
        plan("auto", flag=None, fallback_after_s=after, has_host=True)

    assert str(caught.value).startswith(f"fallback_after_s {after!r}: expected ")


def test_error_nothing_to_fall_back_from():
    with pytest.raises(InvalidRequest) as caught:
        plan("claude", flag=None, fallback_after_s=1, has_host=True)

    assert str(caught.value) == (
        "route 'claude' is served here at once; fallback_after_s belongs to the "
        "routes auto and host"
    )
