"""`Bridge` for asyncio: what is its own."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import TYPE_CHECKING, Any

import pytest

from bridge.api.aio import AsyncBridge
from bridge.api.bridge import Bridge
from bridge.api.hosts import Hosts
from bridge.api.options import WaitOptions
from bridge.config import Settings
from bridge.protocol.response import RequestFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.api.result import Result
    from bridge.protocol.ids import RequestId
    from bridge.protocol.status import Stage


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

    assert asyncio.run(all_cancelled()) == ["cancelled"] * 40


def test_a_cancelled_ask_cancels_its_request(
    bridge: AsyncBridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although nobody waits for its thread but the interpreter."""
    monkeypatch.setattr(Hosts, "of", lambda *_: [object()])
    monkeypatch.setattr(Hosts, "wake", lambda *_: None)
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


def public(kind: type) -> dict[str, list[str]]:
    """Its methods, with the names of their arguments."""
    found = inspect.getmembers(kind, callable)
    return {
        name: list(inspect.signature(method).parameters)
        for name, method in found
        if not name.startswith("_")
    }


def test_it_has_the_methods_of_the_blocking_one() -> None:
    """Two were missing, and one argument of a third."""
    blocking, ours = public(Bridge), public(AsyncBridge)
    # What they have instead of arguments is the same as well: `WaitOptions`.
    assert ours.pop("as_completed") == ["self", "requests", "options"]
    assert ours.pop("wait") == ["self", "request", "options"]
    assert set(blocking.pop("wait")[2:]) == WaitOptions.__optional_keys__
    assert ours == blocking


def test_a_project_and_a_request_can_be_looked_at(bridge: AsyncBridge) -> None:
    async def looked() -> tuple[list[str], str]:
        request = await bridge.submit("Which?")
        overview = await bridge.overview()
        story = await bridge.story(request)
        assert story.request is not None
        return [each.request_id for each in overview.requests], story.request.request_id

    listed, told = asyncio.run(looked())

    assert listed == [told]


def test_a_wait_for_many_begins_in_its_thread(
    bridge: AsyncBridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is read for each: four hundred held the loop up for an eighth second."""
    wait = bridge.bridge.wait
    threads: list[str] = []

    def noted(*requests: Any, **how: Any) -> Iterator[Result]:
        threads.append(threading.current_thread().name)
        return wait(*requests, **how)

    monkeypatch.setattr(bridge.bridge, "wait", noted)

    async def ended() -> int:
        request = await bridge.submit("Which?")
        await bridge.cancel(request)
        return len([result async for result in bridge.as_completed([request])])

    assert asyncio.run(ended()) == 1
    assert [name.startswith("hostbridge") for name in threads] == [True]


@pytest.mark.parametrize("many", [False, True])
def test_a_cancelled_wait_is_let_go_while_the_lock_is_held(
    bridge: AsyncBridge, *, many: bool
) -> None:
    """Its thread stayed as long as the lock was; stages are told meanwhile, too."""
    told = threading.Event()

    def on_stage(_stage: Stage) -> None:
        told.set()

    async def waited(request: str) -> None:
        if many:
            async for _ in bridge.as_completed([request], on_stage=on_stage):
                pass
        else:
            await bridge.wait(request, on_stage=on_stage)

    async def cancelled() -> list[bool]:
        wait = asyncio.create_task(waited(await bridge.submit("Which?")))
        with bridge.bridge.store.exclusive():
            assert await asyncio.to_thread(told.wait, 30)
            wait.cancel()
            await asyncio.gather(wait, return_exceptions=True)
            threads = [t for t in threading.enumerate() if t.name.startswith("hostb")]
            assert threads
            for thread in threads:
                await asyncio.to_thread(thread.join, 60)
        return [thread.is_alive() for thread in threads]

    assert not any(asyncio.run(cancelled()))
