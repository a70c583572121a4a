"""What was noted of an agent's calls is strange: its answer counts, and is doubtful."""

import pytest
from hookprocesses import run_hook
from sessionlooks import UNCHECKED, answered, is_reused, reads, reasons, working, write

from bridge.host import answer_reads
from bridge.host.hook_table import Hook

pytestmark = pytest.mark.slow

STRANGE = {
    "half a line": b'{"id": "c", "tool": "Ba\n',
    "no JSON": b"\xff\xfe\n",
    "an array": b"[1]\n",
    "no tool": b'{"id": "c", "at": 1}\n',
    "a tool that is none": b'{"id": "c", "tool": 5, "at": 1}\n',
    "a time that is none": b'{"id": "c", "tool": "Bash", "at": "x"}\n',
    "a time that is infinite": b'{"id": "c", "tool": "Bash", "at": 1e400}\n',
    "input that is none": b'{"id": "c", "tool": "Read", "at": 1, "input": 5}\n',
    "a folder that is none": b'{"id": "c", "tool": "Bash", "at": 1, "cwd": 7}\n',
    "facts that are none": b'{"id": "c", "tool": "Glob", "at": 1, "input":'
    b' {"pattern": "*"}, "facts": 7}\n',
}


@pytest.mark.parametrize("name", STRANGE)
def test_notes_that_cannot_be_read_cost_no_answer_and_are_not_relied_on(session, name):
    """The agent is gone by then: nobody else would have its words."""
    request, agent = working(session, reads(session, "src/a.py"))
    notes = session.store.place.state / f"agents/{agent}.calls"
    notes.write_bytes(notes.read_bytes() + STRANGE[name])

    session.stop(agent)

    assert session.code(request) == "success"
    assert not is_reused(session)


def test_more_calls_than_a_hook_can_go_through_are_a_doubt(session, monkeypatch):
    monkeypatch.setattr(answer_reads, "MAX_CALLS", 2)
    some = [("Glob", {"pattern": "*.py"}), reads(session, "src/a.py")]
    answered(session, *some)
    assert is_reused(session)

    answered(session, *some, ("Grep", {"pattern": "x"}))

    assert reasons(session) == [f"{UNCHECKED}more than 2 calls"]


# The client reads, for half a character, the sign that stands for what is none.
HALVES = {
    "Bash": ({"command": "cat \ud800"}, "src/new.py"),
    "Read": ({"file_path": "src/a\ud800.py"}, "src/a\ufffd.py"),
    "Grep": ({"pattern": "x", "glob": "\ud800*"}, "\ufffdx"),
    "Glob": ({"pattern": "\ud800*"}, "\ufffdx"),
}


@pytest.mark.slow
@pytest.mark.parametrize("tool", HALVES)
def test_half_a_character_hides_no_call(session, tool):
    """Models write such, the client escapes it, and not every reader takes that."""
    given, changed = HALVES[tool]
    request, agent = working(session)
    # From the second call on, the gate needs nothing but its notes.
    calls = (("toolu_1", "Glob", {"pattern": "none.x"}), ("toolu_2", tool, given))
    for call, name, arguments in calls:
        hook = Hook(
            "PreToolUse", "tool-start", tools="bash" if name == "Bash" else "read"
        )
        fields = {"tool_use_id": call, "tool_name": name, "tool_input": arguments}
        event = session.event("PreToolUse", agent_id=agent, **fields)
        assert run_hook(hook, event) == (0, b"", b"")
    session.stop(agent)

    assert session.code(request) == "success"
    write(session, changed)
    assert not is_reused(session)
