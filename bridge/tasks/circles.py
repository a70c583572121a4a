"""What a task waits for, and that it never waits for itself.

A task is closed after all that it depends on, and after its children: both are edges of
one graph, in which there is no circle.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from bridge.errors import InvalidRequest

_DRAWN = 12


class TaskCircle(InvalidRequest):
    """A task would have to wait for itself, or be part of itself; nothing was done.

    Attributes:
        numbers: the tasks in the circle, the first again at its end.
    """

    __module__ = "bridge"
    code = "task_circle"

    def __init__(self, numbers: tuple[int, ...], *, what: str) -> None:
        super().__init__(f"{what}: {drawn(numbers)}")
        self.numbers = numbers


def drawn(numbers: Sequence[int]) -> str:
    """A way through tasks, for people: `#3 → #7 → #3`; only the ends of a long one."""
    shown = [f"#{number}" for number in numbers]
    if len(shown) > _DRAWN:
        half = _DRAWN // 2
        left_out = len(shown) - 2 * half
        shown = [*shown[:half], f"… {left_out:,} more …", *shown[-half:]]
    return " → ".join(shown)


def waits_for(connection: sqlite3.Connection, number: int) -> list[int]:
    """What must be closed before a task is: what it depends on, and its children."""
    rows = connection.execute(
        "SELECT depends_on FROM dependencies WHERE task = ? "
        "UNION SELECT number FROM tasks WHERE parent = ? ORDER BY 1",
        [number, number],
    )
    return [row[0] for row in rows]


def waited_for_by(connection: sqlite3.Connection, number: int) -> list[int]:
    """The same the other way round: what depends on a task, and its parent."""
    rows = connection.execute(
        "SELECT task FROM dependencies WHERE depends_on = ? UNION SELECT parent "
        "FROM tasks WHERE number = ? AND parent IS NOT NULL ORDER BY 1",
        [number, number],
    )
    return [row[0] for row in rows]


def path(
    start: int, end: int, following: Callable[[int], Iterable[int]]
) -> tuple[int, ...]:
    """The shortest way from one to the other, both included; empty if there is none."""
    came_from: dict[int, int | None] = {start: None}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        if here == end:
            way: list[int] = []
            at: int | None = here
            while at is not None:
                way.append(at)
                at = came_from[at]
            return tuple(reversed(way))
        for each in following(here):
            if each not in came_from:
                came_from[each] = here
                waiting.append(each)
    return ()


def find_circle(following: Mapping[int, Iterable[int]]) -> tuple[int, ...]:
    """A circle in a graph, its first number again at its end; empty for none."""
    done: set[int] = set()
    for start in following:
        on_way: dict[int, None] = {}
        waiting = [(start, iter(following.get(start, ())))] if start not in done else []
        on_way.update(dict.fromkeys(here for here, _ in waiting))
        while waiting:
            here, left = waiting[-1]
            each = next(left, None)
            if each is None:
                done.add(here)
                del on_way[here]
                waiting.pop()
            elif each in on_way:
                way = [*on_way]
                return (*way[way.index(each) :], each)
            elif each not in done:
                on_way[each] = None
                waiting.append((each, iter(following.get(each, ()))))
    return ()
