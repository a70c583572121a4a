"""Serve MCP on stdin and stdout: what Claude Code, an editor or a program starts.

Its tools start agents, wait for them, cancel them, and read and set variables; every
request is a resource, and every agent a prompt. It ends when its client closes stdin,
and ends what it started. docs/mcp.md says how to register it.

For example:
  hostbridge -C ~ mcp < /dev/null
  hostbridge mcp < /dev/null
"""

from argparse import Namespace
from importlib.util import find_spec

from bridge.config import Settings
from bridge.errors import ExtraMissing

OPTIONS = ()


def command(_options: Namespace) -> None:
    """Serve until stdin closes."""
    if find_spec("mcp") is None:
        raise ExtraMissing("mcp", "the package mcp", needed_for="hostbridge mcp")
    from bridge.mcp.server import run

    settings = Settings.from_environment()
    run(settings.project_dir, settings.slots)
