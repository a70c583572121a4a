"""Variables in the real client: what outlives what."""

from __future__ import annotations

import pytest
from hostworld import host_world
from ruleworld import define_rules, variables_of
from stage.models import obedient_model
from stage.oneshot import run_print

pytestmark = pytest.mark.host


COUNTS = """
on_user_prompt:
  - increment_variable: prompts
"""


def test_variables_outlive_the_end_of_a_session_that_is_resumed(tmp_path):
    with host_world(tmp_path, obedient_model()) as world:
        define_rules(world, COUNTS)
        world.print("one")
        (session,) = (world.store.place.state / "sessions").glob("*.vars.json")
        name = session.name.removesuffix(".vars.json")
        run_print(world.stage, "two", args=["--resume", name])
        known = variables_of(world)

    assert known["prompts"] == 2


def test_variables_outlive_clear(tmp_path):
    """They go with the session to its new id."""
    with host_world(tmp_path, obedient_model()) as world:
        define_rules(world, COUNTS)
        with world.terminal() as terminal:
            terminal.submit("/clear")
            terminal.submit("again")
            world.wait_for_turns(2)
        known = variables_of(world)

    assert known["prompts"] >= 2
