"""Our own traces vanish while an agent of ours works: no dialog, whatever is left.

The user's next key could answer it with yes. What the user's own calls ask is left to
the client.
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookprocesses import forking, run_hook
from hookworld import GOOD, HookWorld, hook_world
from thoroughness import crossed

from bridge.host.hook_table import HOOKS

pytestmark = pytest.mark.slow

Patch = pytest.MonkeyPatch
READ: dict[str, Any] = {"tool_name": "Read", "tool_use_id": "t", "tool_input": {}}


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A session at work, as the client has it: hooks are processes."""
    (tmp_path / "above").mkdir()
    with hook_world(tmp_path / "above", monkeypatch) as made:
        hook(made, "SessionStart", source="startup")
        yield made


def hook(
    world: HookWorld, event: str, script: str | None = None, **fields: Any
) -> dict[str, Any]:
    """Run one hook as the client does; what it says."""
    found = [h for h in HOOKS if h.event == event and script in (None, h.script)]
    # Of a project that is gone the client starts its hooks in the home folder.
    folder = world.project if world.project.is_dir() else "/"
    fired = world.event(event, **fields)
    code, out, err = run_hook(found[0], fired, forking(), cwd=folder)
    assert (code, err) == (0, b"")
    return dict(json.loads(out)) if out else {}


def launch(world: HookWorld, request: str) -> str:
    """Have the model make the call, and the client start the agent; its id."""
    said = hook(
        world,
        "PreToolUse",
        "agent-call",
        tool_name="Agent",
        tool_use_id="toolu_a",
        tool_input={"description": "b", "prompt": f"bridge:{request}"},
    )
    new = said["hookSpecificOutput"]["updatedInput"]
    world.prompts["toolu_a"] = new["prompt"]
    world.descriptions["toolu_a"] = new["description"]
    return world.start("toolu_a")


def begin(world: HookWorld, *, bound: bool = True, **fields: Any) -> tuple[str, str]:
    """Have an agent of ours work, and one below it; their ids."""
    request = world.submit(**fields)
    hook(world, "UserPromptSubmit", prompt="hello")
    agent = launch(world, request)
    nested = world.start("toolu_n", below=agent)
    if bound:
        hook(world, "PreToolUse", "tool-start", agent_id=agent, **READ)
    return agent, nested


def is_denied(world: HookWorld, **who: str) -> bool:
    call = {"tool_name": "Bash", "tool_input": {"command": "touch x"}}
    said = hook(world, "PermissionRequest", **call, **who)
    return bool(said and said["hookSpecificOutput"]["decision"]["behavior"] == "deny")


def record(world: HookWorld) -> Path:
    return next((world.store.place.state / "agents").glob("*.json"))


FAULTS: dict[str, Callable[[HookWorld, Patch], object]] = {
    "nothing": lambda *_: None,
    "state removed": lambda w, _: shutil.rmtree(w.store.place.state),
    "state renamed": lambda w, _: w.store.place.state.rename(w.home / "elsewhere"),
    "all of ours removed": lambda w, _: shutil.rmtree(w.store.place.guard),
    "sessions removed": lambda w, _: shutil.rmtree(w.store.place.state / "sessions"),
    "agents removed": lambda w, _: shutil.rmtree(w.store.place.state / "agents"),
    "record cut": lambda w, _: os.truncate(record(w), 40),
    "record empty": lambda w, _: os.truncate(record(w), 0),
    "record unreadable": lambda w, _: record(w).write_bytes(b"\xff"),
    "record of a newer version": lambda w, _: record(w).write_text(
        '{"schemaVersion": 99}'
    ),
    "record that needs a newer one": lambda w, _: record(w).write_text(
        record(w).read_text().replace("{", '{"needs": ["isSecret"], ', 1)
    ),
    "record removed": lambda w, _: record(w).unlink(),
    "project renamed": lambda w, _: w.project.rename(w.project.parent / "new name"),
    "git init above": lambda w, _: (w.project.parent / ".git").mkdir(),
    "git init below": lambda w, _: (w.project / ".git").mkdir(),
    "switched off late": lambda _, p: p.setenv("BRIDGE_OFF", "1"),
    "switched off by nonsense": lambda _, p: p.setenv("BRIDGE_OFF", "maybe"),
    "under a request, late": lambda _, p: p.setenv("BRIDGE_PARENT", "r"),
    "a setting that fails": lambda _, p: p.setenv("BRIDGE_SLOTS", "many"),
    "another home": lambda w, p: p.setenv("BRIDGE_HOME", f"{w.home}/another"),
    "another state": lambda w, p: p.setenv("BRIDGE_STATE_DIR", f"{w.home}/third"),
    "off in the store": lambda w, _: (w.store.place.state / "off").touch(),
    "a link for the state": lambda w, _: (
        w.store.place.state.rename(w.home / "real"),
        w.store.place.state.symlink_to(w.home / "real"),
    ),
    "state open to others": lambda w, _: w.store.place.state.chmod(0o777),
}


@pytest.mark.parametrize(("fault", "bound"), crossed(FAULTS, [True, False]))
def test_no_dialog_from_our_agents(world, monkeypatch, fault, *, bound):
    """At its next request, and at those after it: other events may come between."""
    agent, nested = begin(world, bound=bound, max_attempts=1)
    theirs = world.start("toolu_of_the_user")
    FAULTS[fault](world, monkeypatch)

    first = is_denied(world, agent_id=agent)
    mine = [
        hook(world, "PreToolUse", "tool-start", **READ),
        hook(world, "PostToolUse", "tool-end", **READ),
        hook(world, "PreToolUse", "tool-start", agent_id=theirs, **READ),
    ]
    later = [is_denied(world, agent_id=each) for each in (agent, nested)]
    asked = [is_denied(world), is_denied(world, agent_id=theirs)]

    assert (first, later) == (True, [True, True])
    assert (mine, asked) == ([{}, {}, {}], [False, False])


@pytest.mark.parametrize("fault", ["project renamed", "git init above"])
def test_the_answer_still_comes(world, monkeypatch, fault):
    """Where a session belongs is decided once: its asker waits in that state."""
    request = world.submit()
    hook(world, "UserPromptSubmit", prompt="hello")
    FAULTS[fault](world, monkeypatch)

    agent = launch(world, request)
    hook(world, "SubagentStop", agent_id=agent, last_assistant_message=GOOD)

    assert world.code(request) == "success"


def test_a_damaged_record_ends_the_request_by_name(world):
    """Its asker would wait for a deadline, and its agent work for nobody."""
    agent, _ = begin(world, max_attempts=1)
    (request,) = [each.request_id for each in world.store.claimed()]
    os.truncate(record(world), 40)

    said = hook(world, "PreToolUse", "tool-start", agent_id=agent, **READ)

    assert said["continue"] is False
    error = world.response(request).error
    assert error.code == "agent_error"
    assert error.message.endswith(
        "what was written down about its agent is lost or damaged"
    )
    assert world.runs() == []


@pytest.mark.parametrize("reason", ["clear", "resume"])
def test_another_session_id_belongs_where_the_process_did(world, monkeypatch, reason):
    agent, _ = begin(world)
    (world.project.parent / ".git").mkdir()

    hook(world, "SessionEnd", reason=reason)
    old = world.transcripts / world.session
    world.session = "session-2"
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", world.session)
    shutil.copytree(old, world.transcripts / world.session)
    hook(world, "SessionStart", source=reason)

    assert is_denied(world, agent_id=agent)
    (session,) = world.live()
    assert session.session_id == "session-2"
    pins = world.store.place.guard / "pins"
    assert [each.name.split(".")[0] for each in pins.iterdir()] == ["session-2"]


def test_a_pin_goes_with_its_session(world):
    begin(world)

    hook(world, "SessionEnd", reason="other")

    assert list((world.store.place.guard / "pins").iterdir()) == []
