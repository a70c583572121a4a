"""The plugin in the real client: valid, and as good as an install."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from typing import TYPE_CHECKING, Any

import needs
import pytest
from installed import (
    ROOT,
    command,
    complaints,
    copy_of_repository,
    make_environment,
    stage_at,
)
from pinworld import kinds_at_work
from polling import wait_until
from ruleworld import calling, verified
from seedwords import RULE as SEED

from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.oneshot import run_print
from bridge.testing.stage.replies import Reply, reply, tool_use
from bridge.testing.stage.stream import StreamSession
from bridge.testing.stage.terminal import TerminalSession

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.testing.stage.client import Stage

pytestmark = pytest.mark.host

# No hostbridge here, whatever the machine of the developer has.
BARE_PATH = "/usr/bin:/bin"


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A copy of the repository, as the client would have it, without a `.venv`."""
    return copy_of_repository(tmp_path / "the plug'in")


def ask(
    python: Path | str, stage: Stage, *, plugin: Path, words: tuple[str, ...] = ("?",)
) -> dict[str, Any]:
    """Ask by the command line of the plugin's own copy."""
    said = command(stage, "ask", *words, "--json", python=python, package=plugin)
    answer: dict[str, Any] = json.loads(said)
    return answer


@pytest.mark.parametrize("kind", ["plugin", "marketplace"])
def test_the_client_finds_the_plugin_and_the_marketplace_valid(tmp_path, kind):
    with ScriptedApi(obedient_model()) as api:
        stage = stage_at(tmp_path / "stage", api, PATH=BARE_PATH)
        file = ROOT / ".claude-plugin" / f"{kind}.json"
        done = subprocess.run(
            stage.command("plugin", "validate", str(file)),
            cwd=stage.project,
            env=stage.environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith(f"Validating {kind} manifest: {file}\n")
    assert done.stdout.rstrip().endswith("Validation passed")
    assert ("SessionStart command /bin/sh" in done.stdout) == (kind == "plugin")


def test_the_repository_is_a_marketplace(tmp_path: Path, plugin: Path) -> None:
    """Added and installed as a user does it, the plugin serves a request."""
    with ScriptedApi(obedient_model()) as api:
        stage = stage_at(tmp_path / "stage", api)
        for words in (
            ("marketplace", "add", str(plugin)),
            ("install", "hostbridge@hostbridge"),
        ):
            subprocess.run(
                stage.command("plugin", *words),
                cwd=stage.project,
                env=stage.environment(),
                capture_output=True,
                check=True,
            )
        plugins = stage.home / ".claude" / "plugins"
        python = make_environment(plugins / "data" / "hostbridge-hostbridge" / "venv")
        with StreamSession(stage) as session:
            session.ask("hello")
            answer = ask(python, stage, plugin=plugin)

    assert (answer["success"], answer["route"]) == (True, "host")


@pytest.mark.parametrize("where", ["plugin", "data"])
def test_the_plugin_serves_a_request(tmp_path, plugin, where):
    """With nothing but its own environment: no hostbridge on PATH, none in settings.

    An update replaces the plugin's folder; its data folder stays.
    """
    with ScriptedApi(obedient_model()) as api:
        stage = stage_at(tmp_path / "stage", api, PATH=BARE_PATH)
        data = stage.home / ".claude" / "plugins" / "data" / "hostbridge-inline"
        python = make_environment(
            data / "venv" if where == "data" else plugin / ".venv"
        )
        with StreamSession(stage, args=["--plugin-dir", str(plugin)]) as session:
            session.ask("hello")
            answer = ask(python, stage, plugin=plugin)
            acting = kinds_at_work(stage.home / ".hostbridge")

    assert (answer["success"], answer["route"]) == (True, "host")
    assert acting == ["plugin"]
    assert len(api.turns("subagent")) == 1


def test_the_plugin_brings_an_agent_that_searches(tmp_path, plugin):
    """The built-in researcher runs as it: general-purpose has neither Grep nor Glob."""
    python = make_environment(plugin / ".venv")
    found = {"answer": "Here.", "findings": [], "confidence": "high"}

    with ScriptedApi(obedient_model(lambda *_: reply(json.dumps(found)))) as api:
        stage = stage_at(tmp_path / "stage", api, PATH=BARE_PATH)
        with StreamSession(stage, args=["--plugin-dir", str(plugin)]) as session:
            session.ask("hello")
            words = ("researcher", "Where?", "--mode", "terminal")
            answer = ask(python, stage, plugin=plugin, words=words)

    assert (answer["success"], answer["route"]) == (True, "host")
    [turn] = api.turns("subagent")
    names = {tool["name"] for tool in turn.body["tools"]}
    assert {"Read", "Grep", "Glob"} <= names
    assert "Bash" not in names


PLUGINS = "mcp__plugin_hostbridge_hostbridge__"
REPORT = {"status": "success", "summary": "Done.", "files": [], "evidence": []}


def test_grants_of_our_tools_hold_by_the_names_that_the_plugin_gives_them(
    tmp_path, plugin
):
    """A definition says `mcp__hostbridge__get_task`; here it is called otherwise."""
    python = make_environment(plugin / ".venv")
    calls = [("get_task", {"task_id": "#1"}), ("create_task", {"title": "More"})]
    told = []

    def model(_prompt, request):
        if request.tool_results:
            told.append(request.tool_results[-1].text)
        for name, given in calls[:1]:
            if PLUGINS + name not in request.tools:
                query = {"query": f"select:{PLUGINS}{name}", "max_results": 5}
                return Reply((tool_use("ToolSearch", query),), delay_s=0.2)
            calls.pop(0)
            return reply(tool_use(PLUGINS + name, given))
        return reply(json.dumps(REPORT))

    with ScriptedApi(obedient_model(model)) as api:
        stage = stage_at(tmp_path / "stage", api, PATH=BARE_PATH)
        command(stage, "task", "create", "It greets", python=python, package=plugin)
        with StreamSession(stage, args=["--plugin-dir", str(plugin)]) as session:
            session.ask("hello")
            words = ("developer", "Do #1.", "--mode", "terminal")
            answer = ask(python, stage, plugin=plugin, words=words)
        left = command(stage, "task", "list", python=python, package=plugin)

    assert (answer["success"], answer["route"]) == (True, "host")
    assert any('"title":"It greets"' in each for each in told), told
    assert "create_task" in told[-1]
    assert "More" not in left


@pytest.mark.parametrize(
    ("how", "mode"), [("print", "default"), ("stream", "auto"), ("terminal", "auto")]
)
def test_a_rule_hands_work_over_with_the_plugin(tmp_path, plugin, how, mode):
    """Seed 000's rule: refused, run inside, and answered into the same turn."""
    make_environment(plugin / ".venv")
    model = obedient_model(verified("touch made # pytest"), main=calling("pytest -q"))

    with ScriptedApi(model) as api:
        stage = stage_at(tmp_path / "stage", api, PATH=BARE_PATH)
        stage.settings({"permissions": {"allow": ["Bash"]}})
        home = stage.home / ".hostbridge"
        home.mkdir(mode=0o700)
        (home / "rules.yaml").write_text(SEED)
        args = ["--permission-mode", mode, "--plugin-dir", str(plugin)]
        if how == "print":
            assert run_print(stage, "go", args=args).exit_code == 0
        elif how == "stream":
            with StreamSession(stage, args=args) as session:
                session.ask("go", timeout_s=300)
        else:
            needs.tool("tmux")
            with TerminalSession(stage, mode=mode, args=args[2:]) as terminal:
                terminal.submit("go")
                wait_until(lambda: len(api.turns("main")) == 3, what="the third turn")

    assert (stage.project / "made").exists()
    refused, answered = api.turns("main")[1:3]
    assert refused.contains("gives this to the agent validation-runner")
    assert answered.contains("all passed")
    assert complaints(stage) == ""


def test_plugin_and_settings_do_everything_once(tmp_path, plugin):
    """All see every event; one of them acts for the session, the others are silent."""
    make_environment(plugin / ".venv")

    with ScriptedApi(obedient_model()) as api:
        stage = stage_at(tmp_path / "stage", api, PATH=BARE_PATH)
        for scope in ("--local", "--user"):
            command(stage, "install", scope)
        with StreamSession(stage, args=["--plugin-dir", str(plugin)]) as session:
            session.ask("hello")
            answers = [ask(sys.executable, stage, plugin=ROOT) for _ in range(3)]
            acting = kinds_at_work(stage.home / ".hostbridge")

    assert [answer["success"] for answer in answers] == [True] * 3
    assert len(acting) == 1
    assert len(api.turns("subagent")) == 3
    (state,) = (stage.home / ".hostbridge").rglob("events.jsonl")
    lines = [json.loads(line) for line in state.read_text().splitlines()]
    # A busy machine may be so late that an offer is made again.
    again = [line["requestId"] for line in lines if line["event"] == "offered again"]
    shown = " ".join(request.newest_text for request in api.turns("main"))
    for answer in answers:
        number = answer["requestId"]
        assert shown.count(f'"bridge:{number}"') == 1 + again.count(number)
    kinds = ("claimed", "launched")
    events = [line["event"] for line in lines if line["event"] in kinds]
    assert events == ["claimed", "launched"] * 3
    assert complaints(stage) == ""


def test_a_plugin_without_environment_says_how_to_make_one(tmp_path, plugin):
    """One line for the user when a session begins, and nothing afterwards."""
    needs.tool("tmux")
    plugin = plugin.rename(tmp_path / "plug in")

    with ScriptedApi(obedient_model()) as api:
        stage = stage_at(tmp_path / "stage", api, PATH=BARE_PATH)
        args = ["--plugin-dir", str(plugin)]
        with TerminalSession(stage, args=args, size=(400, 50)) as terminal:
            terminal.wait_for_text("hostbridge: this plugin")
            terminal.submit("hello")
            terminal.wait_for_text("● ok")
            screen = terminal.history()

    data = stage.home / ".claude" / "plugins" / "data" / "hostbridge-inline"
    said = [line for line in screen.splitlines() if "hostbridge:" in line]
    words = (
        "hostbridge: this plugin has no Python environment yet. Make one: "
        f"sh '{plugin}/scripts/plugin-setup' '{data}/venv'"
    )
    assert [line.partition(" says: ")[2] for line in said] == [words]
    assert "failed" not in screen
    assert not (stage.home / ".hostbridge").exists()


def test_error_odd_paths_are_not_quoted_into_json(tmp_path, plugin):
    """A quote in a path must break neither the JSON nor the user's shell."""
    done = subprocess.run(
        ["/bin/sh", plugin / "hooks" / "always", "SessionStart", "plugin"],
        env={
            "PATH": BARE_PATH,
            "HOME": str(tmp_path),
            "CLAUDE_PLUGIN_ROOT": str(plugin),
            "CLAUDE_PROJECT_DIR": str(tmp_path),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout) == {
        "systemMessage": "hostbridge: this plugin has no Python environment yet. Make "
        "one: sh scripts/plugin-setup, in its folder"
    }


def test_an_environment_that_is_broken_says_so_once(tmp_path, plugin):
    """A Python without the libraries must not fail at each event."""
    venv.create(plugin / ".venv", with_pip=False)
    env = {
        "PATH": BARE_PATH,
        "HOME": str(tmp_path),
        "CLAUDE_PLUGIN_ROOT": str(plugin),
        "CLAUDE_PROJECT_DIR": str(tmp_path),
        "CLAUDE_CODE_SESSION_ID": "one",
    }

    said = []
    for event in ("SessionStart", "SessionEnd"):
        done = subprocess.run(
            ["/bin/sh", plugin / "hooks" / "always", event, "plugin"],
            env=env,
            input=b"{}",
            capture_output=True,
            check=True,
        )
        said.append((done.stdout, done.stderr))

    line = json.loads(said[0][0])["systemMessage"]
    assert line.startswith(f"hostbridge: {plugin}/.venv/bin/python cannot start it (")
    assert line.endswith("run scripts/plugin-setup, in the plugin's folder")
    assert said[1] == (b"", b"")
    assert os.listdir(tmp_path) == [plugin.name]
