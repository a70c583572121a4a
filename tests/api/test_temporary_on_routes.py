"""Temporary agents, and agents with a base, on the routes that we serve."""

import json
import re
from contextlib import contextmanager
from functools import partial

import pytest
from fakeclaude import fake_claude, printing, result, trust_folder
from runworld import ScriptedModel, call, submit
from servingworld import bridge_in

from bridge.api import run_flow
from bridge.bound.agent_rules import AgentRules
from bridge.errors import UnknownAgent
from bridge.worker import executors
from bridge.worker.model_executor import ModelExecutor, OpenModel

FLOW = '$own := {base: "BASE", prompt: "You mend.", model: "opus"} $own:"Now"'
GOOD = result(structured_output={"status": "success", "summary": "ok"})
CHECKER = """
name: checker
prompt: "Task: {{ task }}"
tools: [Read, Grep]
max_turns: 3
"""
TOOLS = {
    "checker": ["read_file", "search_text"],
    "a": ["read_file"],
    "general-purpose": ["read_file", "list_files", "search_text"],
}
# As `promote` writes it.
KEPT = "---\nname: kept\nbase: BASE\ndescription: d\nmodel: opus\n---\nYou mend.\n"


@pytest.fixture
def here(tmp_path):
    claude = fake_claude(tmp_path / "bin", printing(GOOD))
    bridge = bridge_in(tmp_path, claude=str(claude), slots=1)
    trust_folder(tmp_path / "claude", tmp_path / "project")
    for folder, name, text in (
        ("home", "checker.yaml", CHECKER),
        (
            "claude",
            "a.md",
            "---\nname: a\ndescription: d\ntools: Read\n---\nYou are a.\n",
        ),
    ):
        file = tmp_path / folder / "agents" / name
        file.parent.mkdir(mode=0o700, parents=True)
        file.write_text(text)
    return bridge


def keep(here, base):
    (here.settings.home / "agents" / "kept.md").write_text(KEPT.replace("BASE", base))


def asked(here, how, base, route):
    """Ask an agent that stands on `base`: of a flow, or one that was kept."""
    if how == "flow":
        done = here.run(FLOW.replace("BASE", base), route=route)
        assert done.success, done.why
    else:
        keep(here, base)
        assert here.ask("Now", "kept", route=route).success


def claude_was_asked(tmp_path):
    argv = (tmp_path / "bin" / "argv").read_text().splitlines()
    return " ".join(argv), (tmp_path / "bin" / "stdin").read_text()


@pytest.mark.parametrize("how", ["flow", "kept"])
@pytest.mark.parametrize(
    ("base", "flags", "words"),
    [
        ("general-purpose", "", "You mend.\n\nNow"),
        ("Explore", "--agent Explore", "You mend.\n\nNow"),
        ("tools:linter", "--agent tools:linter", "You mend.\n\nNow"),
        ("a", "--tools Read", "You are a.\n\nYou mend.\n\nNow"),
        ("checker", "--max-turns 3 --tools Read,Grep", "You mend.\n\nTask: Now"),
    ],
)
def test_claude_p(here, tmp_path, how, base, flags, words):
    """Its own words and model; the base's words, tools and limits."""
    asked(here, how, base, "claude")

    argv, stdin = claude_was_asked(tmp_path)
    assert "--model opus" in argv
    assert flags in argv
    assert ("--agent" in argv) == ("--agent" in flags)
    assert stdin.startswith(words)


@pytest.fixture
def model(here, monkeypatch):
    """A model of the routes local and endpoint."""
    model = ScriptedModel([call("Write", path="x", text="y"), submit()])

    @contextmanager
    def opened(*_):
        yield OpenModel(model, degraded=False)

    bound = partial(AgentRules.of, here.settings, here.store)
    executor = ModelExecutor(here.store, opened, bound)
    for route in ("local", "endpoint"):
        monkeypatch.setitem(executors._EXECUTORS, route, lambda *_: executor)
    monkeypatch.setattr(run_flow, "check_here", lambda *_: None)
    return model


@pytest.mark.parametrize("how", ["flow", "kept"])
@pytest.mark.parametrize("route", ["local", "endpoint"])
@pytest.mark.parametrize(
    ("base", "words"),
    [("checker", "Task: Now"), ("a", "You are a."), ("general-purpose", "Now")],
)
def test_our_own_loop(here, model, how, route, base, words):
    """The same words, and no tool that its base has not."""
    asked(here, how, base, route)

    said = "\n".join(message.content for message in model.asked[0])
    assert said.index("You mend.") >= 0
    assert words in said
    tools = {*re.findall(r'"tool": {"const": "(\w+)"', json.dumps(model.shapes[0]))}
    assert tools == {"submit_result", *TOOLS[base]}


@pytest.mark.parametrize("route", ["local", "endpoint"])
def test_error_a_base_that_only_the_client_has(here, model, route):
    """Nobody is asked without it."""
    keep(here, "Explore")

    with pytest.raises(UnknownAgent, match="agent 'Explore' is Claude Code's own"):
        here.ask("Now", "kept", route=route)
    with pytest.raises(UnknownAgent, match="agent 'Explore' is Claude Code's own"):
        here.run(FLOW.replace("BASE", "Explore"), route=route)
    assert model.asked == []
