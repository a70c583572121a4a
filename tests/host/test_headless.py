"""A rule's agent that is headless: the hook runs it, and refuses the call with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from fakeclaude import fake_claude, printing, result, trust_folder
from hookworld import hook_world
from polling import wait_until

from bridge.host import headless
from bridge.host.hook_table import HOOKS
from bridge.rules.compiled import compile_rules
from bridge.store.handovers import untold

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookworld import HookWorld

RULE = """
on_before_tool:
  - name: checks
    when: '"pytest" in command'
    %s
    spawn_agent: {agent: runner, prompt: "Run {{ command }}", block: %s}
"""
RUNNER = """\
mode: headless
prompt: '{{ task }}'
model: haiku
"""
PASSED = {"status": "success", "summary": "4 passed"}
# Works until a file says that it may end.
SLOW = 'echo "$$" >"$here/pid"; while [ ! -e "$here/go" ]; do sleep 0.05; done\n'


def answers(value, **fields):
    return printing(result(structured_output=value, **fields))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HookWorld]:
    with hook_world(tmp_path, monkeypatch) as made:
        home = made.bridge.settings.home
        (home / "agents").mkdir(mode=0o700, parents=True)
        (home / "agents" / "runner.yaml").write_text(f"name: runner\n{RUNNER}")
        trust_folder(made.home, made.project)
        rule(made)
        yield made


def rule(world, more="", block="true"):
    (world.bridge.settings.home / "rules.yaml").write_text(RULE % (more, block))
    compile_rules(world.bridge.settings, world.store)


def claude(world, monkeypatch, lines):
    program = fake_claude(world.home / "fake", lines)
    monkeypatch.setenv("BRIDGE_CLAUDE", str(program))
    return program.parent


def run(world, command="pytest -q", call="toolu_1", **fields):
    """Call Bash: whether it runs, and what model and user are told."""
    said = world.say(
        "PreToolUse",
        tool_name="Bash",
        tool_input={"command": command},
        tool_use_id=call,
        **fields,
    )
    output = said.get("hookSpecificOutput", {})
    is_denied = output.get("permissionDecision") == "deny"
    reason = output.get("permissionDecisionReason", "")
    return not is_denied, reason + said.get("systemMessage", "")


def responses(world):
    folder = world.store.place.state / "responses"
    return [json.loads(f.read_bytes()) for f in sorted(folder.glob("*.json"))]


def test_the_denial_carries_the_answer(world, monkeypatch):
    folder = claude(world, monkeypatch, answers(PASSED))

    runs, said = run(world, "pytest -q; echo '{{ x }}' \"$(y)\"")

    assert not runs
    head, answer = said.split("\n", 1)
    assert head == (
        "hostbridge: the rule checks gave this to the agent runner, which answered:"
    )
    assert json.loads(answer)["summary"] == "4 passed"
    # The text of the command is data, byte for byte.
    assert "Run pytest -q; echo '{{ x }}' \"$(y)\"" in (folder / "stdin").read_text()
    (response,) = responses(world)
    assert (response["route"], response["success"]) == ("claude", True)


def test_a_report_of_failure_is_an_answer(world, monkeypatch):
    claude(world, monkeypatch, answers({"status": "failed", "summary": "1 failed"}))

    runs, said = run(world)

    assert not runs
    assert "1 failed" in said


BAD = {
    "no claude": ("", "/nowhere/claude"),
    "no answer": (printing(result(result="")), None),
    "it dies": ("kill -9 $$\n", None),
}


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("how", BAD)
def test_without_an_answer_the_call_runs_unless_the_agent_is_required(
    world, monkeypatch, how, required
):
    lines, program = BAD[how]
    claude(world, monkeypatch, lines)
    if program:
        monkeypatch.setenv("BRIDGE_CLAUDE", program)
    rule(world, more="required: true" if required else "")

    runs, said = run(world)

    assert runs is not required
    assert "could not start runner: it did not answer (" in said
    assert ("The rule requires it." in said) is required
    # Nothing is left that the next call could meet.
    assert untold(world.store, world.session) == {}


def test_the_same_call_meets_the_same_request_and_its_late_answer(world, monkeypatch):
    folder = claude(world, monkeypatch, SLOW + answers(PASSED))
    monkeypatch.setattr(headless, "MAX_WAIT_S", 0.2)

    said = {run(world)[1] for _ in range(3)}
    (request,) = untold(world.store, world.session).values()
    (folder / "go").touch()
    wait_until(lambda: responses(world), what="the answer")
    runs, last = run(world)

    assert len(said) == 1
    assert "still works on it" in said.pop()
    assert not runs
    assert "4 passed" in last
    assert [r["requestId"] for r in responses(world)] == [request]
    # Told: the next such call is new work.
    assert untold(world.store, world.session) == {}


def test_an_answer_that_nobody_was_told_wakes_the_session_once(world, monkeypatch):
    folder = claude(world, monkeypatch, SLOW + answers(PASSED))
    world.say("SessionStart", source="startup")
    monkeypatch.setattr(headless, "MAX_WAIT_S", 0.2)
    run(world)

    (folder / "go").touch()
    (bell,) = (world.store.place.state / "bell").iterdir()
    wait_until((bell / "wake").exists, what="the wake-up")
    woken = world.fire("FileChanged", file_path=str(bell / "wake"))
    (bell / "wake").touch()
    again = world.fire("FileChanged", file_path=str(bell / "wake"))

    assert "runner, which a rule gave a call of yours, answered:" in woken.stderr
    assert "4 passed" in woken.stderr
    assert again.stderr == ""


HOOK = next(h for h in HOOKS if h.event == "PreToolUse" and h.tools == "bash")


def test_a_killed_hook_leaves_the_agent_at_work(world, monkeypatch):
    """The same call then meets the answer of the same request."""
    folder = claude(world, monkeypatch, SLOW + answers(PASSED))
    world.say("UserPromptSubmit", prompt="hello")
    event = world.event(
        "PreToolUse",
        tool_name="Bash",
        tool_input={"command": "pytest -q"},
        tool_use_id="toolu_1",
    )
    with subprocess.Popen(
        ["/bin/sh", "-c", 'exec "$@"', "sh", *hook_words()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as hook:
        hook.stdin.write(json.dumps(event).encode())
        hook.stdin.close()
        wait_until((folder / "pid").exists, what="the agent")
        os.killpg(hook.pid, signal.SIGKILL)
    (request,) = untold(world.store, world.session).values()

    (folder / "go").touch()
    runs, said = run(world)

    assert not runs
    assert "4 passed" in said
    assert [r["requestId"] for r in responses(world)] == [request]


@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0])
def test_a_hook_that_is_killed_at_any_moment_loses_nothing(world, monkeypatch, after_s):
    """The same call again has its answer, from one agent at most."""
    claude(world, monkeypatch, answers(PASSED))
    world.say("UserPromptSubmit", prompt="hello")
    event = world.event(
        "PreToolUse",
        tool_name="Bash",
        tool_input={"command": "pytest -q"},
        tool_use_id="toolu_1",
    )
    with subprocess.Popen(
        hook_words(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        start_new_session=True,
    ) as hook:  # fmt: skip
        hook.stdin.write(json.dumps(event).encode())
        hook.stdin.close()
        time.sleep(after_s)
        os.killpg(hook.pid, signal.SIGKILL)

    runs, said = run(world)

    assert not runs
    assert "4 passed" in said
    assert list(world.store.waiting()) == list(world.store.claimed()) == []


def test_a_long_answer_is_cut(world, monkeypatch):
    claude(world, monkeypatch, answers({**PASSED, "summary": "x" * 3_000_000}))

    runs, said = run(world)

    (response,) = responses(world)
    assert not runs
    assert len(said) <= 9_000
    assert said.endswith(f"… all of it: hostbridge show {response['requestId']}")


def test_two_hooks_of_one_call_wait_for_one_agent(world, monkeypatch):
    """Two entries see a command that names hostbridge; so may two calls at once."""
    folder = claude(world, monkeypatch, SLOW + answers(PASSED))
    world.say("UserPromptSubmit", prompt="hello")
    event = world.event(
        "PreToolUse",
        tool_name="Bash",
        tool_input={"command": "pytest -q"},
        tool_use_id="toolu_1",
    )
    pipe = subprocess.PIPE
    hooks = [subprocess.Popen(hook_words(), stdin=pipe, stdout=pipe) for _ in range(3)]
    for hook in hooks:
        hook.stdin.write(json.dumps(event).encode())
        hook.stdin.close()
    wait_until((folder / "pid").exists, what="the agent")
    (folder / "go").touch()
    for hook in hooks:
        assert b"4 passed" in hook.stdout.read()
        hook.stdout.close()
        hook.wait()

    assert len(responses(world)) == 1


def hook_words():
    from hookworld import INSTALLED

    return ["/bin/sh", *INSTALLED.arguments(HOOK)]


def test_a_killed_process_is_started_again_by_the_same_call(world, monkeypatch):
    folder = claude(world, monkeypatch, SLOW + answers(PASSED))
    monkeypatch.setattr(headless, "MAX_WAIT_S", 0.2)
    run(world)
    wait_until((folder / "pid").exists, what="the agent")
    (held,) = world.store.claimed()
    os.kill(held.claim.host.pid, signal.SIGKILL)
    (folder / "go").touch()
    monkeypatch.setattr(headless, "MAX_WAIT_S", 60)
    wait_until(
        lambda: not os.path.exists(f"/proc/{held.claim.host.pid}/exe"), what="its end"
    )

    runs, said = run(world)

    assert not runs
    assert "4 passed" in said
    assert [r["requestId"] for r in responses(world)] == [held.request_id]


def test_a_process_that_cannot_start_is_given_up(world, monkeypatch, tmp_path):
    monkeypatch.setattr(headless, "_SCRIPT", tmp_path / "missing.py")

    runs, said = run(world)

    assert runs
    assert "its process cannot start" in said


def test_it_counts_as_an_agent_of_this_hour(world, monkeypatch):
    claude(world, monkeypatch, answers(PASSED))
    monkeypatch.setenv("BRIDGE_AGENTS_PER_HOUR", "1")

    first, _ = run(world)
    second, said = run(world, "pytest tests")

    assert (first, second) == (False, True)
    assert "1 of 1 agents of this hour are used up" in said


def test_beside_the_call_nothing_waits(world, monkeypatch):
    folder = claude(world, monkeypatch, SLOW + answers(PASSED))
    rule(world, block="false")

    runs, said = run(world)
    (folder / "go").touch()

    assert (runs, said) == (True, "")
    wait_until(lambda: responses(world), what="the answer")


def test_an_agent_of_a_project_that_is_not_trusted_does_not_run(world, monkeypatch):
    folder = claude(world, monkeypatch, answers(PASSED))
    (world.bridge.settings.home / "agents" / "runner.yaml").unlink()
    (world.project / ".bridge" / "agents").mkdir(parents=True)
    (world.project / ".bridge/agents/runner.yaml").write_text(f"name: runner\n{RUNNER}")

    runs, said = run(world)

    assert runs
    assert "could not start runner" in said
    assert not (folder / "argv").exists()


@pytest.mark.parametrize("kind", ["Explore", "general-purpose"])
def test_an_agent_without_the_tool_agent_is_answered_too(world, monkeypatch, kind):
    """No model starts anything, so it needs no tool for that."""
    claude(world, monkeypatch, answers(PASSED))

    runs, said = run(world, agent_id="a1", agent_type=kind)

    assert not runs
    assert "4 passed" in said


def test_in_the_agent_itself_nothing_is_handed_over(world, monkeypatch):
    folder = claude(world, monkeypatch, answers(PASSED))

    runs, _ = run(world, agent_id="a1", agent_type="runner")

    assert runs
    assert not (folder / "argv").exists()
