"""The journal: one line for each event, and never a failure because of it."""

import multiprocessing
import os
import time

from bridge.store import journal
from bridge.store.directory import Folder
from bridge.store.journal import (
    KEPT_BYTES,
    MAX_BYTES,
    NAME,
    lines_about,
    newest_lines,
    note,
    remove_older,
)


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


def four_at_once(fill) -> None:
    """Have four processes write, each under a name of its own: a, b, c or d."""
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=fill, args=(name,)) for name in "abcd"]
    for each in writers:
        each.start()
    for each in writers:
        each.join()


def test_four_processes_lose_no_line_of_a_log_that_is_always_full(state, monkeypatch):
    """Each finds it full after every few lines, often several at once."""
    monkeypatch.setattr(journal, "MAX_BYTES", 2000)
    lines = 1000

    def fill(name):
        for number in range(lines):
            note(state, 1_800_000_000_000 + number, "claimed", name, n=number)

    four_at_once(fill)

    for name in "abcd":
        assert {line["n"] for line in lines_about(state, name)} == {*range(lines)}
    assert not [name for name in os.listdir(state.fd) if "aside" in name]


def test_a_log_with_one_older_name_keeps_two_full_files_of_lines(state):
    """Whoever comes second does not move the new log over the one that was full."""
    lines, size = 300, 4000

    def fill(name):
        for number in range(lines):
            line = f"{name}{number:03}\n".encode()
            journal.append_line(state, "log", line, max_bytes=size, older="log.1")

    four_at_once(fill)

    kept = journal.read_logs(state, "log.1", "log").split()
    assert len({*kept}) == 4 * lines


def test_a_log_that_others_fill_at_once_is_not_moved_over_the_last(state, monkeypatch):
    """Of the log that has just become full nothing is lost, however slow its mover."""
    moves = Folder.move

    def move(*words):
        moves(*words)
        with open(f"{state.path}/log", "wb") as log:
            log.write(b"second\n")

    monkeypatch.setattr(Folder, "move", move)
    for line in (b"first\n", b"third\n"):
        journal.append_line(state, "log", line, max_bytes=1, older="log.1")

    assert journal.read_logs(state, "log.1") == b"first\n"
    assert journal.read_logs(state, "log") == b"second\nthird\n"


def test_the_oldest_files_go_when_it_is_too_large(state):
    """That of an earlier hostbridge is the oldest of all."""
    with open(f"{state.path}/events.1.jsonl", "wb") as file:
        file.write(b'{"at":1,"event":"submitted","requestId":"old"}\n')
    for number in range(KEPT_BYTES // MAX_BYTES + 3):
        note(state, 1000 + number, "filler", f"r{number}", why="x" * MAX_BYTES)

    kept = sum(os.stat(n, dir_fd=state.fd).st_size for n in older_names(state))
    assert KEPT_BYTES - 2 * MAX_BYTES < kept <= KEPT_BYTES
    assert not lines_about(state, "old")
    assert not lines_about(state, "r0")
    assert lines_about(state, f"r{KEPT_BYTES // MAX_BYTES + 2}")


def test_the_file_of_an_earlier_hostbridge_is_read(state):
    with open(f"{state.path}/events.1.jsonl", "wb") as file:
        file.write(b'{"at":1,"event":"submitted","requestId":"a"}\n')
    note(state, 2, "claimed", "a")

    assert [line["at"] for line in lines_about(state, "a")] == [1, 2]
    assert [line["at"] for line in newest_lines(state, 9)] == [2, 1]


def test_prune_removes_full_files_by_their_age(state):
    for number in range(3):
        note(state, 1000 + number, "filler", f"r{number}", why="x" * MAX_BYTES)
    now_s = time.time()

    remove_older(state, 60, now_s)
    assert len(older_names(state)) == 2
    remove_older(state, 60, now_s + 120)

    assert older_names(state) == []
    assert lines_about(state, "r2")


def older_names(state: Folder) -> list[str]:
    return [n for n in os.listdir(state.fd) if n.startswith("events.") and n != NAME]
