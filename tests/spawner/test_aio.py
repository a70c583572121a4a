"""`Bridge` for asyncio: what is its own."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from bridge.config import Settings
from bridge.errors import RequestFailed
from bridge.spawner.aio import AsyncBridge
from bridge.spawner.bridge import Bridge
from bridge.spawner.hosts import Hosts

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.protocol.ids import RequestId


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


def test_many_waits_hold_up_no_other_call(bridge: AsyncBridge) -> None:
    """They filled the threads that asyncio has: even cancel stood behind them."""

    async def all_cancelled() -> list[str]:
        ids = [await bridge.submit(f"{n}?") for n in range(40)]
        waits = [asyncio.create_task(bridge.wait(each, timeout_s=60)) for each in ids]
        await asyncio.sleep(0)
        for each in ids:
            assert await bridge.cancel(each)
        ended = await asyncio.gather(*waits, return_exceptions=True)
        return [end.code for end in ended if isinstance(end, RequestFailed)]

    began_s = time.monotonic()

    assert asyncio.run(all_cancelled()) == ["cancelled"] * 40
    assert time.monotonic() - began_s < 30


def test_a_cancelled_ask_cancels_its_request(
    bridge: AsyncBridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although nobody waits for its thread but the interpreter."""
    monkeypatch.setattr(Hosts, "of", lambda *_: [object()])
    monkeypatch.setattr(Hosts, "ring", lambda *_: None)
    store = bridge.bridge.store

    async def asked() -> RequestId:
        waits = threading.Event()
        ask = asyncio.create_task(bridge.ask("Which?", on_stage=lambda _: waits.set()))
        assert await asyncio.to_thread(waits.wait, 30)
        (request_id,) = store.waiting()
        ask.cancel()
        await asyncio.gather(ask, return_exceptions=True)
        return request_id

    request = asyncio.run(asked())

    (response,) = store.wait([request], timeout_s=30)
    assert response.error is not None
    assert response.error.code == "cancelled"
