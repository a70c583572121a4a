"""Limits from `config.toml`: read at each event, and never a reason to fail."""

import pytest

from bridge.protocol.ids import RequestId
from bridge.store.config_file import NAME


def configure(world, text: str, folder=None):
    file = (folder or world.home / ".hostbridge") / NAME
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o600)
    return file


def offered(world) -> int:
    said = world.say("UserPromptSubmit", prompt="hello")
    words = said.get("hookSpecificOutput", {}).get("additionalContext", "")
    return words.count('"bridge:')


def test_a_limit_holds_from_the_next_event(world):
    """No session is restarted for it."""
    for _ in range(5):
        world.submit()
    configure(world, "slots = 1\n")
    first = offered(world)

    configure(world, "slots = 3\n", world.store.place.state)

    assert (first, offered(world)) == (1, 2)


def test_the_environment_of_the_session_wins(world, monkeypatch):
    monkeypatch.setenv("BRIDGE_SLOTS", "2")
    configure(world, "slots = 1\n")
    for _ in range(3):
        world.submit()

    assert offered(world) == 2


@pytest.mark.parametrize("text", ["slots 1", "slots = 0\n", "slot = 1\n"])
def test_error_a_broken_file_breaks_no_session(world, text):
    """It counts as not there; the log and doctor say so, once for each change."""
    file = configure(world, text)
    for _ in range(5):
        world.submit()

    assert offered(world) == 4
    world.say("UserPromptSubmit", prompt="hello")

    log = (world.home / ".hostbridge" / "hook-errors.log").read_text()
    assert log.count("settings, read as if not there") == 1
    assert f"{file}:1:" in log


def test_a_spent_budget_leaves_what_falls_back(world, monkeypatch):
    """Its caller serves it; an end would be final."""
    monkeypatch.setenv("BRIDGE_AGENTS_PER_HOUR", "0")
    world.drop("backed", prompt="?", fallsBackTo="local")
    request = world.submit()

    assert offered(world) == 0

    assert world.code(RequestId("backed")) is None
    assert world.code(request) == "budget"
    assert world.response(request).error.message == (
        "session session-1: agents_per_hour is 0, so it may start no agent; more now: "
        "start the session again without BRIDGE_AGENTS_PER_HOUR=0"
    )


def test_a_session_writes_down_what_it_obeys(world, monkeypatch):
    """Callers do not know its environment."""
    monkeypatch.setenv("BRIDGE_SLOTS", "2")
    configure(world, "agents_per_hour = 7\n")

    offered(world)

    (session,) = world.live()
    told = session.limits.to_data()
    assert told.items() >= {"slots": 2, "agentsPerHour": 7}.items()
    assert told["byVariable"] == ["slots"]
    world.session = "session-2"
    world.fire("SessionStart", source="clear")
    (after,) = world.live()
    assert after.limits == session.limits
