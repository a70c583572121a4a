"""What is begun while a server ends is cancelled, too."""

import asyncio
from threading import Event, Thread

import pytest
from polling import wait_until

from bridge.mcp.serving import Serving

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def test_a_request_that_is_made_while_the_server_ends_is_cancelled():
    serving, is_made, may_go_on = Serving(1), Event(), Event()
    cancelled = []

    def begin(serving):
        is_made.set()
        may_go_on.wait()
        serving.note("r-1", lambda: cancelled.append("r-1"))

    starting = asyncio.create_task(serving.start(begin))
    await asyncio.to_thread(is_made.wait)
    ending = Thread(target=serving.end)
    ending.start()
    wait_until(lambda: serving.is_ending)
    assert ending.is_alive()
    may_go_on.set()
    await starting
    await asyncio.to_thread(ending.join)

    assert cancelled == ["r-1"]


def test_a_run_that_is_begun_while_the_server_ends_is_cancelled():
    serving, cancelled = Serving(1), []
    serving.end()

    serving.follow("run", lambda: None, lambda: cancelled.append("run"))

    assert cancelled == ["run"]
