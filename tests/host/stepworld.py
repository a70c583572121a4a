"""Step workflows in hooks without a client: begun in the session, or by an agent."""

import json
from typing import Any

from hookworld import HookWorld

from bridge.host.conversations import conversation_in
from bridge.store import step_states
from bridge.store.variables import Holder, set_variables, values_of
from bridge.workflows import progress
from bridge.workflows.progress import WorkflowProgress
from bridge.workflows.reader import find_workflow

# Only looking, until a model says that it has seen enough; then anything.
TWO = """
name: two
variables: {seen: false, done: false}
steps:
  - name: look
    allowed_tools: [Read, Grep]
    on_enter: [{inject_message: Look around first.}]
    transitions: [{to: work, when: seen}]
  - name: work
    allowed_tools: all
    on_enter: [{inject_message: Now change it.}]
    transitions: [{to: complete, when: done}]
  - name: complete
exit_condition: current_step == 'complete'
"""


# It says, twice at the most, that a turn may not end yet.
STOPS = TWO.replace(
    "exit_condition", "on_premature_stop: {message: Go on., max: 2}\nexit_condition"
)

WORKER = """\
description: works in steps
prompt: Work.
"""


def write(world: HookWorld, text: str, name: str = "two") -> None:
    """Make this a workflow of the user."""
    folder = world.bridge.settings.home / "workflows"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / f"{name}.yaml").write_text(text)


def define(world: HookWorld, text: str = TWO, more: str = "workflow: two\n") -> None:
    """Make an agent `worker` of the user that works through a workflow."""
    write(world, text)
    world.define("worker", WORKER + more)


def led(world: HookWorld, text: str = TWO) -> tuple[str, str]:
    """An agent that works through a workflow and has made a call; request and agent."""
    define(world, text)
    request, _, agent = world.begin(agent="worker")
    call(world, "Read", agent_id=agent)
    return request, agent


def activate(
    world: HookWorld, text: str = TWO, name: str = "two", **params: Any
) -> WorkflowProgress:
    """Begin a workflow in the session."""
    write(world, text, name)
    found = find_workflow(world.bridge.settings, world.project, name)
    (session,) = world.live()
    with world.store.open() as store:
        conversation = conversation_in(world.bridge.settings, store, session)
        return progress.begin(
            store, conversation, found.compiled(), params, by="person"
        )


def record(world: HookWorld, agent: str = "") -> dict[str, Any] | None:
    """The record of the session's workflow, or of an agent's."""
    return step_states.find(world.store, _holder(world, agent))


def step(world: HookWorld, agent: str = "") -> str | None:
    """The step that it is in; None if it is not active."""
    found = record(world, agent)
    return found["step"] if found and found["status"] == "active" else None


def say(world: HookWorld, agent: str = "", **values: Any) -> None:
    """Have the model set variables."""
    set_variables(world.store, _holder(world, agent), values, "model")


def variables(world: HookWorld, agent: str = "") -> dict[str, Any]:
    """The values of its variables."""
    return values_of(world.store, _holder(world, agent))


def _holder(world: HookWorld, agent: str) -> Holder:
    return Holder.agent(agent) if agent else Holder.session(world.session)


def call(world: HookWorld, tool: str, **fields: Any) -> tuple[bool, str]:
    """Call a tool: whether it may run, and what the model is told."""
    fields.setdefault("tool_use_id", f"toolu_{tool}_{len(str(fields))}")
    fields.setdefault("tool_input", {})
    said = world.say("PreToolUse", tool_name=tool, **fields)
    output = said.get("hookSpecificOutput", {})
    why = output.get("permissionDecisionReason", "")
    told = output.get("additionalContext", "")
    return output.get("permissionDecision") != "deny", f"{why}{told}"


def after(
    world: HookWorld, tool: str, response: Any = None, *, event: str = "PostToolUse",
    **fields: Any,
) -> str:  # fmt: skip
    """Have a tool end; what the model is told."""
    fields.setdefault("tool_use_id", f"toolu_{tool}_{len(str(fields))}_{response}")
    fields.setdefault("tool_input", {})
    fields["tool_response" if event == "PostToolUse" else "error"] = response
    said = world.say(event, tool_name=tool, **fields)
    told: str = said.get("hookSpecificOutput", {}).get("additionalContext", "")
    return told


def prompt(world: HookWorld, text: str = "go on") -> str:
    """Have the user say something; what the model is told beside it."""
    said = world.say("UserPromptSubmit", prompt=text)
    told: str = said.get("hookSpecificOutput", {}).get("additionalContext", "")
    return told


def of_server(value: Any) -> list[dict[str, str]]:
    """What an MCP tool answers, as the client tells it."""
    return [{"type": "text", "text": json.dumps(value)}]


def started(world: HookWorld, source: str, **fields: object) -> str:
    """What the model is told when a session starts, or goes on."""
    said = world.say("SessionStart", source=source, **fields)
    return str(said["hookSpecificOutput"]["additionalContext"])
