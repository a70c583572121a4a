"""The real client at a terminal, against the scripted API."""

from __future__ import annotations

import subprocess

import pytest

from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.client import Stage
from bridge.testing.stage.models import answering, obedient_model
from bridge.testing.stage.processes import family, is_alive
from bridge.testing.stage.replies import reply, tool_use
from bridge.testing.stage.terminal import TerminalSession, TerminalUnavailable

pytestmark = pytest.mark.host


def test_auto_mode_hands_back_a_subagents_report(tmp_path, client_program):
    """What most users run: terminal, auto mode, background agents."""
    work = reply(tool_use("Bash", {"command": "touch made", "description": "make"}))
    model = obedient_model(answering(work, reply("my report")))

    with ScriptedApi(model) as api:
        stage = Stage(tmp_path, api, program=client_program)
        with TerminalSession(stage, mode="auto") as terminal:
            terminal.submit("run bridge:one")
            api.wait_for(
                lambda request: request.role == "main" and request.contains("my report")
            )

    assert (stage.project / "made").exists()


def test_a_closed_terminal_leaves_nothing(tmp_path, client_program):
    """A client that lives on would go on claiming requests."""
    with ScriptedApi(lambda _: reply("ok")) as api:
        stage = Stage(tmp_path, api, program=client_program)
        with TerminalSession(stage) as terminal:
            members = family(terminal.pid)

    assert members[0].pid == terminal.pid
    assert not any(is_alive(each.pid) for each in members)
    with pytest.raises(subprocess.CalledProcessError):
        terminal.screen()


def test_error_no_tmux(tmp_path, client_program, monkeypatch):
    """The message names what is missing."""
    with ScriptedApi(lambda _: reply("ok")) as api:
        stage = Stage(tmp_path, api, program=client_program)
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(TerminalUnavailable) as caught:
            TerminalSession(stage)

    assert str(caught.value) == (
        "tmux not found; the interactive client needs a terminal"
    )
