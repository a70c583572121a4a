"""An agent of our own loop works on tasks with the tools that a session has."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from runworld import ScriptedModel, call, submit
from scripted_server import ScriptedServer, say
from servingworld import bridge_in

from bridge.api.bridge import Bridge
from bridge.worker import executors
from bridge.worker.model_executor import OpenModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AGENT = """\
name: worker
routes: [endpoint]
prompt: '{{ task }}'
tools: [Read, mcp__hostbridge__get_task, mcp__hostbridge__claim_task]
"""


class Loop:
    """A project with an agent whose model says what it is told to."""

    def __init__(self, bridge: Bridge, patch: pytest.MonkeyPatch) -> None:
        self.bridge = bridge
        self.patch = patch
        self.model = ScriptedModel([])
        self.define(AGENT)

    def define(self, text: str) -> None:
        folder = self.bridge.settings.home / "agents"
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        (folder / "worker.yaml").write_text(text)

    def run(self, *replies: str, flow: str = "", **options: Any) -> list[str]:
        """The results of the calls, as the model saw them, in an ask or a flow."""
        self.model = ScriptedModel([*replies, submit()])

        @contextmanager
        def opened(*_: object) -> Iterator[OpenModel]:
            yield OpenModel(self.model, degraded=False)

        store, settings = self.bridge.store, self.bridge.settings
        executor = executors._model_executor(settings, store, opened)
        self.patch.setitem(executors._EXECUTORS, "endpoint", lambda *_: executor)
        if flow:
            self.bridge.run(flow, route="endpoint")
        else:
            self.bridge.ask("Go.", "worker", route="endpoint", **options)
        return self.model.results()

    def offered(self) -> list[str]:
        shape = self.model.shapes[0]
        options = shape.get("anyOf", [shape])
        return [option["properties"]["tool"]["const"] for option in options]


@pytest.fixture
def loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loop:
    return Loop(bridge_in(tmp_path), monkeypatch)


def own(name: str, **arguments: Any) -> str:
    return call(f"mcp__hostbridge__{name}", **arguments)


def test_an_agent_works_on_a_task(loop):
    task = loop.bridge.tasks.create("Limit uploads")

    said = loop.run(own("get_task", task_id=task.ref), own("claim_task", task_id="#1"))

    assert '"title":"Limit uploads"' in said[0]
    assert loop.bridge.tasks.get(1).status == "in_progress"
    assert (loop.bridge.tasks.get(1).assignee or "").startswith("agent ")


def test_what_an_agent_holds_when_it_has_answered_is_open_again(loop):
    """The process that it ran in goes on."""
    loop.bridge.tasks.create("Limit uploads")

    loop.run(own("claim_task", task_id="#1"))

    assert [task.ref for task in loop.bridge.tasks.ready()] == ["#1"]


def test_an_agent_of_a_run_claims_for_the_run(loop):
    loop.bridge.tasks.create("Limit uploads")

    loop.run(own("claim_task", task_id="#1"), flow='worker:"Go."')

    assert (loop.bridge.tasks.get(1).assignee or "").startswith("run ")


def test_only_those_that_are_listed_are_offered(loop):
    loop.run()

    assert loop.offered() == [
        "read_file", "mcp__hostbridge__get_task", "mcp__hostbridge__claim_task",
        "submit_result",
    ]  # fmt: skip


@pytest.mark.parametrize("tools", ["[Read]", "null"])
def test_none_without_a_list_that_names_them(loop, tools):
    loop.define(AGENT.partition("tools:")[0] + f"tools: {tools}\n")
    loop.run()

    assert not any(name.startswith("mcp__") for name in loop.offered())


def test_a_server_stands_for_all_of_its_tools_but_those_blocked(loop):
    loop.define(
        AGENT.partition("tools:")[0]
        + "tools: [mcp__hostbridge]\nblocked_tools: [mcp__hostbridge__close_task]\n"
    )
    loop.run()

    names = loop.offered()
    assert "mcp__hostbridge__execute_expansion" in names
    assert "mcp__hostbridge__set_variables" in names
    assert "mcp__hostbridge__close_task" not in names


def test_error_a_call_that_is_wrong_is_told_to_the_model(loop):
    (said,) = loop.run(own("get_task", task_id="#7"))

    assert "error: " in said
    assert "#7" in said


def test_a_model_sets_its_own_variables_and_no_others(loop):
    loop.define(AGENT.partition("tools:")[0] + "tools: [mcp__hostbridge]\n")

    said = loop.run(
        own("set_variables", values={"found": True}),
        own("set_variables", values={"target": "other"}),
        own("get_variables"),
        variables={"target": "mine"},
    )

    assert "error: target belongs to the person" in said[1]
    assert json.loads(said[2].partition("\n")[2]) == {"target": "mine", "found": True}


def test_rules_see_the_calls_by_their_names(loop):
    (loop.bridge.settings.home / "rules.yaml").write_text(
        "on_before_tool:\n"
        "  - when: tool_name == 'mcp__hostbridge__claim_task'\n"
        "    block: Not now.\n"
    )
    loop.bridge.tasks.create("Limit uploads")

    (said,) = loop.run(own("claim_task", task_id="#1"))

    assert "error: Not now." in said
    assert loop.bridge.tasks.get(1).status == "open"


HELPER = """\
name: helper
routes: [endpoint]
prompt: '{{ task }}'
model: openai:m
"""


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


def test_another_agent_is_asked_on_the_same_route(loop, server, monkeypatch):
    """By a process of its own, whose answer is the result of the call."""
    home = loop.bridge.settings.home
    loop.define(AGENT.partition("tools:")[0] + "tools: [mcp__hostbridge]\n")
    (home / "agents" / "helper.yaml").write_text(HELPER)
    monkeypatch.setenv("HOME", str(home.parent))
    monkeypatch.setenv("BRIDGE_HOME", str(home))
    monkeypatch.setenv("BRIDGE_OPENAI_BASE_URL", server.url)
    server.acts = [
        say(own("spawn_agent", agent="helper", prompt="Is it so?")),
        say(submit(summary="It is so.")),
        say(submit(summary="I was told.")),
    ]

    bridge = Bridge.open(loop.bridge.store.place.project)
    result = bridge.ask("Go.", "worker", model="openai:m", route="endpoint")

    told = str(server.asked[2]["messages"][-1]["content"])
    assert "I was told." in result.response.raw_output
    assert '"success":true' in told
    assert "It is so." in told


def test_error_an_agent_that_is_not_there(loop):
    loop.define(AGENT.partition("tools:")[0] + "tools: [mcp__hostbridge]\n")

    (said,) = loop.run(own("spawn_agent", agent="reviewr", prompt="Look."))

    assert "error: " in said
    assert "reviewr" in said
