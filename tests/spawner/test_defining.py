"""Which agents a project may ask: the same for who asks and for who serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from storeworld import request, store_in

from bridge.config import Settings
from bridge.errors import UnknownAgent
from bridge.spawner.defining import Agents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bridge.store.files import FileStore


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return store_in(tmp_path)


@pytest.fixture
def agents(tmp_path: Path, store: FileStore) -> Agents:
    settings = Settings(home=tmp_path / "home", claude_dir=tmp_path / "claude")
    return Agents.open(settings, store.place.project)


def test_an_agent_of_the_clients_has_no_definition(
    agents: Agents, store: FileStore
) -> None:
    asked = request(agent_type="Explore")

    assert agents.find("Explore") is None
    assert agents.define(store, asked) == (asked, None)


def test_an_agent_of_ours_is_served_as_it_is_defined(
    agents: Agents, store: FileStore
) -> None:
    definition = agents.find("researcher")
    assert definition is not None

    defined, by = agents.define(store, request(agent_type="researcher"))

    assert by == definition
    assert defined.definition is not None
    assert defined.definition.digest == definition.source.digest


@pytest.mark.parametrize("how", ["find", "define"])
def test_error_an_agent_that_nobody_knows(
    agents: Agents, store: FileStore, how: str
) -> None:
    """In the same words, whether it is asked for or found in a file."""
    ways: dict[str, Callable[[], object]] = {
        "find": lambda: agents.find("Explorer"),
        "define": lambda: agents.define(store, request(agent_type="Explorer")),
    }

    with pytest.raises(UnknownAgent) as caught:
        ways[how]()

    assert str(caught.value).startswith(
        "no agent is named 'Explorer'; did you mean Explore?"
    )
