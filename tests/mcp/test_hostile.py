"""What a broken or hostile client sends: named, bounded, and the server goes on."""

import os
import subprocess
from typing import Any

import pytest
from mcpworld import STARTED, text_of

from bridge.api.variables import Variables

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MAX_TEXT = 10_000


def _short(value: object) -> str:
    # pytest puts a test's name into the environment.
    return repr(value)[:40]


# One server for each list: starting one takes longer than all of its calls.
ARGUMENTS: list[dict[str, Any]] = [
    {"prompt": "x" * 10_000_001},
    {"prompt": None},
    {"prompt": ["a"]},
    {"agent": "x" * 100_000},
    {"agent": "a\nb"},
    {"agent": "../../../etc/passwd"},
    {"model": "\x00"},
    {"mode": "root"},
    {"timeout_s": 1e300},
    {"timeout_s": "soon"},
    {"task_id": "x" * 100_000},
    {"variables": []},
    {"variables": {"x": 10**400}},
    {"schema": {"$ref": "file:///etc/passwd"}},
    {"x" * 100_000: 1},
]
VALUES: list[Any] = [
    {"tool_name": "Bash"},
    {"x": 10**400},
    {"x": "a" * 2_000_000},
    {f"n{at}": 1 for at in range(1001)},
    [],
    "x",
]
CALLS: list[Any] = ["", "../../x", "x" * 1_000_000, 7, {"a": 1}, [], "toolu_\x00"]


async def test_error_arguments_of_start_agent(world, use):
    """A short error, no request, and the next call works."""
    for arguments in ARGUMENTS:
        task = {"prompt": "Count.", **arguments}
        refused = await use("start_agent", task)
        assert refused.is_error, _short(arguments)
        assert len(text_of(refused)) < MAX_TEXT, _short(arguments)
        assert "Traceback" not in text_of(refused)
    assert world.bridge.overview().requests == ()
    seen = await use("status", {})
    assert not seen.is_error
    assert f"{world.project}: 1 session open, 0 requests ended" in text_of(seen)


async def test_error_variables(world, use):
    """Nothing is set."""
    for values in VALUES:
        setting = {"values": values}
        refused = await use("set_variables", setting)
        assert refused.is_error, _short(values)
        assert len(text_of(refused)) < MAX_TEXT, _short(values)

    known = Variables.of_session(
        world.store, world.bridge.settings, world.session, "model"
    )
    assert known.all() == {}


async def test_variables_may_have_odd_names(use):
    """As long as a condition can write them."""
    values = {"self": 1, "values": 2}

    done = await use("set_variables", {"values": values})
    assert done.structured_content["variables"].keys() == values.keys()
    for name in ("", "a\nb", "../x"):
        setting = {"values": {name: 1}}
        refused = await use("set_variables", setting)
        assert text_of(refused).startswith("bad_request: "), name


async def test_error_an_id_that_is_none(client):
    """Nobody acts in the name of a session by a guess."""
    for call in CALLS:
        meta: Any = {"claudecode/toolUseId": call}
        refused = await client.call_tool("get_variables", {}, meta=meta)
        assert refused.is_error, _short(call)
        assert text_of(refused).startswith("unknown_caller: "), _short(call)


GARBAGE = (
    b"\xff\xfe\x00\n",
    b"{\n",
    b"[" * 100_000 + b"\n",
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"a":',
)


@pytest.mark.parametrize("sent", [b"", b"".join(GARBAGE)], ids=["nothing", "garbage"])
def test_whatever_is_sent_the_end_of_stdin_ends_it(world, sent):
    """Nothing but the protocol is on stdout."""
    done = subprocess.run(
        STARTED,
        input=sent,
        capture_output=True,
        cwd=world.project,
        env=dict(os.environ),
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert all(line.startswith(b'{"jsonrpc"') for line in done.stdout.splitlines())
