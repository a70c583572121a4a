"""Tasks, our MCP server, and models that go through the steps of shipped workflows."""

import json
from collections.abc import Callable
from typing import Any

from mcpstage import OURS, said

from bridge.testing.stage.models import launch, new_tokens
from bridge.testing.stage.replies import Answer, Reply, ToolUse, reply, tool_use
from bridge.testing.stage.turns import ApiRequest

# What was said so far -> a call's arguments.
Given = dict[str, Any] | Callable[[ApiRequest], dict[str, Any]]
SPEC = {
    "subtasks": [
        {"title": "greet() says hello", "validation_criteria": "greet.py has greet()"},
        {"title": "greet() is tested", "depends_on": [0]},
    ]
}
FOUND = {
    "answer": "Nothing greets yet.",
    "findings": [{"file": "app.py", "line": 1, "what": "it is empty"}],
    "confidence": "high",
    "files": [{"file": "app.py", "why": "greet() belongs there"}],
    "patterns": [],
    "test_locations": ["tests/"],
    "dependencies": [],
    "interfaces": [],
}


def ours(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """A call of a tool of ours."""
    return OURS + name, arguments


def setting(**values: Any) -> tuple[str, dict[str, Any]]:
    return ours("set_variables", values=values)


def through(
    steps: dict[str, list[tuple[str, Given]]], answer: Any, task: str = "#1"
) -> Callable[[ApiRequest], Answer]:
    """A thread that does what its workflow says.

    `steps` has, by words of a step's message, the calls that follow it: each list is
    made once for each time that these words were said. It starts the agents that it is
    told to start, and looks at a validation until that has ended. At the end it gives
    `answer`.
    """
    done: dict[str, int] = dict.fromkeys(steps, 0)
    queue: list[tuple[str, Given]] = []

    def script(request: ApiRequest) -> Answer:
        if tokens := new_tokens(request):
            return reply(*map(launch, tokens))
        words = said(request)
        if not queue:
            for mark, calls in steps.items():
                if words.count(mark) > done[mark]:
                    done[mark] = words.count(mark)
                    queue.extend(calls)
        if not queue and is_looked_at(request):
            queue.append(ours("get_validation_status", task_id=task))
        if not queue:
            return reply(answer if isinstance(answer, str) else json.dumps(answer))
        tool, given = queue[0]
        if tool.startswith(OURS) and tool not in request.tools:
            if "ToolSearch" not in request.tools:
                return Reply((tool_use("Glob", {"pattern": "*"}),), delay_s=0.2)
            query = {"query": f"select:{tool}", "max_results": 5}
            return Reply((tool_use("ToolSearch", query),), delay_s=0.2)
        queue.pop(0)
        use = ToolUse(tool, given(request) if callable(given) else given)
        return Reply((use,), delay_s=0.2 if "status" in tool else 0.0)

    return script


def is_looked_at(request: ApiRequest) -> bool:
    """Whether a validation is still running, or its validator has just ended."""
    told = request.tool_results[-1].text if request.tool_results else ""
    return '"state":"running"' in told or "[Subagent hand-back]" in told
