"""The tools that workflows may name are those that the server has."""

import asyncio

from bridge.mcp.server import Server
from bridge.workflows.tool_lists import own_tools


def test_workflows_name_the_servers_tools(tmp_path):
    listed = asyncio.run(Server(tmp_path, 1).list_tools())

    assert {tool.name for tool in listed} == own_tools()
