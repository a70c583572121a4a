"""The tools on tasks over MCP: the table's, in the name of whoever calls."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from mcpworld import call_from, run, text_of

from bridge.tasks.tasks import Tasks
from bridge.tasks.tool_table import TOOLS

if TYPE_CHECKING:
    from hookworld import HookWorld
    from mcp.client import Client


def test_the_tools_are_those_of_the_table(world: HookWorld):
    async def steps(client: Client) -> None:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}

        for tool in TOOLS.values():
            seen = listed[tool.name]
            assert seen.description == tool.about
            assert seen.input_schema == tool.schema
            assert seen.annotations is not None
            assert seen.annotations.read_only_hint is not tool.changes
        assert not listed.keys() & {"export_tasks", "import_tasks", "delete_task"}

    run(steps, world.project)


def test_a_claim_is_the_sessions_or_its_agents(world: HookWorld):
    tasks = Tasks(world.store)
    tasks.create("one")
    tasks.create("two")

    async def steps(client: Client) -> None:
        one = await call_from(world, client, "claim_task", {"task_id": "#1"})
        assert one.structured_content is not None
        assert one.structured_content["assignee"] == f"session {world.session}"
        await call_from(world, client, "claim_task", {"task_id": 2}, agent="a1")
        other = await call_from(
            world, client, "claim_task", {"task_id": "#1"}, agent="a1"
        )
        assert other.is_error
        assert text_of(other).startswith("task_claimed: task #1 is claimed by session")

    run(steps, world.project)
    first, second = tasks.holder_of("#1"), tasks.holder_of("#2")
    assert first is not None
    assert second is not None
    assert second.assignee == "agent a1"
    for holder in (first, second):
        assert holder.process is not None
        assert holder.process.pid == os.getpid()
        assert holder.session == world.session


def test_a_claim_of_an_agent_that_dies_is_taken_back(world: HookWorld):
    """Its session lives on, and so does the server that it called."""
    tasks = Tasks(world.store)
    tasks.create("one")
    request, call, agent = world.begin()
    world.use(agent)

    async def steps(client: Client) -> None:
        claimed = await call_from(
            world, client, "claim_task", {"task_id": "#1"}, agent=agent
        )
        assert claimed.structured_content is not None
        assert claimed.structured_content["assignee"] == f"agent {agent}"
        assert tasks.ready() == []
        world.say(
            "PostToolUseFailure", tool_name="Agent", tool_use_id=call, tool_input={},
            error="stopped", is_interrupt=False,
        )  # fmt: skip
        assert world.code(request) not in (None, "success")

        ready = await call_from(world, client, "list_ready_tasks", {})
        assert ready.structured_content is not None
        assert ready.structured_content["count"] == 1

    run(steps, world.project)


def test_many_long_texts_do_not_fill_the_context(world: HookWorld):
    tasks = Tasks(world.store)
    for n in range(3):
        tasks.create(f"task {n}", description="x" * 1_000_000)

    async def steps(client: Client) -> None:
        ready = await call_from(world, client, "list_ready_tasks", {})
        whole = await call_from(world, client, "get_task", {"task_id": "#1"})
        found = ready.structured_content
        assert found is not None
        assert len(json.dumps(found)) < 5_000
        assert found["note"] == "long texts are cut: get_task has them"
        assert found["tasks"][2]["description"] == "x" * 200 + "…"
        assert whole.structured_content is not None
        assert len(whole.structured_content["description"]) == 1_000_000

    run(steps, world.project)


def test_another_program_claims_while_its_server_runs(world: HookWorld):
    tasks = Tasks(world.store)
    tasks.create("one")

    async def steps(client: Client) -> None:
        await client.call_tool("claim_task", {"task_id": "#1"})
        assert tasks.ready() == []

    run(steps, world.project)
    assert [each.ref for each in tasks.ready()] == ["#1"]


def test_an_epic_is_divided_and_closed(world: HookWorld):
    async def steps(client: Client) -> None:
        async def call(tool: str, **arguments):
            result = await call_from(world, client, tool, arguments)
            assert not result.is_error, text_of(result)
            assert json.loads(text_of(result)) == result.structured_content
            return result.structured_content

        await call("create_task", title="Epic")
        spec = {"subtasks": [{"title": "a"}, {"title": "b", "depends_on": [0]}]}
        await call("save_expansion_spec", task_id="#1", spec=spec)
        assert (await call("execute_expansion", task_id="#1"))["count"] == 2
        for ref in ("#2", "#3", "#1"):
            (ready,) = (await call("list_ready_tasks"))["tasks"]
            assert ready["id"] == ref
            await call("close_task", task_id=ref)
        assert (await call("search_memories", query="epic"))["count"] == 1

    run(steps, world.project)


def test_a_session_starts_the_validator_that_it_asked_for(world: HookWorld):
    """It would wait for itself otherwise: the result says how."""
    tasks = Tasks(world.store)
    tasks.create("one", validation_criteria="it runs")

    async def steps(client: Client) -> None:
        begun = await call_from(world, client, "validate_task", {"task_id": "#1"})
        assert begun.structured_content is not None
        asked = begun.structured_content["request_id"]
        assert begun.structured_content["state"] == "running"
        assert f"bridge:{asked}" in begun.structured_content["next"]
        again = await call_from(world, client, "validate_task", {"task_id": "#1"})
        assert again.structured_content is not None
        assert again.structured_content["request_id"] == asked
        refused = await call_from(world, client, "close_task", {"task_id": "#1"})
        assert text_of(refused).startswith("task_refused: task #1 cannot be closed")

    run(steps, world.project)
    (request,) = world.bridge.overview().requests
    found = world.store.find(request.request_id)
    assert found is not None
    assert found.request is not None
    assert found.request.task_id == "#1"
    assert found.request.agent_type == "task-validator"


def test_error_a_call_is_refused_by_name(world: HookWorld):
    async def steps(client: Client) -> None:
        calls = [
            ("get_task", {"taskid": 1}, "bad_request: get_task has no argument"),
            ("get_task", {"task_id": 1}, "unknown_task: there is no task #1"),
            ("save_expansion_spec", {"task_id": 1, "spec": {}}, "unknown_task: "),
        ]
        for tool, arguments, says in calls:
            refused = await call_from(world, client, tool, arguments)
            assert refused.is_error
            assert text_of(refused).startswith(says)

    run(steps, world.project)


def test_a_task_is_all_that_an_agent_needs_to_be_told(world: HookWorld):
    tasks = Tasks(world.store)
    tasks.create("Limit uploads", description="10 MB.", validation_criteria="tested")

    async def steps(client: Client) -> None:
        started = await call_from(world, client, "start_agent", {"task_id": "#1"})
        assert started.structured_content is not None
        assert started.structured_content["task_id"] == "#1"
        missing = await call_from(world, client, "start_agent", {"task_id": "#9"})
        assert text_of(missing).startswith("unknown_task: there is no task #9")

    run(steps, world.project)
    (seen,) = world.bridge.overview().requests
    found = world.store.find(seen.request_id)
    assert found is not None
    assert found.request is not None
    assert found.request.prompt == (
        "Task #1: Limit uploads\n\n10 MB.\n\nIt is done when:\ntested"
    )
