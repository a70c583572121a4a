"""The real client without a terminal, against the scripted API."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from polling import wait_until

from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.oneshot import run_print
from bridge.testing.stage.processes import is_alive
from bridge.testing.stage.replies import reply, tool_use
from bridge.testing.stage.stream import StreamSession

pytestmark = pytest.mark.host

# A hook that keeps its event and its environment.
HOOK = 'cat > "$CLAUDE_PROJECT_DIR/event.json"; env > "$CLAUDE_PROJECT_DIR/seen.env"'


def hooks(event: str) -> dict[str, Any]:
    """Return settings with `HOOK` on one event."""
    return {"hooks": {event: [{"hooks": [{"type": "command", "command": HOOK}]}]}}


def test_the_world_of_the_client_is_clean(tmp_path, stage_at, monkeypatch):
    """What a developer has set must not decide how a test ends."""
    monkeypatch.setenv("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")
    monkeypatch.setenv("BRIDGE_OFF", "1")

    with ScriptedApi(obedient_model()) as api:
        stage = stage_at(api, BRIDGE_X="y")
        stage.settings(hooks("UserPromptSubmit"))
        run_print(stage, "hello")

    lines = (stage.project / "seen.env").read_text().splitlines()
    seen = dict(line.split("=", 1) for line in lines if "=" in line)
    assert seen["HOME"] == str(tmp_path / "home")
    assert seen["BRIDGE_X"] == "y"
    assert "BRIDGE_OFF" not in seen
    assert "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS" not in seen
    assert api.strays == []


def test_error_one_shot_run_takes_too_long(stage_at):
    """The client is gone when the error arrives."""
    with ScriptedApi(lambda _: reply("late", delay_s=600)) as api:
        stage = stage_at(api)
        stage.settings(hooks("UserPromptSubmit"))
        # On a busy machine it takes longer until it is at work.
        for timeout_s in (3, 30, 300):
            with pytest.raises(TimeoutError) as caught:
                run_print(stage, "hello", timeout_s=timeout_s)
            if (stage.project / "seen.env").exists():
                break

    assert str(caught.value) == f"claude -p still ran after {timeout_s} s"
    seen = (stage.project / "seen.env").read_text()
    (pid,) = [line[11:] for line in seen.splitlines() if line.startswith("CLAUDE_PID=")]
    assert not is_alive(int(pid))


def test_a_killed_session_leaves_its_children_until_it_is_closed(stage_at):
    """What a crash leaves behind is tested often; it must be a real one."""
    command = "echo $$ > pid.new && mv pid.new pid && sleep 600"
    work = reply(tool_use("Bash", {"command": command, "description": "wait"}))

    with ScriptedApi(lambda _: work) as api:
        stage = stage_at(api)
        stage.settings({"permissions": {"allow": ["Bash"]}})
        with StreamSession(stage) as session:
            session.send("go")
            pid = stage.project / "pid"
            wait_until(pid.exists)
            child = int(pid.read_text())
            exit_code = session.kill()
            orphaned = is_alive(child)
            with pytest.raises(EOFError):
                session.wait_for(lambda _: False)

    assert (exit_code, orphaned) == (-9, True)
    assert not is_alive(session.pid)
    assert not is_alive(child)


def test_a_flagged_call_is_denied_in_auto_mode(stage_at):
    """The other half of the review."""
    touch = {"command": "touch made", "description": "m"}
    call = tool_use("Bash", touch, flagged="not wanted")

    def script(request):
        return reply("ok") if request.own_calls else reply(call)

    with ScriptedApi(script) as api:
        stage = stage_at(api)
        stage.settings(hooks("PermissionDenied"))
        result = run_print(stage, "go", args=["--permission-mode", "auto"])

    assert result.text == "ok"
    assert not (stage.project / "made").exists()
    event = json.loads((stage.project / "event.json").read_text())
    assert event["reason"] == "not wanted"


def test_nothing_is_left_outside_the_stage(stage_at):
    """The client likes to leave sockets and task files in /tmp."""
    with ScriptedApi(obedient_model()) as api:
        stage = stage_at(api)
        run_print(stage, "run bridge:one")

    assert any(stage.temporary.iterdir())
    slug = str(stage.project).replace("/", "-")
    assert not Path(f"/tmp/claude-{os.getuid()}", slug).exists()
