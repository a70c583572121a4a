"""`Bridge` for asyncio: what is its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from bridge.config import Settings
from bridge.spawner.aio import AsyncBridge
from bridge.spawner.bridge import Bridge

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def bridge(tmp_path: Path) -> AsyncBridge:
    settings = Settings(home=tmp_path / "home")
    (tmp_path / "project").mkdir()
    return AsyncBridge(Bridge(settings, tmp_path / "project"))


@pytest.mark.parametrize("requests", [["a", "b"], ("a",), set()], ids=repr)
def test_error_to_wait_for_many(bridge: AsyncBridge, requests: Any) -> None:
    """It gave a generator that blocks the loop; the way to wait for many is named."""
    with pytest.raises(TypeError, match=r"for many: async for .*\.as_completed\("):
        asyncio.run(bridge.wait(requests))


def test_many_are_yielded_as_they_end(bridge: AsyncBridge) -> None:
    async def ended() -> set[str]:
        ids = [await bridge.submit(f"{n}?") for n in range(2)]
        for each in ids:
            await bridge.cancel(each)
        found = {r.request_id async for r in bridge.as_completed(ids)}
        assert found == set(ids)
        return found

    assert len(asyncio.run(ended())) == 2
