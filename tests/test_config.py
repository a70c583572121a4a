"""Settings: what each variable may hold."""

import re

import pytest

from bridge.config import TABLE, VARIABLES, Settings
from bridge.errors import BadSetting
from bridge.setting import MOST, number_text

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
    (field,) = (key for key, each in TABLE.items() if each.variable == name)

    settings = Settings.from_environment({name: str(least)})

    assert getattr(settings, field) == least
    expected = f": expected a whole number from {least} to 1,000,000,000"
    for wrong in (str(least - 1), str(MOST + 1), "9" * 5000, "many", "1.5"):
        with pytest.raises(BadSetting, match=re.escape(expected)):
            Settings.from_environment({name: wrong})


@pytest.mark.parametrize("name", sorted(VARIABLES))
def test_an_empty_variable_is_not_set(name):
    env = {"HOME": "/h"}

    found = Settings.from_environment({**env, name: ""})

    assert vars(found) == vars(Settings.from_environment(env))


def test_no_log_shows_the_key():
    settings = Settings.from_environment({"BRIDGE_OPENAI_API_KEY": "sk-1"})
    assert "sk-1" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5M", 5_000_000),
        ("500k", 500_000),
        ("5_000_000", 5_000_000),
        ("5,000,000", 5_000_000),
        ("2", 2),
    ],
)
def test_eight_zeros_need_not_be_counted(text, number):
    for written in (text, number_text(number)):
        settings = Settings.from_environment({"BRIDGE_TOKENS_PER_HOUR": written})
        assert settings.tokens_per_hour == number


@pytest.mark.parametrize("text", ["5m", "5 M", "1,5", "M", "5MM", "0" * 50, "-5M"])
def test_error_what_is_no_number(text):
    with pytest.raises(BadSetting, match="expected a whole number from 0"):
        Settings.from_environment({"BRIDGE_TOKENS_PER_HOUR": text})


@pytest.mark.parametrize(
    "name", ["", "BRIDGE_SHARE_CONVERSATION", "share_conversation"]
)
def test_no_variable_shows_a_conversation_to_programs(name):
    """Even a variable without a name can be set."""
    settings = Settings.from_environment({"HOME": "/h", name: "1"})

    assert settings.share_conversation is False
