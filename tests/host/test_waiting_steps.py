"""A deed of a step that cannot be done just now is done later, and only once."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from hookworld import HookWorld
from stepworld import activate, after, call, prompt, record, say, step, variables

from bridge.tasks.tasks import Tasks

pytestmark = pytest.mark.slow

NOTES = """
name: two
variables: {seen: false}
steps:
  - name: look
    allowed_tools: [Read]
    on_tool:
      Read:
        do:
          - call_tool:
              tool: create_task
              arguments: {title: "${{ tool_output }}"}
              into: noted
    transitions: [{to: work, when: seen}]
  - name: work
    on_enter:
      - call_tool: {tool: create_task, arguments: {title: Work}, into: task}
      - inject_message: "Do {{ task.id }}."
"""


@contextmanager
def held(world: HookWorld) -> Iterator[None]:
    """Somebody else has the tasks."""
    store = world.store
    if not Tasks(store).list():
        Tasks(store).delete(Tasks(store).create("first").ref)
    with closing(sqlite3.connect(store.place.state / "tasks.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def seen(world: HookWorld) -> None:
    """The first step is over, but for its transition."""
    activate(world, NOTES)
    prompt(world)
    say(world, seen=True)


def titles(world: HookWorld) -> list[str]:
    return sorted(task.title for task in Tasks(world.store).list())


def test_a_transition_waits_for_its_deed(world):
    seen(world)
    with held(world):
        told = after(world, "Glob", "x")

        assert step(world) == "look"
        assert "waits in step look" in told
        assert "is in use" in told
        assert not call(world, "Edit")[0]
        assert after(world, "Glob", "y") == ""

    told = after(world, "Glob", "z")

    assert step(world) == "work"
    assert titles(world) == ["Work"]
    assert f"Do {variables(world)['task']['id']}." in told
    assert (record(world) or {})["late"] == []
    assert "waits" not in (record(world) or {})


def test_results_of_tools_are_kept_in_their_order(world):
    """The calls themselves do not come again."""
    activate(world, NOTES)
    prompt(world)
    with held(world):
        after(world, "Read", "one", tool_use_id="toolu_1")
        after(world, "Read", "two", tool_use_id="toolu_2")
        # A second install tells the same.
        after(world, "Read", "two", tool_use_id="toolu_2")
        assert "noted" not in variables(world) or variables(world)["noted"] is None

    prompt(world)

    assert titles(world) == ["one", "two"]
    assert variables(world)["noted"]["title"] == "two"
    after(world, "Read", "two", tool_use_id="toolu_2")
    assert titles(world) == ["one", "two"]


def test_the_end_of_a_turn_does_what_had_to_wait(world):
    seen(world)
    with held(world):
        after(world, "Glob", "x")

    said = world.say("Stop", stop_hook_active=False)

    assert "Do #" in said["hookSpecificOutput"]["additionalContext"]
    assert step(world) == "work"
    assert world.say("Stop", stop_hook_active=True) == {}


def test_a_turn_is_held_for_what_waits_but_not_for_ever(world):
    seen(world)
    with held(world):
        after(world, "Glob", "x")
        said = [
            "hookSpecificOutput" in world.say("Stop", stop_hook_active=True)
            for _ in range(5)
        ]

    assert said == [True, True, True, False, False]
    assert "Do #" in prompt(world)
    assert titles(world) == ["Work"]


def test_a_first_step_waits_too(world):
    text = NOTES.replace("{seen: false}", "{seen: true}")
    with held(world):
        activate(world, text)

        assert "waits in step look" in prompt(world)
        assert not call(world, "Edit")[0]

    assert "Do #" in prompt(world)
    assert titles(world) == ["Work"]


def test_what_is_too_much_to_keep_fails_by_name(world):
    activate(world, NOTES)
    prompt(world)
    with held(world):
        for number in range(3):
            after(world, "Read", "x" * 600_000, tool_use_id=f"toolu_{number}")

    prompt(world)

    assert "too much waits already" in str(record(world)["problems"])  # type: ignore[index]  # there
