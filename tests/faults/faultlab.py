"""Break one operation at each of its system calls, and see what a fresh process finds.

A case is the operation, done in a child on a copy of a prepared state, with one fault.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from storeworld import START_US, FakeClock, store_in
from systemcalls import Outcome, changes, run_broken, system_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

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
    promised: frozenset[str]


class Prepared:
    """A state made once, copied for each case."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.home = scratch()
        self.cases = 0
        self._case: Path | None = None
        operation.prepare(self._store(self.home / "prepared"))

    def _store(self, folder: Path) -> Store:
        # The wall clock of the state: every request but `late` is within its time.
        clock = FakeClock(START_US + 1_000_000)
        return store_in(folder, clock=clock, lock_wait_s=1.0)

    def whole(self) -> Store:
        """A copy on which the operation was done, with nothing broken."""
        store = self.fresh()
        self.operation.act(store)
        return store

    def fresh(self) -> Store:
        """A copy of the state; the one before is removed."""
        self.clear()
        self._case = Path(tempfile.mkdtemp(dir=self.home))
        if (self.home / "prepared").exists():
            shutil.copytree(self.home / "prepared", self._case, dirs_exist_ok=True)
        return self._store(self._case)

    def broken(self, fault: str) -> tuple[Store, Outcome]:
        """Do the operation on a fresh copy while strace injects `fault`: one case."""
        self.cases += 1
        store = self.fresh()
        return store, run_broken(lambda: self.operation.act(store), "-e", fault)

    def killed(self) -> Iterator[tuple[str, Store, Outcome]]:
        """Kill the operation at each change that it makes: where, and what is left.

        A kill anywhere between two changes leaves what one at the second leaves.
        """
        store = self.fresh()
        found = changes(lambda: self.operation.act(store))
        assert found, "it changes nothing"
        for call, number in found:
            fault = f"inject={call}:signal=KILL:when={number}"
            yield fault, *self.broken(fault)

    def failing(
        self, errors: Mapping[str, Sequence[str]], most: int, *, for_good: bool = False
    ) -> Iterator[tuple[str, Store, Outcome]]:
        """Have each of its calls fail in each way: where, what is left, how it ended.

        It ends by itself then, and an error is one of ours. Of one call and error these
        are the first `most`, which tell the most. If it is `for_good`, all calls after
        it fail, too.
        """
        calls = self.calls()
        assert calls.keys() & errors.keys(), "no call of it can fail so"
        for call, kinds in errors.items():
            for error in kinds:
                for number in range(1, min(calls.get(call, 0), most) + 1):
                    when = f"{number}+" if for_good else number
                    fault = f"inject={call}:error={error}:when={when}"
                    store, outcome = self.broken(fault)
                    assert outcome.status in ("returned", "raised"), fault
                    assert outcome.is_ours, (fault, outcome.message)
                    yield fault, store, outcome

    def calls(self) -> dict[str, int]:
        """The system calls that the operation makes."""
        store = self.fresh()
        return system_calls(lambda: self.operation.act(store))

    def clear(self) -> None:
        """Remove the copy."""
        if self._case is not None:
            shutil.rmtree(self._case)
            self._case = None


@contextlib.contextmanager
def prepared(operation: Operation) -> Iterator[Prepared]:
    """The state of an operation, for any number of cases."""
    made = Prepared(operation)
    try:
        yield made
    finally:
        shutil.rmtree(made.home, ignore_errors=True)


def tell(what: str) -> None:
    """Print how many cases there were."""
    print(f"\n  {what}")  # noqa: T201 - seen with -s
