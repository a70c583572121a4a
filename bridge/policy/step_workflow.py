"""The step that a conversation's workflow is in: what it allows, what concerns it.

Pure, and the standard library only: hooks ask this at every tool call while a workflow
is active, so conditions are imported only where a step has some.
`bridge.workflows.reader` compiles the workflow, `bridge.store.step_states` keeps it
beside the state, in one record: see `bridge.policy.step_record`.

The client gives a result in the form of each tool: a mapping for most of its own,
content blocks for those of MCP servers, whose text is often JSON. A tool of ours
answers with JSON, so that `tool_output.passed` means what it says.

An MCP tool is `server:tool` in the lists about servers. What a model needs to go on is
always allowed: see `_is_way_out`.

Source: measured on Claude Code 2.1.330, PostToolUse and PostToolUseFailure.
"""

from __future__ import annotations

import json

from bridge.policy.tool_classes import HANDBACK, is_own, usual_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from bridge.policy.condition import Shell
    from bridge.policy.rule_set import Whose
    from bridge.policy.step_record import (
        CompiledStep,
        Gate,
        GateRule,
        Handler,
        PrematureStop,
        StepRecord,
    )

    Json = dict[str, Any]


VERSION = 1
# Those of `StepRecord`, which only type checkers load.
_KEYS = (
    "schemaVersion run code status step visit rev session activatedAt by params "
    "settings message stops untold applied history problems entering late waits seal "
    "pending why endedAt"
)
KEYS = frozenset(_KEYS.split())
# What our own MCP server is called in lists about servers, however it is installed.
OWN_SERVER = "hostbridge"
FAILURE = "PostToolUseFailure"
TOOL_EVENTS = frozenset({"PostToolUse", FAILURE})
# Without the first, a model never learns of an MCP tool; with the others it answers.
_ALWAYS = frozenset({"ToolSearch", HANDBACK, "StructuredOutput"})
# Those of our own tools with which a model finds its way out of a step.
_WAY_OUT = frozenset({"get_variables", "set_variables", "status"})
_COMMANDS = frozenset({"vars", "workflow", "status"})
_MAX_NAMED = 8
# Said at an end while a deed has to wait.
_WAITS: PrematureStop = {
    "message": "What it does itself has to wait: try to end again.",
    "max": 3,
}


def step_of(record: Mapping[str, Any]) -> CompiledStep | None:
    """The step that the workflow is in; None if the record is no active one's."""
    code = record.get("code")
    if record.get("status") != "active" or not isinstance(code, dict):
        return None
    steps = code.get("steps")
    step: Any = steps.get(record.get("step")) if isinstance(steps, dict) else None
    is_step = isinstance(step, dict)
    found: CompiledStep | None = step if is_step else None
    return found


def mcp_name(tool: str) -> str | None:
    """A tool of MCP as `server:tool`; None for any other tool."""
    if is_own(tool):
        return f"{OWN_SERVER}:{tool.rpartition('__')[2]}"
    server, mark, name = tool.removeprefix("mcp__").partition("__")
    return f"{server}:{name}" if tool.startswith("mcp__") and mark else None


def refusal(
    record: StepRecord,
    fields: Json,
    whose: Callable[[], Whose],
    shell: Callable[[], Shell] = dict,
) -> str | None:
    """Why the step refuses a tool call; None if it allows it.

    `whose` and `shell` are asked only where a condition is evaluated.
    """
    step = step_of(record)
    tool = fields.get("tool_name")
    if step is None or not isinstance(tool, str) or tool in _ALWAYS:
        return None
    gate = step["gate"]
    why = _refused_tool(gate, tool)
    if why is None and gate["rules"]:
        why = _refused_by_rule(record, fields, whose, shell)
    if why is None or _is_way_out(tool, fields):
        return None
    return f"hostbridge: {_place(record)} {why}\n{_how_to_go_on(record, step)}"


def _place(record: StepRecord) -> str:
    return f"step {record['step']} of the workflow {record['code']['name']}"


def _refused_tool(gate: Gate, tool: str) -> str | None:
    """Why the lists of a gate refuse a tool."""
    mcp, called = mcp_name(tool), tool
    tool = usual_name(tool)
    if _fits(tool, gate["blocked"]) or (mcp and _fits(mcp, gate["blockedMcp"])):
        return f"refuses {called}."
    if _is_allowed(gate, tool, mcp):
        return None
    return (
        f"does not allow {called}; it allows {_listed(gate, is_mcp=mcp is not None)}."
    )


def _is_allowed(gate: Gate, tool: str, mcp: str | None) -> bool:
    """Whether the lists of what is allowed have a tool."""
    tools, servers = gate["tools"], gate["mcp"]
    if tools is not None and _fits(tool, tools):
        return True
    if mcp is None:
        return tools is None
    if servers is not None and _fits(mcp, servers):
        return True
    if not is_own(tool):
        return tools is None and servers is None
    # Our own tools are allowed, unless the list says which of them.
    return servers is None or not _speaks_of_ours(servers)


def _fits(name: str, globs: list[str]) -> bool:
    if name in globs:
        return True
    patterns = [glob for glob in globs if "*" in glob]
    if not patterns:
        return False
    from bridge.policy.condition_globs import matches

    return any(matches(name, each) for each in patterns)


def _speaks_of_ours(servers: list[str]) -> bool:
    return any(each.startswith(f"{OWN_SERVER}:") for each in servers)


def _listed(gate: Gate, *, is_mcp: bool) -> str:
    names = [*(gate["tools"] or ())]
    if is_mcp or gate["tools"] is None:
        names += gate["mcp"] or ()
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return (", ".join(names[:_MAX_NAMED]) + more) or "no tool but those that always are"


def _is_way_out(tool: str, fields: Json) -> bool:
    """Whether a call lets a model go on: its variables, its answer, the state."""
    if is_own(tool):
        return tool.rpartition("__")[2] in _WAY_OUT
    if tool != "Bash":
        return False
    tool_input = fields.get("tool_input")
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    words = command.split(None, 2)[:2] if isinstance(command, str) else []
    if len(words) < 2 or words[0] != "hostbridge" or words[1] not in _COMMANDS:  # noqa: PLR2004 - program and command
        return False
    from bridge.policy.shell_signs import shell_sign

    return shell_sign(str(command)) is None


def _refused_by_rule(
    record: StepRecord,
    fields: Json,
    whose: Callable[[], Whose],
    shell: Callable[[], Shell],
) -> str | None:
    for rule, answer in _answers(record, fields, whose, shell, block=True):
        # What may be the case counts: the step refuses it.
        if answer in {"yes", "may"}:
            return f"refuses this call: {rule['reason']}"
        if answer != "no":
            where = f"{rule['text']!r} ({rule['at']})"
            return f"refuses this call: {where} cannot be asked: {answer}"
    return None


def _answers(
    record: StepRecord,
    fields: Json,
    whose: Callable[[], Whose],
    shell: Callable[[], Shell],
    *,
    block: bool,
) -> Iterator[tuple[GateRule, str]]:
    """Rules of the step about a call: yes, no, may, or why one cannot be asked."""
    step, scope = step_of(record), None
    for rule in step["gate"]["rules"] if step else ():
        tools = rule.get("tools")
        name = usual_name(str(fields.get("tool_name")))
        if rule["block"] is block and (not tools or _fits(name, tools)):
            scope = scope or scope_in(record, fields, whose())
            yield rule, _answer(rule["when"], scope, shell())


def _answer(code: Any, scope: Mapping[str, Any], shell: Shell) -> str:
    """Whether a condition holds: yes, no, may, or why it cannot be asked."""
    from bridge.policy.condition import ConditionError, decide

    try:
        return decide(code, scope, shell)
    except ConditionError as error:
        return error.message


def warnings(
    record: StepRecord,
    fields: Json,
    whose: Callable[[], Whose],
    shell: Callable[[], Shell] = dict,
) -> list[str]:
    """What the step's rules say about a call that it lets pass."""
    answers = _answers(record, fields, whose, shell, block=False)
    return [str(rule["reason"]) for rule, answer in answers if answer == "yes"]


def scope_in(record: StepRecord, fields: Json, whose: Whose) -> Json:
    """What conditions and texts of a workflow can ask about an event."""
    from bridge.policy.rule_set import scope_of

    scope = scope_of(fields, whose)
    if fields.get("hook_event_name") in TOOL_EVENTS:
        scope["tool_output"] = output_of(fields)
    return place_in(scope, record)


def place_in(scope: Json, record: StepRecord) -> Json:
    """The scope, with the workflow's own names as they are now.

    `vars`, `state` and `session_id` are how public files ask for what is there; a
    variable may have one of the last two names.
    """
    variables, step = scope["variables"], record["step"]
    event = scope["event"]["data"].get("hook_event_name")
    usual = {"state": {"variables": variables, "step": step}}
    usual["session_id"] = scope["session"]["id"]
    own = {
        "tool_failed": event == FAILURE,
        "workflow": record["code"]["name"],
        "current_step": step,
        "vars": variables,
        "settings": record.get("settings", {}),
    }
    return usual | scope | own


def handlers(step: CompiledStep, fields: Json) -> list[Handler]:
    """The `onTool` entries of a step that an event is about; conditions not asked."""
    event, tool = fields.get("hook_event_name"), fields.get("tool_name")
    if event not in TOOL_EVENTS or not isinstance(tool, str):
        return []
    ok, mcp = event == "PostToolUse", mcp_name(tool)
    return [
        each
        for each in step["onTool"]
        if each["ok"] in (None, ok)
        and (
            _fits(tool, each["tools"]) or (mcp is not None and _fits(mcp, each["mcp"]))
        )
    ]


def event_key(fields: Json) -> str:
    """What an event is known by, so that it counts once; empty if it has no id."""
    call = fields.get("tool_use_id")
    if isinstance(call, str) and call:
        return f"{fields.get('hook_event_name')} {call}"
    return ""


def concerns(
    record: StepRecord,
    fields: Json,
    whose: Callable[[], Whose],
    shell: Callable[[], Shell] = dict,
) -> bool:
    """Whether an event, after a tool call or a prompt, has anything done about it."""
    if any(record.get(name) for name in ("pending", "untold", "entering", "waits")):
        return True
    step = step_of(record)
    if step is None:
        return False
    key = event_key(fields)
    if key and key in record.get("applied", ()):
        return False
    if handlers(step, fields):
        return True
    conditions = [each["when"] for each in step["transitions"]]
    exit_code = record["code"].get("exit")
    conditions += [] if exit_code is None else [exit_code]
    if not conditions:
        return False
    scope = scope_in(record, fields, whose())
    # That one cannot be asked is to be reported.
    answers = (_answer(each, scope, shell()) for each in conditions)
    return any(answer not in {"no", "may"} for answer in answers)


def _how_to_go_on(record: StepRecord, step: CompiledStep) -> str:
    ways = [f"to {t['to']} when {t['text']}" for t in step["transitions"]]
    way = f"It goes on {'; '.join(ways[:_MAX_NAMED])}. " if ways else ""
    own = sorted(record["code"]["variables"].keys() - record["code"]["owners"].keys())
    if own:
        way += (
            "You set variables with the tool set_variables of hostbridge, or with "
            "`hostbridge vars set NAME:=VALUE`."
        )
    return way.strip() or "It ends when a person runs `hostbridge workflow end`."


def stop_refusal(record: StepRecord) -> PrematureStop | None:
    """How the step says to go on at a premature end of a turn: {message, max}.

    None if nothing is said, or it was said as often as it may be.
    """
    step = step_of(record)
    if step is None:
        return None
    said = step.get("stop") or record["code"].get("stop")
    if record.get("waits"):
        said = _WAITS
    if said is None or record.get("stops", 0) >= said["max"]:
        return None
    return said


def output_of(fields: Json) -> Any:
    """The result of the call that an event of the client's is about.

    A call that failed gives `{"error": TEXT}`; an event that is no end of a call None.
    """
    event = fields.get("hook_event_name")
    if event not in TOOL_EVENTS:
        return None
    if event == FAILURE:
        return {"error": fields.get("error")}
    response = fields.get("tool_response")
    tool = str(fields.get("tool_name"))
    if not tool.startswith("mcp__"):
        return response
    found = _of_server(response)
    if not is_own(tool):
        return found
    from bridge.policy.earlier_names import with_old_names

    return with_old_names(found)


def _of_server(response: Any) -> Any:
    """The result of an MCP tool: its structured content, or else its text."""
    if isinstance(response, dict):
        if response.get("structuredContent") is not None:
            return response["structuredContent"]
        if not isinstance(response.get("content"), list):
            return response
        response = response["content"]
    if isinstance(response, str):
        return _parsed(response)
    if not isinstance(response, list):
        return response
    texts = [text for each in response if (text := _text_of(each)) is not None]
    return _parsed(texts[0]) if len(texts) == 1 else [_parsed(text) for text in texts]


def _text_of(block: Any) -> str | None:
    text = block.get("text") if isinstance(block, dict) else None
    return text if isinstance(text, str) else None


def _parsed(text: str) -> Any:
    """The JSON object or list that a text is, or else the text itself."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
