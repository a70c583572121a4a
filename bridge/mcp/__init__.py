"""The MCP server of hostbridge: the only room that imports the SDK."""
