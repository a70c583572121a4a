"""What must cost the same, however much waits, is held or has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from counted import lines_of

from bridge.protocol.ids import new_request_id
from bridge.protocol.request import Request

if TYPE_CHECKING:
    from hookworld import HookWorld


@pytest.mark.parametrize("room", ["requests", "processing", "done"])
def test_a_start_and_a_submit_do_not_grow_with_what_is_there(
    world: HookWorld, room: str
) -> None:
    """A session start that is cut gives no watch, and a submit may be a hook's."""
    costs = []
    for more in (10, 300):
        fill(world, room, more)
        start, submit = (
            min(lines_of(act) for _ in range(3))
            for act in (
                lambda: world.answer("SessionStart", source="resume"),
                world.submit,
            )
        )
        costs.append((start, submit))

    (few_start, few_submit), (many_start, many_submit) = costs
    assert many_start < few_start + 100
    assert many_submit < few_submit + 100


def fill(world: HookWorld, room: str, count: int) -> None:
    """Put so many more requests into a room."""
    folder = world.store.place.state / room
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for _ in range(count):
        asked = Request(
            request_id=new_request_id(world.store.clock.now_us()), prompt="x"
        )
        (folder / f"{asked.request_id}.json").write_bytes(asked.to_json())
