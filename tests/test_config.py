"""Settings: what each variable may hold."""

from __future__ import annotations

import re

import pytest

from bridge.config import VARIABLES, Settings
from bridge.errors import BadSetting

LEAST = {
    "BRIDGE_SLOTS": 1,
    "BRIDGE_AGENTS_PER_HOUR": 0,
    "BRIDGE_MAX_DEPTH": 0,
    "BRIDGE_MAX_OFFERS": 1,
    "BRIDGE_LEASE_S": 1,
    "BRIDGE_DEPTH": 0,
    "BRIDGE_LOCAL_CONTEXT": 256,
    "BRIDGE_LOCAL_MEMORY_MB": 0,
    "BRIDGE_LOCAL_CACHE_MB": 0,
}


@pytest.mark.parametrize(("name", "least"), LEAST.items())
def test_a_number_has_a_least_value(name, least):
    field, _ = VARIABLES[name]

    settings = Settings.from_environment({name: str(least)})

    assert getattr(settings, field) == least
    expected = f"{name}='{least - 1}': expected a whole number from {least} up"
    with pytest.raises(BadSetting, match=re.escape(expected)):
        Settings.from_environment({name: str(least - 1)})


@pytest.mark.parametrize("name", VARIABLES)
def test_an_empty_variable_is_not_set(name):
    env = {"HOME": "/h"}

    assert Settings.from_environment({**env, name: ""}) == Settings.from_environment(
        env
    )


def test_no_log_shows_the_key():
    assert "sk-1" not in repr(
        Settings.from_environment({"BRIDGE_OPENAI_API_KEY": "sk-1"})
    )
