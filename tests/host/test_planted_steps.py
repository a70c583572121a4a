"""Records of step workflows that hostbridge did not write: put aside, and said."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hookprocesses import examples, run_all
from stepworld import activate, after, call, led, prompt, record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hookworld import HookWorld

    Change = Callable[[dict[str, Any]], Any]

pytestmark = pytest.mark.slow


def changed(**fields: Any) -> Change:
    return lambda found: found | fields


def without_gate(found: dict[str, Any]) -> dict[str, Any]:
    del found["code"]["steps"]["look"]["gate"]
    return found


def with_gate(**fields: Any) -> Change:
    def change(found: dict[str, Any]) -> dict[str, Any]:
        found["code"]["steps"]["look"]["gate"] |= fields
        return found

    return change


def nested(found: dict[str, Any]) -> dict[str, Any]:
    code: list[Any] = []
    for _ in range(200):
        code = ["and", 0, code]
    found["code"]["steps"]["look"]["transitions"][0]["when"] = code
    return found


PLANTED: dict[str, Change] = {
    "no gate": without_gate,
    "a gate of all tools": with_gate(tools=None),
    "globs that are not globs": with_gate(tools=[7], blocked={"a": 1}),
    "a rule without anything": with_gate(rules=[{}]),
    "a condition without end": nested,
    "of a run long ago": changed(seal="0" * 64),
    "types": changed(untold=7, applied={}, visit="x", stops=None, late="y"),
    "steps that are a list": changed(code={"steps": ["look"]}),
    "huge": changed(message="x" * (5 * 1024 * 1024)),
    "words": lambda _: "look",
    "an escape": changed(session="../../x"),
}


def planted(world: HookWorld, change: Change) -> Path:
    """A record of the session that somebody has changed."""
    activate(world)
    prompt(world)
    file = world.store.place.state / "sessions" / f"{world.session}.steps.json"
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    return file


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_record_is_put_aside_and_said(world: HookWorld, name: str):
    file = planted(world, PLANTED[name])

    call(world, "Edit")
    after(world, "Read", "x")
    said = world.say("UserPromptSubmit", prompt="hello").get("systemMessage", "")

    assert said.count("the session's workflow has ended, and is not in force") == 1
    assert not file.exists()
    assert [*(world.store.place.state / "quarantine").glob("*.steps.json.*")]
    assert not file.with_suffix("").exists()
    assert call(world, "Edit", tool_use_id="toolu_later") == (True, "")
    assert world.say("UserPromptSubmit", prompt="hello") == {}
    # Another begins as ever.
    activate(world)
    assert "Look around first." in prompt(world)


@pytest.mark.parametrize("name", ["no gate", "types", "a condition without end"])
def test_no_hook_process_fails_about_one(world: HookWorld, name: str):
    planted(world, PLANTED[name])

    for code, out, err in run_all(examples(world, tool_name="Edit")).values():
        assert (code, err) == (0, b"")
        assert b'"deny"' not in out


def test_what_is_no_file_is_put_aside_too(world: HookWorld):
    file = planted(world, changed())
    for make in (os.mkfifo, os.mkdir):
        file.unlink(missing_ok=True)
        make(file)
        (file.parent / f"{world.session}.steps").touch()

        said = world.say("UserPromptSubmit", prompt="hello")["systemMessage"]

        assert "the session's workflow has ended" in said
        assert not file.exists()


def test_a_newer_record_is_left_as_it_is(world: HookWorld):
    file = planted(world, changed(schemaVersion=99))
    before = file.read_bytes()

    said = world.say("UserPromptSubmit", prompt="hello")["systemMessage"]

    assert "update hostbridge" in said
    assert file.read_bytes() == before
    assert call(world, "Edit") == (True, "")


@pytest.mark.parametrize("name", ["no gate", "types", "words"])
def test_a_planted_record_of_an_agent_goes_on_binding_it(world: HookWorld, name: str):
    _, agent = led(world)
    file = world.store.place.state / "agents" / f"{agent}.steps"
    file.write_text(json.dumps(PLANTED[name](json.loads(file.read_text()))))

    is_allowed, why = call(world, "Edit", agent_id=agent, tool_use_id="toolu_2")

    assert not is_allowed
    assert "cannot be read" in why
    assert file.exists()
    assert call(world, "Edit") == (True, "")
    assert record(world) is None
