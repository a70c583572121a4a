"""Every place that lists the routes lists all of them."""

from typing import get_args

import pytest

from bridge.api.model_support import check_model
from bridge.api.routing import ROUTES, check_route
from bridge.config import Settings
from bridge.errors import BadSetting, InvalidRequest
from bridge.protocol.response import Route
from bridge.routes import OWN, RouteName, check_own
from bridge.worker.executors import _EXECUTORS


def test_the_lists_are_one():
    """Otherwise a new route could be asked for and never be served."""
    assert tuple(_EXECUTORS) == OWN
    assert get_args(RouteName) == ("host", *OWN)
    assert ("auto", "host", *OWN) == ROUTES
    assert set(get_args(Route)) == {*get_args(RouteName), "manual", "none"}


@pytest.mark.parametrize("route", OWN)
def test_each_has_its_place(route):
    """It can be the setting's value, and has a text about its models."""
    own = check_own(route)

    assert check_route(route) == own
    assert Settings.from_environment({"BRIDGE_CLI_FALLBACK": route}).cli_fallback == own
    with pytest.raises(InvalidRequest, match=f"route {route} takes no model 'x'"):
        check_model(own, "x", is_asked=True)


def test_error_no_such_route():
    with pytest.raises(InvalidRequest) as any_route:
        check_route("x")
    with pytest.raises(InvalidRequest) as own:
        check_own("host")

    assert str(any_route.value) == (
        "route 'x': expected one of auto, host, claude, local, endpoint, remote"
    )
    assert (
        str(own.value)
        == "route 'host': expected one of claude, local, endpoint, remote"
    )


def test_error_a_setting_that_is_no_route():
    with pytest.raises(BadSetting) as caught:
        Settings.from_environment({"BRIDGE_CLI_FALLBACK": "host"})

    assert str(caught.value) == (
        "BRIDGE_CLI_FALLBACK='host': expected claude, local, endpoint, remote, "
        "1 (local) or 0"
    )
