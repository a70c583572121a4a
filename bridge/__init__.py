"""hostbridge: ask the agent session that is already open, get a typed, verified answer.

    from bridge import Bridge

    result = Bridge.open().ask("Which modules lack tests?", schema=Modules)

Names are loaded when first used: hooks import this package at every tool call.
"""

from __future__ import annotations

# `typing` itself costs more than the quick hook may; type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bridge.agents.subagent_definition import (
        SubagentDefinition,
        load_subagent_definition,
    )
    from bridge.api.aio import AsyncBridge
    from bridge.api.bridge import Bridge, ask, spawn_agent, start_agent
    from bridge.api.result import Result
    from bridge.errors import BridgeError, NoHost, WaitTimeout
    from bridge.protocol.agent_output import AgentOutput, Evidence
    from bridge.protocol.response import RequestFailed

__all__ = [
    "AgentOutput",
    "AsyncBridge",
    "Bridge",
    "BridgeError",
    "Evidence",
    "NoHost",
    "RequestFailed",
    "Result",
    "SubagentDefinition",
    "WaitTimeout",
    "ask",
    "load_subagent_definition",
    "spawn_agent",
    "start_agent",
]

_MODULES = {
    "agents.subagent_definition": ("SubagentDefinition", "load_subagent_definition"),
    "api.aio": ("AsyncBridge",),
    "api.bridge": ("Bridge", "ask", "spawn_agent", "start_agent"),
    "api.result": ("Result",),
    "errors": ("BridgeError", "NoHost", "WaitTimeout"),
    "protocol.agent_output": ("AgentOutput", "Evidence"),
    "protocol.response": ("RequestFailed",),
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    for module, names in _MODULES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"bridge.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
