"""Answers without end are cut, and a server learns that nobody waits any more."""

import gzip
import socket
import threading
from types import SimpleNamespace

import pytest
from scripted_server import Act, Talk, connect, failure, silent, trickle

from bridge.endpoint.http_transport import Connections

pytestmark = pytest.mark.slow


def endless(status: int) -> Act:
    """Send a line that never ends."""

    def act(talk: Talk, _) -> None:
        talk.begin(status=status)
        talk.wfile.write(b"data: ")
        while not talk.server.over.is_set():
            talk.wfile.write(b"a" * 1000)

    return act


@pytest.mark.parametrize("status", [200, 500], ids=["line", "error"])
def test_error_a_line_without_end(server, monkeypatch, status):
    """The client keeps a line, and an error, whole: it could take all memory."""
    monkeypatch.setattr("bridge.endpoint.http_transport.MAX_BYTES", 100_000)

    expected = ("too_long", "the server sent over 100,000 bytes")
    assert failure(connect(server, endless(status))) == expected


@pytest.mark.parametrize("status", [200, 500], ids=["line", "error"])
@pytest.mark.parametrize("packed", ["gzip", "GZIP, gzip", "zstd"])
def test_error_a_packed_answer(server, status, packed):
    """Two layers of gzip in 3 MB are terabytes, and come in parts of any size."""
    asked = []

    def act(talk: Talk, _) -> None:
        asked.append(talk.headers["Accept-Encoding"])
        talk.send_response(status)
        talk.send_header("Content-Encoding", packed)
        talk.end_headers()
        talk.wfile.write(gzip.compress(gzip.compress(bytes(1_000_000))))

    expected = f"the server packed its answer ({packed}), though asked not to"
    assert failure(connect(server, act)) == ("agent_error", expected)
    assert asked == ["identity"]


def silent_from_then_on(talk: Talk, asked) -> None:
    talk.begin()
    talk.chunk(content=" ")
    silent(talk, asked)


@pytest.mark.parametrize("act", [silent, silent_from_then_on, trickle])
@pytest.mark.parametrize(
    ("how", "code", "message"),
    [
        ("stopped", "cancelled", "the reply is no longer wanted"),
        ("closed", "model_died", "the model was closed"),
        ("late", "timeout", "did not answer by the deadline"),
    ],
)
def test_a_client_that_no_longer_waits_hangs_up(
    server, monkeypatch, act, how, code, message
):
    """Otherwise the server would go on computing for nobody."""
    endpoint = connect(server, act)

    def close_when_asked() -> None:
        server.begun.wait()
        endpoint.close()

    if how == "closed":
        threading.Thread(target=close_when_asked, daemon=True).start()
    if how == "late":
        server.passes_an_hour(monkeypatch)

    found = failure(
        endpoint,
        seconds=600,
        should_stop=server.begun.is_set if how == "stopped" else lambda: False,
    )

    assert (found[0], found[1].endswith(message)) == (code, True), found
    assert server.left.wait(300)


def test_no_cut_returns_before_every_connection_is_shut_down():
    """A socket that is closed while another thread reads tells the server nothing."""
    connections = Connections()
    ours, theirs = socket.socketpair()
    still_waits = []

    class Connection:
        def get_extra_info(self, _: str) -> socket.socket:
            second = threading.Thread(target=connections.cut)
            second.start()
            second.join(0.2)
            still_waits.append(second.is_alive())
            return ours

    request = SimpleNamespace(extensions={})
    connections.watch(request)
    connected = {"return_value": Connection()}
    request.extensions["trace"]("connection.connect_tcp.complete", connected)
    connections.cut()

    assert still_waits == [True]
    with ours, theirs:
        assert theirs.recv(1) == b""


def test_a_connection_opened_after_the_cut_is_shut_down():
    """Whoever asked is gone: nobody would ever cut it."""
    connections = Connections()
    ours, theirs = socket.socketpair()
    request = SimpleNamespace(extensions={})
    connections.watch(request)
    connection = SimpleNamespace(get_extra_info=lambda _: ours)

    connections.cut()
    connected = {"return_value": connection}
    request.extensions["trace"]("connection.connect_tcp.complete", connected)

    with ours, theirs:
        theirs.settimeout(10)
        assert theirs.recv(1) == b""
