"""Every error of a server has a code and a message, without the API key."""

import socket

import pytest
from scripted_server import Talk, connect, fail, failure, settings

from bridge.endpoint.endpoint_model import open_endpoint

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (404, "no model m", "model_unavailable"),
        (429, "slow down", "quota"),
        (400, "context length exceeded", "too_long"),
        (400, "the schema is too odd", "bad_request"),
        (422, "the schema is too odd", "bad_request"),
        (401, "bad key sk-1", "agent_error"),
        (503, "loading", "agent_error"),
    ],
)
def test_error_status(server, status, message, code):
    found = failure(connect(server, fail(status, message), key="sk-1"))

    assert found[0] == code
    assert found[1].startswith(f"HTTP {status}: ")
    assert message.replace("sk-1", "…") in found[1]
    assert "sk-1" not in found[1]
    assert len(server.asked) == 1


def test_a_limit_says_when_it_ends(server):
    """The header counts, and may hold anything."""
    limited = fail(429, "slow down", Retry_After="30 sk-1" + "x" * 900)

    code, message = failure(connect(server, limited, key="sk-1"))

    assert code == "quota"
    assert "slow down" in message
    assert " (retry-after: 30" in message
    assert len(message) < 700


def test_a_long_message_is_cut(server):
    _, message = failure(connect(server, fail(500, "x" * 1000)))

    assert len(message) == len("HTTP 500: ") + 501
    assert message.endswith("x…")


def test_without_a_key_nothing_is_hidden(server):
    """The client's key is then `none`, which a message may well say."""
    _, message = failure(connect(server, fail(503, "none is loaded")))

    assert "none is loaded" in message


@pytest.mark.parametrize("status", [301, 307, 308])
def test_error_a_redirect_is_not_followed(server, status):
    """A request holds the project's files: it goes only where the user said."""

    def redirect(talk: Talk, _) -> None:
        talk.send_response(status)
        talk.send_header("Location", "http://elsewhere.test/v1")
        talk.send_header("Content-Length", "0")
        talk.end_headers()

    code, message = failure(connect(server, redirect))

    assert code == "no_server"
    assert message == (
        f"{server.url}/ points to http://elsewhere.test/v1, and is not followed; set "
        "BRIDGE_OPENAI_BASE_URL to where the server is"
    )


def test_error_no_server():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        code, message = failure(open_endpoint("openai:m", settings(url)))

    assert code == "no_server"
    assert message.startswith(f"no server at {url}/: ")


def test_error_the_server_hangs_up(server):
    code, message = failure(connect(server, lambda talk, _: talk.connection.close()))

    assert code == "agent_error"
    assert message.startswith("the connection broke: ")
