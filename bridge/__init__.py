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
    from bridge.api.flow_result import FlowResult
    from bridge.api.options import AskOptions, SubmitOptions, WaitOptions
    from bridge.api.result import Result
    from bridge.api.run_options import BuildOptions, RunOptions, ValidateOptions
    from bridge.api.validation_result import BuildResult
    from bridge.change.scope import Scope
    from bridge.errors import (
        BadDefinition,
        BadSetting,
        BridgeError,
        CannotContinue,
        CannotWaitHere,
        DepthExceeded,
        ExtraMissing,
        InvalidRequest,
        NewerSchema,
        NoHost,
        NoQueue,
        NoRoute,
        NotShared,
        NotTrusted,
        StateRefused,
        StateUnavailable,
        StateVanished,
        UnclearAnswer,
        UnknownAgent,
        UnknownRequest,
        WaitTimeout,
    )
    from bridge.flow.problems import InvalidFlow
    from bridge.pipelines.problems import InvalidWorkflow
    from bridge.protocol.agent_output import AgentOutput, Evidence
    from bridge.protocol.outcome import Progress
    from bridge.protocol.question import Question
    from bridge.protocol.request import Node
    from bridge.protocol.response import RequestFailed, Response
    from bridge.protocol.status import Stage
    from bridge.store.step_states import WorkflowActive
    from bridge.tasks.circles import TaskCircle
    from bridge.tasks.database import TasksBusy, TasksDamaged
    from bridge.tasks.task import (
        NewTask,
        Task,
        TaskClaimed,
        TaskRefused,
        UnknownTask,
    )
    from bridge.validation.report import (
        Check,
        Issue,
        Severity,
        Validation,
        ValidatorReport,
        Verdict,
    )

__all__ = [
    "AgentOutput", "AskOptions", "AsyncBridge", "BadDefinition", "BadSetting", "Bridge",
    "BridgeError", "BuildOptions", "BuildResult", "CannotContinue", "CannotWaitHere",
    "Check", "DepthExceeded", "Evidence", "ExtraMissing", "FlowResult", "InvalidFlow",
    "InvalidRequest", "InvalidWorkflow", "Issue", "NewTask", "NewerSchema", "NoHost",
    "NoQueue", "NoRoute", "Node", "NotShared", "NotTrusted", "Progress", "Question",
    "RequestFailed",
    "Response", "Result", "RunOptions", "Scope", "Severity", "Stage", "StateRefused",
    "StateUnavailable", "StateVanished", "SubagentDefinition", "SubmitOptions", "Task",
    "TaskCircle", "TaskClaimed", "TaskRefused", "TasksBusy", "TasksDamaged",
    "UnclearAnswer",
    "UnknownAgent", "UnknownRequest", "UnknownTask", "ValidateOptions", "Validation",
    "ValidatorReport", "Verdict", "WaitOptions", "WaitTimeout", "WorkflowActive", "ask",
    "load_subagent_definition", "spawn_agent", "start_agent",
]  # fmt: skip

# All others are in `errors`.
_MODULES = {
    name: module
    for module, names in {
        "protocol.agent_output": "AgentOutput Evidence",
        "api.options": "AskOptions SubmitOptions WaitOptions",
        "api.run_options": "BuildOptions RunOptions ValidateOptions",
        "api.flow_result": "FlowResult",
        "api.aio": "AsyncBridge",
        "api.bridge": "Bridge ask spawn_agent start_agent",
        "flow.problems": "InvalidFlow",
        "pipelines.problems": "InvalidWorkflow",
        "protocol.request": "Node",
        "protocol.outcome": "Progress",
        "protocol.question": "Question",
        "protocol.response": "RequestFailed Response",
        "api.result": "Result",
        "api.validation_result": "BuildResult",
        "change.scope": "Scope",
        "validation.report": "Check Issue Severity Validation ValidatorReport Verdict",
        "protocol.status": "Stage",
        "store.step_states": "WorkflowActive",
        "tasks.circles": "TaskCircle",
        "tasks.database": "TasksBusy TasksDamaged",
        "tasks.task": "NewTask Task TaskClaimed TaskRefused UnknownTask",
        "agents.subagent_definition": "SubagentDefinition load_subagent_definition",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"bridge.{_MODULES.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    """The public names, also those that are not loaded yet."""
    return __all__
