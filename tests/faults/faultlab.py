"""Break one operation at each of its system calls, and see what a fresh process finds.

A case is the operation, done in a child on a copy of a prepared state, with one fault.
What a fresh process finds depends on what was left, and on nothing else: a case that
ends as one before it did, and leaves the same files, is not looked at again.
"""

import contextlib
import itertools
import multiprocessing
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from storeworld import START_US, FakeClock, store_in
from systemcalls import Outcome, changes, run_broken, system_calls
from thoroughness import due, is_full, sampled

from bridge.store.store import Store


def scratch() -> Path:
    """A new folder on the fastest file system there is; faults need no real disk."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))


@dataclass(frozen=True)
class Operation:
    """A state, and one thing to do in it.

    `prepare` makes the state; `act` is what is broken. `promised` are the requests that
    must come to an answer whatever happens to `act`.
    """

    name: str
    prepare: Callable[[Store], object]
    act: Callable[[Store], object]
    promised: frozenset[str] = frozenset()


class Prepared:
    """A state made once, copied for each case."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.home = scratch()
        self.cases = 0
        self._case = self.home / "case"
        self._seen: set[object] = set()
        operation.prepare(self._store())
        if self._case.exists():
            self._case.rename(self.home / "prepared")
        # It imports what it needs: no child has to.
        self.whole()

    def _store(self) -> Store:
        # The wall clock of the state: every request but `late` is within its time.
        clock = FakeClock(START_US + 1_000_000)
        return store_in(self._case, clock=clock, lock_wait_s=1.0)

    def whole(self) -> Store:
        """A copy on which the operation was done, with nothing broken."""
        store = self.fresh()
        self.operation.act(store)
        return store

    def fresh(self) -> Store:
        """A copy of the state; the one before is removed."""
        if self._case.exists():
            shutil.rmtree(self._case)
        if (self.home / "prepared").exists():
            shutil.copytree(self.home / "prepared", self._case, symlinks=True)
        return self._store()

    def broken(self, fault: str) -> tuple[Store, Outcome]:
        """Do the operation on a fresh copy while strace injects `fault`: one case."""
        self.cases += 1
        store = self.fresh()
        return store, run_broken(lambda: self.operation.act(store), "-e", fault)

    def killed(
        self, *, everywhere: bool = False
    ) -> Iterator[tuple[str, Store, Outcome]]:
        """Kill the operation at each change that it makes: where, and what is left.

        A kill anywhere between two changes leaves what one at the second leaves. Not
        `everywhere`, changes take turns (`sampled`).
        """
        store = self.fresh()
        found = changes(lambda: self.operation.act(store))
        assert found, "it changes nothing"
        for call, number in found if everywhere else sampled(found):
            fault = f"inject={call}:signal=KILL:when={number}"
            store, outcome = self.broken(fault)
            if self._is_new(outcome):
                yield fault, store, outcome

    def failing(
        self,
        errors: Mapping[str, Sequence[str]],
        most: int,
        *,
        for_good: bool = False,
        everywhere: bool = False,
    ) -> Iterator[tuple[str, Store, Outcome]]:
        """Have each of its calls fail: where, what is left, how it ended.

        It ends by itself then, and an error is one of ours. Of one call these are the
        first `most`, which tell the most; its errors take turns, but with --full each
        call fails in each way. If it is `for_good`, all calls after it fail, too. Not
        `everywhere`, these faults take turns as kills do.
        """
        calls = self.calls()
        assert calls.keys() & errors.keys(), "no call of it can fail so"
        found = [
            f"inject={call}:error={error}:when={number}{'+' if for_good else ''}"
            for call, kinds in errors.items()
            for error, number in in_turn(
                kinds, range(1, min(calls.get(call, 0), most) + 1)
            )
        ]
        for fault in found if everywhere else sampled(found):
            store, outcome = self.broken(fault)
            assert outcome.status in ("returned", "raised"), fault
            assert outcome.is_ours, (fault, outcome.message)
            if self._is_new(outcome):
                yield fault, store, outcome

    def faults(
        self, errors: Mapping[str, Sequence[str]], most: int
    ) -> Iterator[tuple[str, Store, Outcome]]:
        """Kill it at each change, then have each of its calls fail."""
        yield from self.killed()
        yield from self.failing(errors, most)

    def calls(self) -> dict[str, int]:
        """The system calls that the operation makes."""
        store = self.fresh()
        return system_calls(lambda: self.operation.act(store))

    def _is_new(self, outcome: Outcome) -> bool:
        """Whether no case has ended like this, and left the same."""
        end = outcome.status, repr(outcome.value), outcome.is_ours, outcome.message
        found = end, frozenset(_contents(self._case))
        is_new = found not in self._seen
        self._seen.add(found)
        return is_new


def in_turn(kinds: Sequence[str], numbers: range) -> Iterator[tuple[str, int]]:
    """Pairs in which each of both occurs; with --full all pairs."""
    if is_full():
        yield from itertools.product(kinds, numbers)
    elif numbers:
        for at in range(max(len(kinds), len(numbers))):
            yield kinds[(at + due()) % len(kinds)], numbers[at % len(numbers)]


def _contents(folder: Path) -> Iterator[tuple[str, int, bytes]]:
    """The name, the mode and the bytes of each file in a folder, and below it."""
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            data = os.fsencode(path.readlink())
        else:
            data = path.read_bytes() if stat.S_ISREG(mode) else b""
        yield str(path.relative_to(folder)), mode, data


@contextlib.contextmanager
def prepared(operation: Operation) -> Iterator[Prepared]:
    """The state of an operation, for any number of cases."""
    made = Prepared(operation)
    try:
        yield made
    finally:
        shutil.rmtree(made.home, ignore_errors=True)


def same_after_faults(
    operation: Operation,
    end: Callable[[Store], object],
    errors: Mapping[str, Sequence[str]],
    most: int,
) -> None:
    """Killed at any change, or after any of its calls has failed, it comes to its end.

    `end` is what it comes to.
    """
    with prepared(operation) as state:
        expected = end(state.whole())
        for fault, store, _outcome in state.faults(errors, most):
            assert end(store) == expected, fault
    tell(f"{operation.name}: {state.cases} faults")


def two_at_once(act: Callable[[], object], *, kill_after_s: float) -> None:
    """Have two processes do it again and again; one is killed, the other lets off."""
    fork = multiprocessing.get_context("fork")
    # Without a lock, which the killed one could hold.
    is_over = fork.RawValue("b", 0)

    def repeat():
        act()
        while not is_over.value:
            time.sleep(0.02)
            act()

    pair = [fork.Process(target=repeat) for _ in range(2)]
    for each in pair:
        each.start()
    time.sleep(kill_after_s)
    pair[0].kill()
    is_over.value = 1
    for each in pair:
        each.join()


def tell(what: str) -> None:
    """Print how many cases there were."""
    print(f"\n  {what}")  # noqa: T201 - seen with -s
