"""Requests as resources, and agents as prompts."""

import json

import pytest
from mcp.shared.exceptions import MCPError

from bridge.tasks.tool_table import TOOLS

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

GREETER = """\
description: Greets.
prompt: "Say {{ arguments.word }} to {{ task }}."
"""


async def test_tools_say_what_they_take_and_return(client):
    """A client need not guess, and knows which tools only read."""
    tools = {each.name: each for each in (await client.list_tools()).tools}
    assert all(each.output_schema for each in tools.values())
    assert all(each.description for each in tools.values())
    assert not any(each.input_schema["additionalProperties"] for each in tools.values())
    start, spawn = tools["start_agent"], tools["spawn_agent"]
    assert start.input_schema == spawn.input_schema
    assert "required" not in start.input_schema
    reads = {
        name
        for name, each in tools.items()
        if each.annotations and each.annotations.read_only_hint
    }
    assert reads == {
        "wait_for_agent", "wait_for_flow", "status", "get_variables",
        *(tool.name for tool in TOOLS.values() if not tool.changes),
    }  # fmt: skip
    assert "ToolSearch" in str(client.instructions)


async def test_a_request_is_a_resource(world, client):
    """A client can show all of it, whatever became of it."""
    request = world.submit("Count the files.")

    listed = (await client.list_resources()).resources
    assert [str(each.uri) for each in listed] == [f"hostbridge://requests/{request}"]
    assert listed[0].title == "general-purpose, waiting: Count the files."

    (read,) = (await client.read_resource(str(listed[0].uri))).contents
    record = json.loads(read.text)
    assert record["request"]["prompt"] == "Count the files."
    assert record["response"] is None


@pytest.mark.parametrize("name", ["none", "..%2F..%2Fetc%2Fpasswd", "a/b", "x" * 999])
async def test_error_what_is_no_request(name, client):
    """No path leads out of the state directory."""
    with pytest.raises(MCPError) as caught:
        await client.read_resource(f"hostbridge://requests/{name}")
    assert caught.value.error.code == -32602


async def test_each_definition_is_a_prompt(world, client):
    """With its arguments, and what it says about itself."""
    world.define("greeter", GREETER)

    prompts = {each.name: each for each in (await client.list_prompts()).prompts}
    assert {"researcher", "validation-runner"} <= prompts.keys()
    greeter = prompts["greeter"]
    assert greeter.description == "Greets."
    names = [(each.name, each.required) for each in greeter.arguments or ()]
    assert names == [("task", True), ("word", None)]

    got = await client.get_prompt("greeter", {"task": "all", "word": "{{ hi }}"})
    (message,) = got.messages
    assert message.content.text == "Say {{ hi }} to all."
    assert world.bridge.overview().requests == ()

    with pytest.raises(MCPError, match="agent_missing: no agent is named 'gret'"):
        await client.get_prompt("gret", {"task": "all"})
    with pytest.raises(MCPError, match="the prompt is empty"):
        await client.get_prompt("greeter", {})


async def test_a_strangers_definition_is_no_prompt(world, use, client):
    """Nobody reads as an instruction what its user has not trusted."""
    folder = world.project / ".bridge" / "agents"
    folder.mkdir(parents=True)
    (folder / "greeter.yaml").write_text(f"name: greeter\n{GREETER}")

    names = [each.name for each in (await client.list_prompts()).prompts]
    assert "greeter" not in names
    with pytest.raises(MCPError, match="not_trusted: agent 'greeter' is defined"):
        await client.get_prompt("greeter", {"task": "all"})
    task = {"prompt": "all", "agent": "greeter"}
    refused = await use("start_agent", task)
    assert refused.is_error
    assert refused.structured_content["error"]["code"] == "not_trusted"
