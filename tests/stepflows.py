"""Step workflows for tests: a text compiled, and a conversation that records deeds."""

from pathlib import Path
from textwrap import dedent
from typing import Any, ClassVar

from bridge.policy.rule_set import Whose
from bridge.store.store import Store
from bridge.store.variables import Holder, values_of
from bridge.tasks.tool_table import call
from bridge.tasks.tools import ToolContext
from bridge.workflows.conversation import Conversation
from bridge.workflows.reader import StepWorkflow, read_workflow

HOLDER = Holder.session("s-1")

# The loop of a validation: it counts, and escalates at its bound.
LOOP = """
    name: validate-and-fix
    variables:
      target_task_id: null
      fixed: false
      validation_passed: false
      validation_iteration: 0
      max_iterations: 3
    owners: {max_iterations: tool}
    steps:
      - name: validate
        allowed_tools: [Read, Grep, "mcp__*__validate_task"]
        on_enter:
          - inject_message: "Validate {{ target_task_id }}."
          - increment_variable: validation_iteration
          - set_variable: {fixed: false, validation_passed: null}
        on_tool:
          check: &result
            set_variable: {validation_passed: tool_output.is_valid}
          validate_task: *result
        transitions:
          - {to: passed, when: validation_passed}
          - to: escalate
            when: validation_passed == false and validation_iteration >= max_iterations
          - {to: fix, when: tool_output.is_valid == false}
      - name: fix
        on_enter: [{inject_message: "Mend it ({{ validation_iteration }})."}]
        on_exit: [{inject_message: "Mended."}]
        transitions: [{to: validate, when: fixed}]
      - {name: passed}
      - {name: escalate}
    exit_condition: current_step in ['passed', 'escalate']
    on_premature_stop: {message: "Go on with {{ target_task_id }}.", max: 2}
"""


def read(text: str, name: str = "one.yaml", **more: Any) -> StepWorkflow:
    """A step workflow, as the user's own."""
    return read_workflow(dedent(text).lstrip("\n"), Path("/w") / name, "user", **more)


def compiled(text: str) -> dict[str, Any]:
    """The compiled form of a text without any problem."""
    found = read(text)
    assert [str(each) for each in found.errors] == []
    return found.compiled()


class Deeds:
    """Remembers what was done, by key: a repeated deed returns the first result."""

    theirs: ClassVar[dict[str, str]] = {}

    def __init__(self, results: dict[str, Any] | None = None) -> None:
        self.results = results or {}
        self.done: dict[str, tuple[str, Any]] = {}

    def act(self, action: dict[str, Any], given: dict[str, Any], key: str) -> Any:
        name = action.get("tool") or given.get("agent")
        result = self.results.get(name)
        if isinstance(result, Exception):
            raise result
        self.done.setdefault(key, (name, given))
        return result


def conversation(
    store: Store, deeds: Deeds | None = None, holder: Holder = HOLDER, **more: Any
) -> Conversation:
    """The conversation of a session whose variables are on disk."""
    return Conversation(
        holder,
        holder.owner_id,
        lambda: Whose(values_of(store, holder)),
        act=(deeds or Deeds()).act,
        **more,
    )


def after(tool: str, output: Any = None, call: str = "", **more: Any) -> dict[str, Any]:
    """The client's event after a tool call; `call` is its id."""
    return {
        "hook_event_name": "PostToolUse",
        "tool_name": tool,
        "tool_input": {},
        "tool_use_id": call,
        "tool_response": output,
        **more,
    }


def before(tool: str, **tool_input: Any) -> dict[str, Any]:
    """The client's event before a tool call."""
    return {
        "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": tool_input,
    }  # fmt: skip


def prompt(text: str = "go on") -> dict[str, Any]:
    """The client's event of a person's prompt."""
    return {"hook_event_name": "UserPromptSubmit", "prompt": text}


def acting(context: ToolContext) -> Any:
    """Do actions: calls of our tools here, no agents.

    A deed that is done again under its key changes nothing again.
    """

    def act(action: dict[str, Any], given: dict[str, Any], key: str) -> Any:
        if action["do"] == "spawn_agent":
            raise ValueError("no agent can be started here")
        return call(context, action["tool"], given, key=key)

    return act
