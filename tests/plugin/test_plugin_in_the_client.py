"""The plugin in the real client: valid, and as good as an install."""

import json
import os
import sys
import venv
from pathlib import Path
from typing import Any

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
from programs import ran
from ruleworld import calling, verified
from seedwords import RULE as SEED

from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.client import Stage
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.oneshot import run_print
from bridge.testing.stage.replies import Reply, reply, tool_use
from bridge.testing.stage.stream import StreamSession
from bridge.testing.stage.terminal import TerminalSession

pytestmark = pytest.mark.host

# No hostbridge here, whatever the machine of the developer has.
BARE_PATH = "/usr/bin:/bin"


@pytest.fixture
def plugin(tmp_path):
    """A copy of the repository, as the client would have it, without a `.venv`."""
    return copy_of_repository(tmp_path / "the plug'in", is_compiled=True)


def ask(
    python: Path | str, stage: Stage, *, plugin: Path, words: tuple[str, ...] = ("?",)
) -> dict[str, Any]:
    """Ask by the command line of the plugin's own copy."""
    said = command(stage, "ask", *words, "--json", python=python, package=plugin)
    answer: dict[str, Any] = json.loads(said)
    return answer


def fires(plugin: Path, event: str, **env: str) -> tuple[str, str]:
    """What a hook of the plugin says, and complains of."""
    folder = str(plugin.parent)
    usual = {"HOME": folder, "CLAUDE_PROJECT_DIR": folder, "PATH": BARE_PATH}
    env = {**usual, "CLAUDE_PLUGIN_ROOT": str(plugin), **env}
    command = ("/bin/sh", plugin / "hooks" / "always", event, "plugin")
    done = ran(*command, env=env, input="{}")
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def client(stage: Stage, *words: str) -> str:
    """What a command of the client prints."""
    command = stage.command(*words)
    done = ran(*command, cwd=stage.project, env=stage.environment())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["plugin", "marketplace"])
def test_the_client_finds_the_plugin_and_the_marketplace_valid(tmp_path, kind):
    with ScriptedApi(obedient_model()) as api:
        stage = stage_at(tmp_path / "stage", api, PATH=BARE_PATH)
        file = ROOT / ".claude-plugin" / f"{kind}.json"
        said = client(stage, "plugin", "validate", str(file))

    assert said.startswith(f"Validating {kind} manifest: {file}\n")
    assert said.rstrip().endswith("Validation passed")
    assert ("SessionStart command /bin/sh" in said) == (kind == "plugin")


def test_the_repository_is_a_marketplace(tmp_path, plugin):
    """Added and installed as a user does it, the plugin serves a request.

    Its environment is in its data folder, which stays when an update replaces the
    plugin's own.
    """
    with ScriptedApi(obedient_model()) as api:
        stage = stage_at(tmp_path / "stage", api, PATH=BARE_PATH)
        client(stage, "plugin", "marketplace", "add", str(plugin))
        client(stage, "plugin", "install", "hostbridge@hostbridge")
        plugins = stage.home / ".claude" / "plugins"
        python = make_environment(plugins / "data" / "hostbridge-hostbridge" / "venv")
        with StreamSession(stage) as session:
            session.ask("hello")
            answer = ask(python, stage, plugin=plugin)
            acting = kinds_at_work(stage.home / ".hostbridge")

    assert (answer["success"], answer["route"]) == (True, "host")
    assert acting == ["plugin"]


PLUGINS = "mcp__plugin_hostbridge_hostbridge__"
FOUND = {"answer": "Here.", "findings": [], "confidence": "high"}
REPORT = {"status": "success", "summary": "Done.", "files": [], "evidence": []}


def test_the_plugin_serves_requests_with_all_that_comes_with_it(tmp_path, plugin):
    """With nothing but its own environment: no hostbridge on PATH, none in settings.

    The built-in researcher runs as an agent of the plugin: general-purpose has neither
    Grep nor Glob. A definition says `mcp__hostbridge__get_task`; here the tool has
    another name.
    """
    python = make_environment(plugin / ".venv")
    calls = [("get_task", {"task_id": "#1"}), ("create_task", {"title": "More"})]
    told = []

    def model(prompt, request):
        if "Do #1." not in prompt:
            return reply(json.dumps(FOUND if "Where?" in prompt else REPORT))
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
            answers = [
                ask(python, stage, plugin=plugin, words=words)
                for words in (
                    ("?",),
                    ("researcher", "Where?", "--mode", "terminal"),
                    ("developer", "Do #1.", "--mode", "terminal"),
                )
            ]
            acting = kinds_at_work(stage.home / ".hostbridge")
        left = command(stage, "task", "list", python=python, package=plugin)

    assert [(each["success"], each["route"]) for each in answers] == [
        (True, "host")
    ] * 3
    assert acting == ["plugin"]
    _, searching, *others = api.turns("subagent")
    names = {tool["name"] for tool in searching.body["tools"]}
    assert {"Read", "Grep", "Glob"} <= names
    assert "Bash" not in names
    assert all(each.contains("Do #1.") for each in others)
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
            answers = [ask(sys.executable, stage, plugin=ROOT) for _ in range(2)]
            acting = kinds_at_work(stage.home / ".hostbridge")

    assert [answer["success"] for answer in answers] == [True] * 2
    assert len(acting) == 1
    assert len(api.turns("subagent")) == 2
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
    assert events == ["claimed", "launched"] * 2
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


def test_error_odd_paths_are_not_quoted_into_json(plugin):
    """A quote in a path must break neither the JSON nor the user's shell."""
    said, _ = fires(plugin, "SessionStart")

    assert json.loads(said) == {
        "systemMessage": "hostbridge: this plugin has no Python environment yet. Make "
        "one: sh scripts/plugin-setup, in its folder"
    }


def test_an_environment_that_is_broken_says_so_once(tmp_path, plugin):
    """A Python without the libraries must not fail at each event."""
    venv.create(plugin / ".venv", with_pip=False)

    first, second = (
        fires(plugin, event, CLAUDE_CODE_SESSION_ID="one")
        for event in ("SessionStart", "SessionEnd")
    )

    line = json.loads(first[0])["systemMessage"]
    assert line.startswith(f"hostbridge: {plugin}/.venv/bin/python cannot start it (")
    assert line.endswith("run scripts/plugin-setup, in the plugin's folder")
    assert second == ("", "")
    assert os.listdir(tmp_path) == [plugin.name]
