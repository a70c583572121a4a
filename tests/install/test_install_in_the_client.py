"""An install in the real client: it serves requests, and is not seen otherwise."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import needs
import pytest
from forkserver import hook_python
from installed import command, complaints, stage_at
from pinworld import kinds_at_work
from polling import wait_until

from bridge.shipped import hooks_folder
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.client import Stage
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.oneshot import run_print
from bridge.testing.stage.replies import Answer, reply, tool_use
from bridge.testing.stage.stream import StreamSession
from bridge.testing.stage.terminal import TerminalSession
from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host


def ask(stage: Stage) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(command(stage, "ask", "?", "--json"))
    return answer


def two_bash_calls(request: ApiRequest) -> Answer:
    """A main thread that makes two tool calls and says so."""
    if len(request.own_calls) < 2:
        return reply(tool_use("Bash", {"command": "echo hello"}))
    return reply("finished")


@pytest.mark.parametrize("scope", ["user", "project"])
def test_every_scope_serves_a_request(tmp_path, scope):
    """In a folder with a space, a quote and a dollar: what shells trip over.

    The local scope is the one of the tests below.
    """
    with ScriptedApi(obedient_model()) as api:
        stage = stage_at(tmp_path / "a folder's $name", api)
        command(stage, "install", f"--{scope}")
        with StreamSession(stage) as session:
            session.ask("hello")
            answer = ask(stage)
            acting = kinds_at_work(stage.home / ".hostbridge")

    assert (answer["success"], answer["route"], acting) == (True, "host", [scope])
    assert complaints(stage) == ""


def test_a_session_that_was_open_before_is_served(tmp_path):
    """It reads the new settings by itself, a second or so after they were written."""
    with ScriptedApi(obedient_model(main=None)) as api:
        stage = stage_at(tmp_path, api)
        with StreamSession(stage) as session:
            session.ask("hello")
            command(stage, "install")
            home = stage.home / ".hostbridge"
            wait_until(
                lambda: session.ask("again") and list(home.rglob("sessions/*.json"))
            )
            request_id = command(stage, "submit", "?").strip()
            session.ask("go on")
            answer = command(stage, "wait", request_id, "--json")

    assert json.loads(answer)["success"] is True


def test_a_session_below_the_project_reads_the_local_settings(tmp_path):
    """Measured: of the top's settings, the client reads the local ones alone there."""
    with ScriptedApi(obedient_model()) as api:
        stage = stage_at(tmp_path, api)
        command(stage, "install")
        stage.project = stage.project / "below"
        stage.project.mkdir()
        stage.trust(stage.project)
        with StreamSession(stage) as session:
            session.ask("hello")
            answer = ask(stage)

    assert answer["success"] is True


def missing_scripts(_stage: Stage, copy: Path) -> None:
    """`pip uninstall hostbridge`, without `hostbridge uninstall` before it."""
    shutil.rmtree(copy)


def missing_python(stage: Stage, _copy: Path) -> None:
    """The environment was moved; the repository is still there."""
    file = stage.project / ".claude" / "settings.local.json"
    file.write_text(file.read_text().replace(hook_python(), "/gone/bin/python"))


@pytest.mark.parametrize("damage", [missing_scripts, missing_python])
def test_a_missing_program_is_not_seen(tmp_path, damage):
    """Registered by its own path, each tool call would show "hook failed", twice."""
    needs.tool("tmux")
    copy = tmp_path / "hooks"
    shutil.copytree(hooks_folder(), copy)

    with ScriptedApi(obedient_model(main=two_bash_calls)) as api:
        stage = stage_at(tmp_path / "stage", api)
        command(stage, "install")
        file = stage.project / ".claude" / "settings.local.json"
        file.write_text(file.read_text().replace(str(hooks_folder()), str(copy)))
        damage(stage, copy)
        env = {"PATH": "/usr/bin:/bin"}
        with TerminalSession(
            stage, args=["--allowedTools", "Bash"], env=env
        ) as terminal:
            terminal.submit("go")
            terminal.wait_for_match(r" for \d+s · done")
            screen = terminal.history()

    assert "Ran 2 shell commands" in screen
    assert "fail" not in screen
    assert "hook" not in screen
    assert "hostbridge" not in screen


def test_a_committed_install_does_nothing_on_another_machine(tmp_path):
    """The settings of the project, a home that never saw hostbridge."""
    with ScriptedApi(obedient_model(main=two_bash_calls)) as api:
        stage = stage_at(tmp_path, api)
        command(stage, "install", "--project")
        shutil.rmtree(stage.home / ".hostbridge")
        run = run_print(stage, "go", args=["--allowedTools", "Bash"])

    assert (run.exit_code, run.text, run.stderr) == (0, "finished", "")
    assert not (stage.home / ".hostbridge").exists()


def test_another_users_pointer_is_not_read(tmp_path):
    """A file of somebody else's would be a program of somebody else's."""
    needs.tool("chown")
    with ScriptedApi(obedient_model(main=two_bash_calls)) as api:
        stage = stage_at(tmp_path, api)
        command(stage, "install", "--project")
        pointer = stage.home / ".hostbridge" / "hooks.sh"
        pointer.write_text(f"touch {tmp_path}/planted\n")
        done = subprocess.run(["chown", "12345", pointer], check=False)
        if done.returncode:
            pytest.skip("only root can give a file away")
        run_print(stage, "go", args=["--allowedTools", "Bash"])

    assert not (tmp_path / "planted").exists()


def test_hooks_that_are_disabled_do_not_run(tmp_path):
    """The policy that doctor warns of does what doctor says."""
    with ScriptedApi(obedient_model()) as api:
        stage = stage_at(tmp_path, api)
        command(stage, "install")
        user = stage.home / ".claude" / "settings.json"
        user.write_text('{"disableAllHooks": true}')
        run_print(stage, "hello")

    assert not list((stage.home / ".hostbridge").rglob("sessions"))
