"""A request: what identifies it, its times on a clock that was set, and its stage."""

import sys
from hashlib import sha256
from typing import Any

import pytest

from bridge.errors import InvalidRequest
from bridge.protocol.claim import Claim, HostProcess
from bridge.protocol.digest import sha256_of
from bridge.protocol.request import Applied, Node, Request, Uptime
from bridge.protocol.status import Stage

HOST = HostProcess(pid=1, start_time="1", boot="b")
NODE = Node(file="a.py", name="f", type="function", line=3, text="def f(): ...")
MADE = Uptime(boot="b", ms=1_000)


def asked(**fields: Any) -> Request:
    return Request(**{"request_id": "a", "prompt": "Which?", **fields})


def test_the_question_contains_its_node():
    assert asked().asked == "Which?"
    assert asked(node=NODE).asked == (
        "Which?\n\na.py, line 3, function f:\n\ndef f(): ..."
    )


def test_the_prompt_is_that_of_the_definition():
    by = Applied(digest="0", prompt="You find modules. Which?")

    assert asked(node=NODE).spoken == asked(node=NODE).asked
    assert asked(definition=by).spoken == "You find modules. Which?"


CHANGES = [
    ({"prompt": "Where?"}, False),
    ({"request_id": "b"}, False),
    ({"agent_type": "Plan"}, False),
    ({"arguments": {"a": 1}}, False),
    ({"node": NODE}, False),
    ({"task_id": "t"}, False),
    ({"model": "haiku", "created_at": 5, "attempt": 1}, True),
    ({"claim": Claim(session="s", host=HOST, at=1)}, True),
]


@pytest.mark.parametrize(("change", "is_same"), CHANGES, ids=str)
def test_the_digest_covers_what_was_asked(change, *, is_same):
    """Nobody else could have asked it, and no later change makes it another request."""
    assert (asked().with_(**change).digest == asked().digest) is is_same


CLOCKS = {
    "not set": (15_000, "b", 10_000),
    "drift": (15_999, "b", 10_000),
    "set forward": (16_000, "b", 11_000),
    "set back": (3_000, "b", -2_000),
    "restarted": (99_000, "another", 10_000),
}


@pytest.mark.parametrize(("now_ms", "boot", "asked_ms"), CLOCKS.values(), ids=CLOCKS)
def test_times_follow_a_clock_that_was_set(now_ms, boot, asked_ms):
    uptime = Uptime(boot=boot, ms=6_000)
    request = asked(created_at=10_000, timeout=5_000, uptime=MADE)

    seen = request.on_clock(now_ms, uptime)

    assert (seen.asked_ms, seen.deadline_ms) == (asked_ms, asked_ms + 5_000)
    assert (seen.created_at, seen.to_data()) == (10_000, request.to_data())


def test_a_request_without_an_uptime_keeps_its_times():
    assert asked(created_at=10).on_clock(99_000, MADE).asked_ms == 10


STAGES = [
    ({}, Stage.OFFERED),
    ({"launched_at": 5}, Stage.RUNNING),
    ({"launched_at": 5, "corrections": 1}, Stage.INVALID_ANSWER),
]


@pytest.mark.parametrize(("fields", "stage"), STAGES)
def test_the_stage_of_a_claim(fields, stage):
    claim = Claim(session="s", host=HOST, at=1, **fields)

    assert claim.stage is asked(claim=claim).stage is stage
    assert asked().stage is Stage.WAITING


def test_a_claimed_request_is_served_on_the_route_of_its_claim():
    claim = Claim(session="s", host=HOST, at=1, route="claude")
    waiting = asked(route="local")

    assert waiting.served_on == "local"
    assert waiting.with_(claim=claim).served_on == "claude"


@pytest.mark.parametrize("name", ["a\u202eb", "-a", "a`b", "a{b}", "\u00a0"], ids=repr)
def test_error_an_agent_name_that_is_unsafe_in_a_sentence(name):
    with pytest.raises(ValueError, match="agent_type"):
        asked(agent_type=name)


def test_error_what_a_caller_says_is_refused_in_one_line():
    """By the name of the field, whoever asked: a tool, a rule or a step."""
    with pytest.raises(InvalidRequest, match=r"\Aagent_type: string should match .*\Z"):
        Request.checked(request_id="r-1", agent_type=":<x>", prompt="Look.")


@pytest.mark.parametrize("name", ["a", "plugin:name", "prüfer", "代码", "C# pro"])
def test_an_agent_name_may_be_in_any_script(name):
    assert asked(agent_type=name).agent_type == name


def test_the_way_to_an_agents_folder_is_quoted_for_a_shell():
    """The state mirrors the project's path, which may hold blanks."""
    spoken = asked(folder="/state/my project/@/worktrees/r/w").spoken

    assert "`cd '/state/my project/@/worktrees/r/w' && `" in spoken


# Digests are hashlib's, whichever implementation Python brings


@pytest.mark.parametrize("missing", [(), ("_sha256",), ("_sha256", "_sha2")])
def test_it_is_the_same_with_every_build_of_python(monkeypatch, missing):
    """Records of one machine are read by the next Python."""
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)

    assert sha256_of(b"Which modules?") == sha256(b"Which modules?").hexdigest()
