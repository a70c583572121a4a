"""The journal: one line for each event, and never a failure because of it."""

from __future__ import annotations

import os

from bridge.store.journal import MAX_BYTES, NAME, lines_about, newest_lines, note


def test_the_journal_tells_the_story_of_a_request(state):
    note(state, 1, "submitted", "a", agent="Explore", by=None)
    note(state, 2, "submitted", "b")
    note(state, 3, "completed", "a", source="SubagentStop")

    assert lines_about(state, "a") == [
        {"at": 1, "event": "submitted", "requestId": "a", "agent": "Explore"},
        {"at": 3, "event": "completed", "requestId": "a", "source": "SubagentStop"},
    ]


def test_a_full_journal_is_rotated_and_still_read(state):
    note(state, 1, "submitted", "a", filler="x" * (MAX_BYTES + 1))
    note(state, 2, "claimed", "a")

    assert [line["at"] for line in lines_about(state, "a")] == [1, 2]
    assert [line["at"] for line in newest_lines(state, 9)] == [2, 1]
    assert os.stat(f"{state.path}/events.jsonl").st_size < 100


def test_the_newest_lines_come_first(state):
    """A line that is just being written does not count."""
    for at in range(5):
        note(state, at, "submitted", "a")
    with open(f"{state.path}/{NAME}", "ab") as file:
        file.write(b'{"at": 5')

    assert [line["at"] for line in newest_lines(state, 3)] == [4, 3, 2]


def test_a_broken_line_is_skipped(state):
    note(state, 1, "submitted", "a")
    with open(f"{state.path}/events.jsonl", "ab") as journal:
        journal.write(b'{"requestId": "a", "ev\n\xff\n')
    note(state, 2, "claimed", "a")

    assert [line["at"] for line in lines_about(state, "a")] == [1, 2]


def test_the_journal_never_fails_a_transition(state):
    note(state, 1, "submitted", "a", words="\ud800")
    state.close()

    note(state, 1, "submitted", "a")
