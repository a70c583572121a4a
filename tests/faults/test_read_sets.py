"""What an answer rests on, and the lock: whatever is killed or fails, nothing is stale.

A read set is written before its answer. Whoever asks again with `--cached` gets an
answer that is on record, whole, and holds; or none.
"""

import json
import os
from pathlib import Path

import pytest
from faultlab import Operation, in_turn, prepared, tell
from servingworld import bridge_in
from storeworld import (
    START_US,
    answer,
    claimant,
    dead_process,
    finish_everything,
    path_of,
    request,
    take,
)
from systemcalls import ERRORS, changes, run_broken, system_calls
from thoroughness import sampled

from bridge.bound import call_notes
from bridge.freshness import kept_reads
from bridge.freshness.disk import Disk
from bridge.freshness.looks import Look
from bridge.freshness.never_reused import why_never
from bridge.freshness.reads import differences
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.store.store import Store

pytestmark = pytest.mark.faults

OLD, NEW = RequestId("old"), RequestId("new")
_dead = dead_process()


class Answering:
    """The same question is answered twice; what the first answer read has changed."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def operation(self) -> Operation:
        return Operation("answer", self._prepare, self._act, frozenset((NEW,)))

    def _prepare(self, store: Store) -> None:
        self.file.write_text("one\n")
        self._take(store, OLD)
        self._act(store)
        self.file.write_text("two\n")
        self._take(store, NEW)

    def _take(self, store: Store, request_id: RequestId) -> None:
        store.submit(request(request_id, prompt="Look."))
        store.claim(claimant(_dead), 1, take)

    def _act(self, store: Store) -> object:
        """As whoever takes an answer does: first what it rests on."""
        (mine,) = store.claimed()
        end = answer(mine, f"for {mine.request_id}")
        look = Look("file", str(self.file), "", START_US // 1000)
        with store.state() as state:
            # Not the store's own, which each case has elsewhere.
            project = self.file.parent
            kept_reads.keep(state, mine, end, [look], project=project, model="m")
        return store.publish(end, source="test")

    def is_set_up(self, store: Store) -> bool:
        """Whether the first answer would be given, had nothing changed."""
        changed = self.file.read_text()
        before = self.reused(store)
        self.file.write_text("one\n")
        unchanged = self.reused(store)
        self.file.write_text(changed)
        return before is None and unchanged is not None

    def check(self, store: Store) -> None:
        """Files are whole; only the answer that holds is given; the work goes on."""
        for file in path_of(store, "reads").glob("[!.]*.json"):
            json.loads(file.read_text().partition("\n")[0] or "0")
        given = self.reused(store)
        if given is not None:
            found = store.find(NEW)
            assert given == found.response
            text = self.file.read_text()
            self.file.write_text("another\n")
            assert self.reused(store) is None
            self.file.write_text(text)
        ended = finish_everything(store)
        assert {OLD, NEW} <= ended.keys()

    def reused(self, store: Store) -> Response | None:
        """What `ask --cached` would give now."""
        asked: Request = request("again", prompt="Look.")
        with store.state() as state:
            given = kept_reads.find(state, asked, "host", self.file.parent)
        if given is None or why_never(given) is not None:
            return None
        differing = next(differences(given.reads, Disk()), None)
        return given.response if differing is None else None


@pytest.mark.slow
def test_a_kill_or_an_error_while_an_answer_is_kept_makes_no_stale_one_hold(tmp_path):
    answering = Answering(tmp_path / "a.txt")
    with prepared(answering.operation()) as state:
        assert answering.is_set_up(state.fresh())
        assert answering.reused(state.whole()) is not None
        for _fault, store, _outcome in state.faults(ERRORS, 5):
            answering.check(store)
    tell(f"{state.cases} faults")


class Locking:
    """A lock is written over an earlier one that has one answer less."""

    def __init__(self, folder: Path) -> None:
        self.bridge = bridge_in(folder)
        self.project = self.bridge.store.place.project
        self.lock = self.project / "answers.lock"
        (self.project / "a.txt").write_text("one\n")
        self._answer("First?")
        self.bridge.write_lock(self.lock)
        self.old = self.lock.read_bytes()
        self._answer("Second?")

    def _answer(self, prompt: str) -> None:
        store = self.bridge.store
        store.submit(self._request(prompt))
        (mine,) = store.claim(claimant(_dead), 1, take)
        end = answer(mine, prompt, now_ms=store.now_ms())
        look = Look("file", str(self.project / "a.txt"), "", store.now_ms() + 60_000)
        with store.state() as state:
            kept_reads.keep(state, mine, end, [look], project=self.project)
        store.publish(end, source="test")

    def _request(self, prompt: str) -> Request:
        now_ms = self.bridge.store.now_ms()
        return request(prompt=prompt, created_at=now_ms, agent_type="general-purpose")

    def write(self) -> int:
        return self.bridge.write_lock(self.lock)[0]

    def states(self) -> list[str]:
        return [each.state for each in self.bridge.check_lock(self.lock)]


@pytest.mark.slow
def test_a_lock_is_the_earlier_one_or_the_new_one_whatever_is_killed_or_fails(tmp_path):
    """CI relies on it: half of one would say that all is fresh."""
    locking = Locking(tmp_path)
    faults = [
        f"inject={call}:signal=KILL:when={number}"
        for call, number in changes(locking.write)
    ]
    new = locking.lock.read_bytes()
    assert locking.old != new
    names = ("openat", "write", "fsync", "rename", "renameat", "unlink", "unlinkat")
    faults += [
        f"inject={call}:error={error}:when={number}"
        for call in sorted(system_calls(locking.write).keys() & {*names})
        for error, number in in_turn(ERRORS.get(call, ("EIO", "ENOSPC")), range(1, 3))
    ]
    seen = set()
    for fault in sampled(faults):
        locking.lock.write_bytes(locking.old)

        outcome = run_broken(locking.write, "-e", fault)

        assert outcome.is_ours, (fault, outcome.message)
        found = locking.lock.read_bytes()
        assert found in (locking.old, new), fault
        assert outcome.status != "returned" or found == new, fault
        left = found, *sorted(os.listdir(locking.project))
        if left in seen:
            continue
        seen.add(left)
        assert set(locking.states()) == {"fresh"}, fault
        assert locking.write() == 2
        assert locking.lock.read_bytes() == new
    tell(f"{len(faults)} faults")


@pytest.mark.slow
def test_a_call_is_noted_whole_or_known_to_be_missing_whatever_fails(tmp_path):
    """A kill lets the call run without a note: then its transcript tells of it."""
    notes, sign = tmp_path / "agent1.calls", tmp_path / "agent1.noted"
    fields = {"tool_use_id": "toolu_2", "tool_input": {"command": "ls"}, "cwd": "/"}

    def note():
        return call_notes.before_tool(f"{tmp_path}/", fields, {}, "agent1", "Bash")

    def reset():
        for file in tmp_path.iterdir():
            file.unlink()
        notes.write_text('{"id": "toolu_1", "tool": "Read", "at": 1}\n')
        sign.touch()

    reset()
    faults = [f"{call}:signal=KILL:when={number}" for call, number in changes(note)]
    faults += [
        f"{call}:error={error}:when={number}"
        for call in ("openat", "write")
        for error in ERRORS[call]
        for number in (1, 2, 3)
    ]
    for fault in faults:
        reset()

        outcome = run_broken(note, "-e", f"inject={fault}")

        lines = [json.loads(line)["id"] for line in notes.read_text().splitlines()]
        assert lines in (["toolu_1"], ["toolu_1", "toolu_2"]), fault
        if outcome.status == "returned" and len(lines) == 1:
            assert not sign.exists(), fault
    tell(f"{len(faults)} faults")
