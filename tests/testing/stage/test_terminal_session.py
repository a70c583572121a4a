"""The real client at a terminal, against the scripted API."""

import subprocess

import pytest

from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.models import answering, obedient_model
from bridge.testing.stage.processes import family, is_alive
from bridge.testing.stage.replies import reply, tool_use
from bridge.testing.stage.terminal import TerminalSession, TerminalUnavailable

pytestmark = pytest.mark.host


def test_auto_mode_hands_back_a_subagents_report(stage_at):
    """What most users run: terminal, auto mode, background agents."""
    work = reply(tool_use("Bash", {"command": "touch made", "description": "make"}))
    model = obedient_model(answering(work, reply("my report")))

    with ScriptedApi(model) as api:
        stage = stage_at(api)
        with TerminalSession(stage, mode="auto") as terminal:
            terminal.submit("run bridge:one")
            api.wait_for(
                lambda request: request.role == "main" and request.contains("my report")
            )

    assert (stage.project / "made").exists()


def test_a_closed_terminal_leaves_nothing(stage_at):
    """A client that lives on would go on claiming requests."""
    with ScriptedApi(lambda _: reply("ok")) as api:
        stage = stage_at(api)
        with TerminalSession(stage) as terminal:
            members = family(terminal.pid)

    assert members[0].pid == terminal.pid
    assert not any(is_alive(each.pid) for each in members)
    with pytest.raises(subprocess.CalledProcessError):
        terminal.screen()


def test_error_no_tmux(tmp_path, stage_at, monkeypatch):
    """The message names what is missing."""
    with ScriptedApi(lambda _: reply("ok")) as api:
        stage = stage_at(api)
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(TerminalUnavailable) as caught:
            TerminalSession(stage)

    expected = "tmux not found; the interactive client needs a terminal"
    assert str(caught.value) == expected
