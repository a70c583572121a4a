"""The built-in agents on the local route: typed, verified, with named failures.

What is asserted here holds whatever the model says. The real small model says it of a
few; of all, one that says anything that the grammar allows.
"""

import json
import os
import sys
from pathlib import Path
from typing import Self

import needs
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from thoroughness import rounds

from bridge.agent_loop.chat_model import ModelReply
from bridge.agents.load import load
from bridge.api.bridge import Bridge
from bridge.config import Settings
from bridge.errors import InvalidRequest
from bridge.protocol.contract import answer_schema
from bridge.protocol.json_schema import problem_of
from bridge.protocol.response import RequestFailed
from bridge.shipped import agents_folder
from bridge.tasks.tool_table import TOOLS
from bridge.testing import values

pytestmark = pytest.mark.slow

# How a small model may fail: by what it does, not by what we do.
FAILURES = {
    "agent_failed", "agent_blocked", "invalid_output", "prompt_echo", "timeout",
    "turn_limit", "unverified", "steps_left",
}  # fmt: skip
PASSING = "def test_sum():\n    assert 1 + 1 == 2\n"
FAILING = "def test_sum():\n    assert 1 + 1 == 3\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests, so that the prompt of an agent is read once."""
    needs.local_model()
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def path(monkeypatch):
    """The commands of this environment come first, such as pytest."""
    here = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", f"{here}{os.pathsep}{os.environ['PATH']}")


def ask(home, project, agent, prompt, *, task=None, **files):
    """The recorded response to one request on the local route."""
    (project / ".git").mkdir()
    for name, text in files.items():
        (project / f"{name}.py").write_text(text)
    bridge = Bridge(Settings(home=home), project)
    how = {"task_id": bridge.tasks.create(**task).ref} if task else {}
    try:
        return bridge.ask(prompt, agent, route="local", timeout_s=400, **how).response
    except RequestFailed as failed:
        return failed.response


def assert_local(response):
    assert (response.route, response.degraded) == ("local", True)
    assert response.model.startswith("SmolLM2-135M")


@pytest.mark.parametrize(
    ("tests", "exit_code", "code"),
    [(PASSING, 0, None), (FAILING, 1, "agent_failed")],
    ids=["passing", "failing"],
)
def test_validation_runner_follows_the_exit_code(
    home, tmp_path, tests, exit_code, code
):
    """The evidence is what ran: the command, its call, its exit code."""
    asked = "Run and report: pytest -q"

    response = ask(home, tmp_path, "validation-runner", asked, test_sum=tests)

    assert_local(response)
    answer = response.parsed_output
    ran = [item for item in answer["evidence"] if item["verified"]]
    assert [item["exitCode"] for item in ran] == [exit_code]
    assert ran[0]["command"].startswith("pytest -q")
    assert ran[0]["toolUseId"] == "call-1"
    assert (response.error and response.error.code) == code
    if exit_code:
        assert answer["status"] in ("failed", "blocked")
    else:
        assert answer["status"] in ("success", "partial")


READING = {"read_file", "list_files", "search_text"}
LOOKING = READING | {"mcp__hostbridge__get_task"}
CHECKING = LOOKING | {"run_command", "mcp__hostbridge__get_validation_context_smart"}
WRITING = READING | {"run_command", "edit_file", "write_file"}
SEARCH = "mcp__hostbridge__search_memories"
OURS = {*TOOLS, "get_variables", "set_variables", "spawn_agent", "start_agent"}
TASKS = {f"mcp__hostbridge__{name}" for name in OURS}


MAY_CALL = {
    "researcher": LOOKING | {SEARCH},
    "developer": LOOKING | WRITING | {SEARCH},
    "qa-reviewer": CHECKING,
    "merge": WRITING,
    "task-validator": CHECKING,
    "task-ops": WRITING | TASKS,
}


def ask_about_a_task(home, project, agent):
    """The recorded response of an agent that knows its task's number alone."""
    task = {"title": "price_of rounds", "description": "In shop.py, to cents."}
    shop = "def price_of(value):\n    return value\n"
    return ask(home, project, agent, "", task=task, shop=shop)


def assert_in_its_form(response, agent):
    """Or failed by a name; what the model says of the task is its own."""
    assert response.task_id == "#1"
    assert set(response.run.tools) <= MAY_CALL[agent]
    if response.error is not None:
        assert response.error.code in FAILURES
        return
    definition = load(agents_folder() / f"{agent}.yaml", "built-in").definition
    schema = answer_schema(definition.output_schema)
    assert problem_of(schema, response.parsed_output) is None


def test_an_agent_for_tasks_answers_in_its_form(home, tmp_path):
    response = ask_about_a_task(home, tmp_path, "researcher")

    assert_local(response)
    assert_in_its_form(response, "researcher")


class Anything:
    """In place of the model in llama.cpp: any reply that the grammar allows."""

    name = "anything"
    is_small = True

    def __init__(self, draw, file):
        self._draw = draw
        self.file = file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        pass

    def reply(self, request):
        return ModelReply(json.dumps(self._draw(values(request.shape))), tokens=1)


@pytest.mark.parametrize("agent", MAY_CALL)
def test_whatever_a_model_says_an_agent_for_tasks_answers_in_its_form(
    tmp_path_factory, agent
):
    """Over calls of all its tools, with whatever arguments."""

    @settings(
        max_examples=rounds(60),
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def answer(data):
        home, project = (tmp_path_factory.mktemp(name) for name in ("home", "project"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "bridge.llama.local_model.LlamaModel",
                lambda file, _settings: Anything(data.draw, file),
            )

            response = ask_about_a_task(home, project, agent)

        assert response.model == Anything.name
        assert_in_its_form(response, agent)

    answer()


def test_error_an_agent_that_a_small_model_is_not_for(home, tmp_path):
    """It is refused before any model starts, and says where it may run."""
    with pytest.raises(InvalidRequest, match="does not take the route local; it takes"):
        ask(home, tmp_path, "validator-logic", "Check shop.py.")


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("x = (1)\n", id="good", marks=pytest.mark.full),
        pytest.param("x = (1\n", id="broken"),
    ],
)
def test_validator_syntax_agrees_with_the_parser(home, tmp_path, source):
    """The last command decides; if it ran nothing, it may approve nothing."""
    response = ask(home, tmp_path, "validator-syntax", "Check shop.py", shop=source)

    assert_local(response)
    if not response.run.evidence:
        assert response.error.code == "unverified"
        return
    agreeing = "APPROVED" if response.run.evidence[-1].passed else "REJECTED"
    assert response.error is None
    assert response.parsed_output["verdict"] in (agreeing, "NEEDS_REVIEW")
