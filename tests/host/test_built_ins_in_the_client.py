"""The built-in agents with the real client: one session answers them all."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hostworld import HostWorld, bash, host_world

from bridge.protocol.response import Response
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import Answer, reply
from bridge.testing.stage.turns import ApiRequest

pytestmark = pytest.mark.host

SYNTAX = "python3 -I -m py_compile shop.py"
TESTS = "python3 -m unittest -q"


def shown(command: str) -> list[dict[str, Any]]:
    item = {"type": "command_output", "content": "it ended well", "passed": True}
    return [item | {"command": command}]


def verdict(**more: Any) -> dict[str, Any]:
    return {
        "verdict": "APPROVED",
        "summary": "all is well",
        "checks": [{"name": "intent", "passed": True}],
        "issues": [],
        **more,
    }


RAN = {"status": "success", "summary": "ok", "evidence": shown(SYNTAX)}
FOUND = {"answer": "In shop.py.", "findings": [], "confidence": "high"}
# name: a sentence of its prompt, the command it runs, what it answers.
AGENTS: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "researcher": ("Search first, then read what you found", None, FOUND),
    "validation-runner": (
        "Run exactly the check that the task names",
        TESTS,
        RAN | {"evidence": shown(TESTS)},
    ),
    "validator-syntax": (
        "Check the syntax of what the task names",
        SYNTAX,
        verdict(evidence=shown(SYNTAX)),
    ),
    "validator-logic": ("Judge the logic of what the task describes", None, verdict()),
    "validator-security": ("Look for ways in which what the task", None, verdict()),
    "validator-integration": (
        "Say whether what the task describes fits the rest",
        TESTS,
        verdict(evidence=shown(TESTS)),
    ),
}
# What an agent that may not edit once wrote a hook with, and what else it could do.
SNEAKY = "Use an option that nobody thought of."
HOOK = "git log -1 --format=evil --output=.git/hooks/pre-commit"
OPTIONS = {
    f"{TESTS}; touch made": "not granted to this agent",
    "pytest --basetemp=made": "--basetemp is not granted",
    "pytest --base=made": "--base is not granted",
    "ruff check --fix .": "--fix is not granted",
    # No rule is about git: the client asks for more than a look, and is told no.
    HOOK: "Bash is not granted to this agent",
    "pytest /etc": "'/etc' lies outside the project",
}
BROKEN = "Say that broken.py does not parse."
BROKEN_CHECK = "python3 -I -m py_compile broken.py"
REJECTED = verdict(verdict="REJECTED", checks=[{"name": BROKEN_CHECK, "passed": False}])


def turns_of(prompt: str) -> list[Answer]:
    """What the model says, turn by turn, to one of the agents."""
    if SNEAKY in prompt:
        failed = {"status": "failed", "summary": "not granted", "evidence": []}
        return [*map(bash, OPTIONS), reply(json.dumps(failed))]
    if HOOK in prompt:
        return [bash(HOOK), reply(json.dumps(verdict()))]
    if BROKEN in prompt:
        return [bash(BROKEN_CHECK), reply(json.dumps(REJECTED))]
    [(_, command, answer)] = [a for a in AGENTS.values() if a[0] in prompt]
    first = [] if command is None else [bash(command)]
    return [*first, reply(json.dumps(answer))]


def subagent(prompt: str, request: ApiRequest) -> Answer:
    said = sum(item.get("role") == "assistant" for item in request.messages)
    turns = turns_of(prompt)
    return turns[min(said, len(turns) - 1)]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A project, and a session open in it for as long as these tests run."""
    root: Path = tmp_path_factory.mktemp("stage")
    with host_world(root, obedient_model(subagent)) as opened:
        project = opened.stage.project
        (project / "shop.py").write_text("x = 1\n")
        (project / "broken.py").write_text("x = (1\n")
        subprocess.run(["git", "init", "-q"], cwd=project, check=True)
        case = "import unittest\nclass T(unittest.TestCase):\n def test(self): pass\n"
        (project / "test_shop.py").write_text(case)
        with opened.stream():
            yield opened


def ask(world: HostWorld, agent: str, prompt: str) -> Response:
    return world.ended(world.submit(prompt, agent=agent, route="host"))


def asked_with(world: HostWorld, words: str) -> list[ApiRequest]:
    """What the model behind the agent of one request was sent."""
    return [turn for turn in world.api.turns("subagent") if words in turn.prompt]


@pytest.mark.parametrize("name", AGENTS)
def test_each_is_told_its_own_and_answers_in_its_own_form(world, name):
    """Its prompt and its schema go in; what comes back satisfied that schema."""
    sentence, command, answer = AGENTS[name]
    task = f"The task of {name}: look at shop.py"

    response = ask(world, name, task)

    turn = asked_with(world, task)[0]
    form = "status" if name == "validation-runner" else next(iter(answer))
    assert sentence in turn.prompt
    assert f'"{form}"' in turn.prompt.partition("## How to answer")[2]
    # What is to be judged comes along: nobody needs git for it.
    judges = ("validator-logic", "validator-security", "validator-integration")
    assert ("\n+x = 1\n" in turn.prompt) is (name in judges)
    assert (response.success, response.route) == (True, "host"), response
    parsed = response.parsed_output
    said = {key: value for key, value in answer.items() if key != "evidence"}
    assert {key: parsed[key] for key in said} == said
    if name == "validation-runner":
        [evidence] = parsed["evidence"]
        assert (evidence["command"], evidence["verified"]) == (command, True)


def test_what_no_rule_names_is_refused_by_its_name(world):
    """A second command, an option: the same program runs without them, see above."""
    ask(world, "validation-runner", SNEAKY)

    results = [r.text for turn in asked_with(world, SNEAKY) for r in turn.tool_results]
    for text, why in zip(results, OPTIONS.values(), strict=True):
        assert why in text
        if "option" in why:
            assert "a rule for it: Bash(" in text
    assert not (world.stage.project / "made").exists()


@pytest.mark.parametrize("name", ["validator-logic", "validator-security"])
def test_who_only_reads_has_no_git(world, name):
    """The client takes `git log` for harmless; no hook is written all the same."""
    project = world.stage.project
    (project / ".git" / "hooks").mkdir(parents=True, exist_ok=True)

    ask(world, name, f"Run {HOOK}")

    assert not (project / ".git" / "hooks" / "pre-commit").exists()
    [result] = [r for turn in asked_with(world, HOOK) for r in turn.tool_results][:1]
    assert "keeps Bash from it" in result.text


def test_a_rejection_rests_on_the_check_that_failed(world):
    """That no command ended well is what it says, not a lack of evidence."""
    response = ask(world, "validator-syntax", BROKEN)

    assert (response.success, response.parsed_output) == (True, REJECTED)
