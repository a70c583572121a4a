"""Which call belongs to which agent: unusual ids, damaged notes, calls taken over."""

import json

import pytest

from bridge.protocol.claim import Claim, HostProcess

pytestmark = pytest.mark.slow

DAMAGED = (
    b"\xff", b"\xff\xfe{", b"[" * 100_000, b"7", b"null", b"{}",
    b'{"id": [], "tool": 7, "command": ["ls"]}',
    b'{"id": "x", "tool": "Bash", "command": ["ls"], "pid": 1}',
)  # fmt: skip


@pytest.mark.parametrize("note", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_note_of_a_call_stops_nobody(world, note):
    agents = world.store.place.state / "agents"
    agents.mkdir(exist_ok=True)
    (agents / "toolu_x.bash").write_bytes(note)
    request, _, agent = world.begin()
    (agents / f"{agent}.calls").write_bytes(note + b"\n")
    claim = {"type": "t", "content": "c", "command": "ls"}
    answer = {"status": "success", "summary": "s", "evidence": [claim]}

    said = world.stop(agent, json.dumps(answer))
    assert "was not seen to run" in said["reason"]
    world.stop(agent)
    world.notice(agent)

    assert world.code(request) == "success"
    assert world.runs() == []


@pytest.mark.parametrize(
    "call", ["functions.Agent:0", "../../up", "c" * 300, "a\nb", "\u00e9", "nul\x00"]
)
def test_a_call_whose_id_is_no_name_is_served(world, call):
    """Models behind a gateway number their calls as they like."""
    request = world.submit()
    world.say("UserPromptSubmit", prompt="hello")

    said = world.call_agent(f"bridge:{request}", tool_use_id=call)
    assert said["permissionDecision"] == "allow"
    world.stop(world.start(call))

    assert world.code(request) == "success"


@pytest.mark.parametrize("call", [None, "", 7, ["a"]])
def test_error_a_call_without_an_id_loses_nothing(world, call):
    request = world.submit()
    world.say("UserPromptSubmit", prompt="hello")

    said = world.call_agent(f"bridge:{request}", tool_use_id=call)

    assert said["permissionDecision"] == "deny"
    world.stop(world.start(world.launch(request)))
    assert world.code(request) == "success"


def test_error_two_calls_with_one_id_are_not_mixed_up(world):
    """The words of one agent must not become the answer of the other's request."""
    one, other = world.submit("One?"), world.submit("Other?")
    world.say("UserPromptSubmit", prompt="hello")
    call = world.launch(one)

    said = world.call_agent(f"bridge:{other}", tool_use_id=call)

    assert said["permissionDecision"] == "deny"
    world.stop(world.start(call))
    assert (world.code(one), world.code(other)) == ("success", None)
    world.stop(world.start(world.launch(other)))
    assert world.code(other) == "success"


def test_an_old_run_does_not_fail_what_another_has_now(world):
    """The request was taken back; the end of the first agent is not its end."""
    request, agent = world.working()
    other = HostProcess(pid=1, start_time="1", boot="other")
    claim = Claim(session="other", host=other, at=1)
    world.change("processing", request, claim=claim.to_data())

    world.say("StopFailure", agent_id=agent, error="server_error")
    world.notice(agent, "failed")

    assert world.code(request) is None
