"""What `reply` says has been replied has been replied, whatever happens meanwhile."""

import itertools
from collections.abc import Callable

import pytest
from storeworld import START_US, FakeClock, claimant, path_of, request, store_in, take

from bridge.errors import InvalidRequest, StateUnavailable
from bridge.protocol.question import Asked
from bridge.store import questions
from bridge.store.store import Store

ID = "asks"
COLOURS = {"enum": ["red", "blue"]}
END_MS = START_US // 1000 + 1_000


class Clock(FakeClock):
    """Calls a function before each look."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[], object] = int

    def now_us(self) -> int:
        self.before()
        return super().now_us()


@pytest.fixture
def asking(tmp_path):
    """A store with a request whose agent asks, new at each call."""
    numbers = itertools.count()

    def make(clock):
        store = store_in(tmp_path / str(next(numbers)), clock=clock)
        store.submit(request(ID, may_ask=True, timeout=1_000))
        store.claim(claimant(), 1, take)
        with store.state() as state:
            questions.ask(state, ID, lambda _: True, Asked("Which colour?", COLOURS))
        return store

    return make


def replied(store: Store) -> bool:
    """Whether `reply` says that red counts."""
    try:
        store.reply(ID, "red", by="a test", number=1)
    except (InvalidRequest, StateUnavailable):
        return False
    return True


def counts(store: Store) -> list[object]:
    found = store.find_unfinished(ID)
    return [each.reply for each in found.exchanges]


def test_a_reply_at_the_deadline_counts_or_is_refused(asking):
    """The deadline may pass between any two looks at the clock."""
    said = set()
    for early_ms in range(1, 12):
        clock = Clock()
        store = asking(clock)
        clock.set_wall((END_MS - clock.now_us() // 1000 - early_ms) / 1000)
        clock.before = lambda clock=clock: clock.set_wall(0.001)

        is_said = replied(store)

        clock.before = int
        assert counts(store) == (["red"] if is_said else [])
        said.add(is_said)
    assert said == {True, False}


@pytest.mark.parametrize("by_program", ['{"value": "blue"}', '{"val'])
def test_a_reply_beside_one_that_a_program_writes_counts_or_is_refused(
    asking, by_program
):
    """A program takes no lock: its file may appear between any two steps."""
    said = set()
    for looks in range(12):
        clock = Clock()
        store = asking(clock)
        left = itertools.count(looks, -1)
        file = path_of(store, "questions") / questions.reply_file(ID, 1)

        def before(left=left, file=file):
            if next(left) == 0:
                file.write_text(by_program)

        clock.before = before
        is_said = replied(store)

        clock.before = int
        assert ("red" in counts(store)) == is_said
        said.add(is_said)
    assert said == {True, False}
