"""The command line of `claude -p` for one request. Pure.

It does not contain the prompt: anybody on the machine can read a command line. In the
mode `dontAsk` there are no dialogs: what is not granted is denied, and the agent goes
on.

Source: `claude --help`, 2.1.330; `--max-turns` is not listed there, but works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from bridge.agents.search_tools import search_note
from bridge.bound.answer_wait import WAIT_S
from bridge.bound.call_notes import SKILL_COMMAND
from bridge.bound.gate import denial
from bridge.policy.permission_rules import names_options
from bridge.policy.tool_names import has_own_tools, on_host
from bridge.protocol.contract import OUTPUT_NOTES, answer_schema, full_prompt
from bridge.protocol.names import GENERAL, INHERIT, is_client_model
from bridge.protocol.request import Request

if TYPE_CHECKING:
    from bridge.agents.definition import Definition

# One argument of a command line has at most 128 KiB on Linux.
_MAX_SCHEMA_BYTES = 100_000
# Where rules are asked, and in the first two our limits.
_HOOKED = (
    "PreToolUse", SKILL_COMMAND, "PostToolUse", "PostToolUseFailure", "SubagentStop",
    "Stop",
)  # fmt: skip
# The client would let a call through whose hook has failed: the interpreter does not
# start, the time is over, or somebody else than the client has ended it.
_OR_DENY = """\
exec 3<&0
trap 'kill "$!"' HUP INT TERM
"$@" <&3 3<&- &
wait "$!" || printf %s "$0\"
"""
_DENIAL = denial(
    "hostbridge failed, or took too long, and this call needs it. Leave it; go on."
).decode()
# The API accepts no tool schema with one of these at its top.
_COMBINED = frozenset({"anyOf", "oneOf", "allOf", "not", "$ref", "$id"})

# The name of our MCP server, by which definitions call its tools.
OWN_NAME = "hostbridge"

# With these only the user's own settings are used, and those of `--settings`: nothing
# of the folder is read or run. (`--safe-mode` still runs the key helper.)
WITHOUT_THE_FOLDER = ("--setting-sources", "user", "--strict-mcp-config")


def command_line(
    program: str,
    request: Request,
    definition: Definition | None = None,
    *,
    hook: Sequence[str] = (),
    server: Mapping[str, Any] | None = None,
    is_trusted: bool = True,
    resumes: str = "",
) -> list[str]:
    """The program and its arguments.

    `hook` is the command of our hook, `server` how the client starts our MCP server, if
    the definition has tools of it; `is_trusted` is whether the folder's own files are
    used. `resumes` is the session of the agent that goes on, if it does.
    """
    command = [program, "-p", "--output-format", "json", "--verbose"]
    command += ["--permission-mode", "dontAsk"]
    if not is_trusted:
        command += WITHOUT_THE_FOLDER
    if request.context_from is not None and request.session is not None:
        # Of a fork nothing stays: the session alone has the conversation.
        command += ["--resume", request.session, "--fork-session"]
        command += ["--no-session-persistence"]
    schema = structured_schema(request)
    if schema is not None:
        command += ["--json-schema", orjson.dumps(schema).decode()]
    model = wanted_model(request)
    if model is not None and is_client_model(model):
        command += ["--model", model]
    settings: dict[str, Any] = _hooks(hook) if hook else {}
    if definition is not None:
        if server is not None and has_own_tools(definition.tools or ()):
            servers = {"mcpServers": {OWN_NAME: server}}
            command += ["--mcp-config", orjson.dumps(servers).decode()]
        command += _of_definition(definition, settings)
    elif request.agent_type != GENERAL:
        command += ["--agent", request.agent_type]
    if resumes:
        command += ["--resume", resumes]
    if settings:
        command += ["--settings", orjson.dumps(settings).decode()]
    return command


def prompt_of(request: Request, definition: Definition | None = None) -> str:
    """What the client reads on stdin.

    If it cannot be given the schema, the prompt asks for the form in words.
    """
    asked = request.spoken
    # `--tools` gives it Grep and Glob, unless it has Bash as well.
    note = definition and search_note(definition, has_search=True)
    if note:
        asked = f"{asked}\n\n{note}"
    if structured_schema(request) is None:
        may_ask = request.is_told_to_ask
        return full_prompt(asked, request.answer_schema, may_ask=may_ask)
    if request.answer_schema is None:
        return f"{asked}\n\n{OUTPUT_NOTES}"
    return asked


def structured_schema(request: Request) -> dict[str, Any] | None:
    """The schema for the client's own check; None if it cannot make it.

    The answer becomes the input of a tool, which is an object. The client knows JSON
    Schema draft 7, and refuses one that names another.
    """
    if request.may_ask:
        # The tool would take no question.
        return None
    schema = dict(answer_schema(request.answer_schema))
    schema.pop("$schema", None)
    if schema.get("type") != "object" or _COMBINED & schema.keys():
        return None
    return schema if len(orjson.dumps(schema)) <= _MAX_SCHEMA_BYTES else None


def wanted_model(request: Request) -> str | None:
    """The model that is asked for by name; None for the client's default."""
    return None if request.model in (None, INHERIT) else request.model


def _of_definition(definition: Definition, settings: dict[str, Any]) -> list[str]:
    """Flags of a definition; what it grants goes into the settings."""
    flags = []
    if definition.subagent_type not in (None, GENERAL):
        flags += ["--agent", str(definition.subagent_type)]
    if definition.max_turns is not None:
        flags += ["--max-turns", str(definition.max_turns)]
    if definition.tools is not None:
        flags += ["--tools", ",".join(on_host(definition.tools))]
    theirs = [rule for rule in definition.allow if not names_options(rule)]
    if theirs:
        # Not by --allowedTools: it splits a rule at a space or comma after the first
        # `)`, and grants the parts.
        settings["permissions"] = {"allow": theirs}
    if definition.blocked_tools:
        flags += ["--disallowedTools", *on_host(definition.blocked_tools)]
    return flags


def _hooks(hook: Sequence[str]) -> dict[str, Any]:
    """The settings by which the client asks our hook."""

    def entry(program: str, *arguments: str) -> list[dict[str, Any]]:
        command = {"command": program, "args": arguments}
        return [{"hooks": [{"type": "command", **command, "timeout": WAIT_S}]}]

    denied = entry("/bin/sh", "-c", _OR_DENY, _DENIAL, *hook)
    # The step that the agent is in is said again.
    compacted = [{"matcher": "compact", **each} for each in entry(*hook)]
    hooked = {event: entry(*hook) for event in _HOOKED}
    hooked |= {**dict.fromkeys(_HOOKED[:2], denied), "SessionStart": compacted}
    # Where the user has switched hooks off, nothing would hold the agent.
    return {"hooks": hooked, "disableAllHooks": False}
