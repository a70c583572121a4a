"""The tools on tasks over MCP: the table's, in the name of whoever calls."""

import json

import pytest
from mcpworld import client_pid, run, text_of

from bridge.tasks.tasks import Tasks
from bridge.tasks.tool_table import TOOLS

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_the_tools_are_those_of_the_table(client):
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}

    for tool in TOOLS.values():
        seen = listed[tool.name]
        assert seen.description == tool.about
        assert seen.input_schema == tool.schema
        assert seen.annotations.read_only_hint is not tool.changes
    assert not listed.keys() & {"export_tasks", "import_tasks", "delete_task"}


async def test_a_claim_is_the_sessions_or_its_agents(world, use):
    tasks = Tasks(world.store)
    tasks.create("one")
    tasks.create("two")

    one = await use("claim_task", {"task_id": "#1"})
    assert one.structured_content["assignee"] == f"session {world.session}"
    await use("claim_task", {"task_id": 2}, agent="a1")
    other = await use("claim_task", {"task_id": "#1"}, agent="a1")
    assert other.is_error
    assert text_of(other).startswith("task_claimed: task #1 is claimed by session")

    first, second = tasks.holder_of("#1"), tasks.holder_of("#2")
    assert first is not None
    assert second.assignee == "agent a1"
    for holder in (first, second):
        assert holder.process.pid == client_pid()
        assert holder.session == world.session


async def test_a_claim_of_an_agent_that_dies_is_taken_back(world, use):
    """Its session lives on, and so does the server that it called."""
    tasks = Tasks(world.store)
    tasks.create("one")
    request, call, agent = world.begin()
    world.use(agent)

    claimed = await use("claim_task", {"task_id": "#1"}, agent=agent)
    assert claimed.structured_content["assignee"] == f"agent {agent}"
    assert tasks.ready() == []
    world.say(
        "PostToolUseFailure", tool_name="Agent", tool_use_id=call, tool_input={},
        error="stopped", is_interrupt=False,
    )  # fmt: skip
    assert world.code(request) not in (None, "success")

    ready = await use("list_ready_tasks", {})
    assert ready.structured_content["count"] == 1


async def test_many_long_texts_do_not_fill_the_context(world, use):
    tasks = Tasks(world.store)
    for n in range(3):
        tasks.create(f"task {n}", description="x" * 1_000_000)

    ready = await use("list_ready_tasks", {})
    whole = await use("get_task", {"task_id": "#1"})
    found = ready.structured_content
    assert len(json.dumps(found)) < 5_000
    assert found["note"] == "long texts are cut: get_task has them"
    assert found["tasks"][2]["description"] == "x" * 200 + "…"
    assert len(whole.structured_content["description"]) == 1_000_000


def test_another_program_claims_while_its_server_runs(world):
    tasks = Tasks(world.store)
    tasks.create("one")

    async def steps(client):
        await client.call_tool("claim_task", {"task_id": "#1"})
        assert tasks.ready() == []

    run(steps, world.project)
    assert [each.ref for each in tasks.ready()] == ["#1"]


async def test_an_epic_is_divided_and_closed(use):
    async def call(tool, **arguments):
        result = await use(tool, arguments)
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


async def test_a_session_starts_the_validator_that_it_asked_for(world, use):
    """It would wait for itself otherwise: the result says how."""
    tasks = Tasks(world.store)
    tasks.create("one", validation_criteria="it runs")

    begun = await use("validate_task", {"task_id": "#1"})
    asked = begun.structured_content["requestId"]
    assert begun.structured_content["state"] == "running"
    assert f"bridge:{asked}" in begun.structured_content["next"]
    again = await use("validate_task", {"task_id": "#1"})
    assert again.structured_content["requestId"] == asked
    refused = await use("close_task", {"task_id": "#1"})
    assert text_of(refused).startswith("task_refused: task #1 cannot be closed")

    (request,) = world.bridge.overview().requests
    found = world.store.find(request.request_id)
    assert found.request.task_id == "#1"
    assert found.request.agent_type == "task-validator"


async def test_error_a_call_is_refused_by_name(use):
    calls = [
        ("get_task", {"taskid": 1}, "bad_request: get_task has no argument"),
        ("get_task", {"task_id": 1}, "unknown_task: there is no task #1"),
        ("save_expansion_spec", {"task_id": 1, "spec": {}}, "unknown_task: "),
    ]
    for tool, arguments, says in calls:
        refused = await use(tool, arguments)
        assert refused.is_error
        assert text_of(refused).startswith(says)


async def test_a_task_is_all_that_an_agent_needs_to_be_told(world, use):
    tasks = Tasks(world.store)
    tasks.create("Limit uploads", description="10 MB.", validation_criteria="tested")

    started = await use("start_agent", {"task_id": "#1"})
    assert started.structured_content["task_id"] == "#1"
    missing = await use("start_agent", {"task_id": "#9"})
    assert text_of(missing).startswith("unknown_task: there is no task #9")

    (seen,) = world.bridge.overview().requests
    found = world.store.find(seen.request_id)
    assert found.request.prompt == (
        "Task #1: Limit uploads\n\n10 MB.\n\nIt is done when:\ntested"
    )
