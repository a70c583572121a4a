"""The real client at a terminal, against the scripted API."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from stage.api import ScriptedApi
from stage.client import Stage
from stage.models import answering, obedient_model
from stage.processes import family, is_alive
from stage.replies import Reply, reply, tool_use
from stage.terminal import TerminalSession, TerminalUnavailable

if TYPE_CHECKING:
    from pathlib import Path

    from stage.turns import ApiRequest

pytestmark = pytest.mark.host


@pytest.mark.parametrize(
    ("mode", "footer"),
    [
        pytest.param("default", "manual mode on", id="default"),
        pytest.param("auto", "auto mode on", id="auto"),
    ],
)
def test_a_prompt_is_answered_on_the_screen(
    tmp_path: Path, client_program: Path, mode: str, footer: str
) -> None:
    """No dialog stands in the way of the first prompt, in either mode."""
    with ScriptedApi(lambda _: reply("the model's words")) as api:
        stage = Stage(tmp_path, api, program=client_program)
        with TerminalSession(stage, mode=mode) as terminal:
            terminal.wait_for_text(footer)
            terminal.submit("hello out there")
            screen = terminal.wait_for_text("the model's words")

    assert "hello out there" in screen
    (request,) = api.turns("main")
    assert request.last_user_text == "hello out there"
    assert api.strays == []


def test_auto_mode_hands_back_a_subagents_report(
    tmp_path: Path, client_program: Path
) -> None:
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


def test_keys_reach_the_client(tmp_path: Path, client_program: Path) -> None:
    """Escape before the first word takes the prompt back, to be changed and sent."""

    def script(request: ApiRequest) -> Reply:
        return reply("done", delay_s=60 if request.last_user_text == "slow" else 0)

    with ScriptedApi(script) as api:
        stage = Stage(tmp_path, api, program=client_program)
        with TerminalSession(stage) as terminal:
            terminal.submit("slow")
            terminal.wait_for_text("esc to interrupt")
            terminal.key("Escape")
            terminal.wait_for_match(r"^\S\s+slow\s*\n─")
            terminal.key("C-u")
            terminal.submit("fast")
            terminal.wait_for_text("done")


def test_a_closed_terminal_leaves_nothing(tmp_path: Path, client_program: Path) -> None:
    """A client that lives on would go on claiming requests."""
    with ScriptedApi(lambda _: reply("ok")) as api:
        stage = Stage(tmp_path, api, program=client_program)
        with TerminalSession(stage) as terminal:
            members = family(terminal.pid)

    assert members[0].pid == terminal.pid
    assert not any(is_alive(each.pid) for each in members)
    with pytest.raises(subprocess.CalledProcessError):
        terminal.screen()


def test_error_no_tmux(
    tmp_path: Path, client_program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names what is missing."""
    with ScriptedApi(lambda _: reply("ok")) as api:
        stage = Stage(tmp_path, api, program=client_program)
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(TerminalUnavailable) as caught:
            TerminalSession(stage)

    assert str(caught.value) == (
        "tmux not found; the interactive client needs a terminal"
    )
