"""`AsyncBridge`: what differs from the blocking `Bridge`."""

import asyncio
import inspect
import threading

import pytest
from servingworld import bridge_in

from bridge.api.aio import AsyncBridge
from bridge.api.bridge import Bridge
from bridge.api.hosts import Hosts
from bridge.errors import InvalidRequest
from bridge.protocol.response import RequestFailed

pytestmark = pytest.mark.slow


@pytest.fixture
def bridge(tmp_path):
    return AsyncBridge(bridge_in(tmp_path))


@pytest.mark.parametrize("requests", [["a", "b"], ("a",), set()], ids=repr)
def test_error_wait_takes_one_request(bridge, requests):
    """A generator would block the loop; the error names `as_completed` instead."""
    with pytest.raises(InvalidRequest, match=r"for many: async for .*\.as_completed\("):
        asyncio.run(bridge.wait(requests))


def test_many_are_yielded_as_they_end(bridge):
    async def ended():
        ids = [await bridge.submit(f"{n}?") for n in range(2)]
        for each in ids:
            await bridge.cancel(each)
        found = {r.request_id async for r in bridge.as_completed(ids)}
        assert found == set(ids)

    asyncio.run(ended())


def test_many_waits_hold_up_no_other_call(bridge):
    """In asyncio's own threads, even `cancel` would queue behind forty waits."""

    async def all_cancelled():
        ids = [await bridge.submit(f"{n}?") for n in range(40)]
        waits = [asyncio.create_task(bridge.wait(each, timeout_s=60)) for each in ids]
        await asyncio.sleep(0)
        for each in ids:
            assert await bridge.cancel(each)
        ended = await asyncio.gather(*waits, return_exceptions=True)
        return [end.code for end in ended if isinstance(end, RequestFailed)]

    assert asyncio.run(all_cancelled()) == ["cancelled"] * 40


def test_a_cancelled_ask_cancels_its_request(bridge, monkeypatch):
    """Although only the interpreter waits for its thread."""
    monkeypatch.setattr(Hosts, "of", lambda *_: [object()])
    monkeypatch.setattr(Hosts, "wake", lambda *_: None)
    store = bridge.bridge.store

    async def asked():
        waits = threading.Event()
        ask = asyncio.create_task(bridge.ask("Which?", on_stage=lambda _: waits.set()))
        assert await asyncio.to_thread(waits.wait, 30)
        (request_id,) = store.waiting()
        ask.cancel()
        await asyncio.gather(ask, return_exceptions=True)
        return request_id

    request = asyncio.run(asked())

    (response,) = store.wait([request], timeout_s=30)
    assert response.error.code == "cancelled"


def public(kind: type) -> dict[str, list[str]]:
    """Its methods, with the names of their arguments."""
    found = inspect.getmembers(kind, callable)
    return {
        name: list(inspect.signature(method).parameters)
        for name, method in found
        if not name.startswith("_")
    }


def test_it_has_the_methods_of_the_blocking_one():
    blocking, ours = public(Bridge), public(AsyncBridge)

    assert ours.pop("as_completed") == ["self", "requests", "schema", "options"]
    assert ours == blocking


def test_a_wait_for_many_begins_in_its_thread(bridge, monkeypatch):
    """It reads a file for each request: four hundred would hold up the loop."""
    wait = bridge.bridge.wait
    threads: list[str] = []

    def noted(*requests, **how):
        threads.append(threading.current_thread().name)
        return wait(*requests, **how)

    monkeypatch.setattr(bridge.bridge, "wait", noted)

    async def ended():
        request = await bridge.submit("Which?")
        await bridge.cancel(request)
        return len([result async for result in bridge.as_completed([request])])

    assert asyncio.run(ended()) == 1
    assert [name.startswith("hostbridge") for name in threads] == [True]


@pytest.mark.parametrize("many", [False, True])
def test_a_cancelled_wait_ends_while_the_lock_is_held(bridge, *, many):
    """Its thread must not stay for as long as somebody else holds the lock."""
    reported = threading.Event()

    def on_stage(_stage):
        reported.set()

    async def waited(request):
        if many:
            async for _ in bridge.as_completed([request], on_stage=on_stage):
                pass
        else:
            await bridge.wait(request, on_stage=on_stage)

    async def cancelled():
        wait = asyncio.create_task(waited(await bridge.submit("Which?")))
        with bridge.bridge.store.exclusive():
            assert await asyncio.to_thread(reported.wait, 30)
            wait.cancel()
            await asyncio.gather(wait, return_exceptions=True)
            threads = [t for t in threading.enumerate() if t.name.startswith("hostb")]
            assert threads
            for thread in threads:
                await asyncio.to_thread(thread.join, 60)
        return [thread.is_alive() for thread in threads]

    assert not any(asyncio.run(cancelled()))
