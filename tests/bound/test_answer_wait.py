"""A turn waits for the agent that a rule chose, within bounds."""

import json
import threading
import time

import pytest

from bridge.bound import answer_wait
from bridge.bound.answer_wait import wait
from bridge.store.directory import Folder
from bridge.store.records import load_key, seal_of

CALL = {"tool_use_id": "toolu_1", "tool_response": {"isAsync": True}}


@pytest.fixture
def state(tmp_path):
    for name in ("agents", "responses"):
        (tmp_path / name).mkdir()
    return tmp_path


def note(state, seconds=300.0, **fields):
    known = {"requestId": "r-1", "agent": "checker"}
    known |= {"until": (time.monotonic() + seconds) * 1000, **fields}
    (state / "agents" / "toolu_1.wait").write_text(json.dumps(known))


def answer(state, **fields):
    value = {"requestId": "r-1", "success": True, **fields}
    with Folder.open(str(state)) as folder:
        value = {"seal": seal_of(value, load_key(folder)), **value}
    place(state, value)


def place(state, value):
    """Put it where an answer has to be, at once."""
    (state / "new").write_text(json.dumps(value))
    (state / "new").replace(state / "responses" / "r-1.json")


def told(state, **fields):
    # A pin is a link to the state.
    pin = state / "pin"
    pin.symlink_to(state)
    data = wait(str(pin), CALL | fields)
    return json.loads(data)["hookSpecificOutput"]["additionalContext"] if data else ""


def test_the_answer_is_told_as_soon_as_it_is_there(state):
    note(state)
    threading.Timer(0.3, answer, [state], {"parsedOutput": {"a": "ü"}}).start()

    assert told(state) == 'hostbridge: checker answered:\n{"a": "ü"}'
    assert [file.name for file in (state / "agents").iterdir()] == ["toolu_1.told"]


@pytest.mark.parametrize("seal", [{}, {"seal": "0" * 64}, {"seal": 7}])
def test_a_file_that_somebody_else_wrote_is_not_the_answer(state, seal):
    """Nor does it keep the answer from being told."""
    note(state)
    place(state, {"requestId": "r-1", "parsedOutput": {"a": "forged"}, **seal})
    threading.Timer(0.3, answer, [state], {"parsedOutput": {"a": "real"}}).start()

    assert told(state) == 'hostbridge: checker answered:\n{"a": "real"}'


def test_the_answer_to_another_request_is_not_the_answer(state):
    note(state, 0.3)
    answer(state, requestId="r-2", parsedOutput={})

    assert "did not answer (timeout)" in told(state)


def test_a_failure_is_told_with_its_code(state):
    note(state)
    answer(state, error={"code": "timeout", "message": "too late"})

    assert told(state).startswith("hostbridge: checker did not answer (timeout): too")


@pytest.mark.parametrize("seconds", [0.2, -5])
def test_at_the_deadline_the_agent_has_not_answered(state, seconds):
    """Whether or not anybody has written that down by then."""
    note(state, seconds)

    assert told(state) == (
        "hostbridge: checker did not answer (timeout): its time is over\n"
        "The call may be made again."
    )
    # If it has an answer after all, the notice of its end tells that.
    assert list((state / "agents").iterdir()) == []


def test_an_agent_that_the_user_stops_is_not_waited_for(state, tmp_path):
    """No hook hears of it before the turn goes on."""
    note(state)
    folder = tmp_path / "session" / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.meta.json").write_text('{"agentType": "x"}')
    stop = threading.Timer(
        0.3, (folder / "agent-a1.meta.json").write_text, ['{"stoppedByUser": true}']
    )
    stop.start()

    said = told(
        state,
        transcript_path=f"{tmp_path}/session.jsonl",
        tool_response={"isAsync": True, "agentId": "a1"},
    )

    assert said == (
        "hostbridge: checker did not answer (agent_stopped): by the user\n"
        "The call may be made again."
    )
    assert list((state / "agents").iterdir()) == []


def test_a_wall_clock_that_is_set_ends_no_wait(state, monkeypatch):
    note(state)
    monkeypatch.setattr(time, "time", lambda: 1e12)
    threading.Timer(0.3, answer, [state], {"parsedOutput": {}}).start()

    assert "answered" in told(state)


def test_it_never_waits_longer_than_its_own_bound(state, monkeypatch):
    monkeypatch.setattr(answer_wait, "MAX_WAIT_S", 0.1)
    note(state, 10_000)

    assert "still works on this" in told(state)
    assert list((state / "agents").iterdir()) == []


def test_a_long_answer_is_cut_and_names_the_way_to_the_rest(state):
    note(state)
    answer(state, parsedOutput={"a": "x" * 50_000})

    said = told(state)
    assert len(said) <= answer_wait.MAX_CONTEXT
    assert said.endswith("all of it: hostbridge show r-1")


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_use_id": "toolu_2"},
        {"tool_use_id": "../x"},
        {"tool_use_id": None},
        {"tool_response": {"status": "completed"}},
        {"tool_response": None},
    ],
)
def test_no_other_call_waits(state, fields):
    note(state)

    assert told(state, **fields) == ""


@pytest.mark.parametrize("text", ["", "[]", '{"requestId": "../../x"}', "{"])
def test_a_damaged_note_holds_nothing_up(state, text):
    (state / "agents" / "toolu_1.wait").write_text(text)

    assert told(state) == ""
