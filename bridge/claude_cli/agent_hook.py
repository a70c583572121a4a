"""The hook of our own `claude -p`: rules, and what its definition forbids or grants.

    python -I -S agent_hook.py AGENT < event

AGENT is what `claude_executor.hook_of` says of the agent, as JSON. The client gets this
hook by `--settings`; hooks that the user has installed do nothing there. It serves no
queue. Before a call it denies what the definition keeps from the agent, asks the rules,
and decides by those grants that name their options (`policy/command_options.py`), which
the client does not know. A call that they cover is allowed, one that is close is denied
with the reason. So is what the client would grant too freely: a command outside the
project, whose programs a grant names, and a change of what governs sessions. About any
other call it says nothing, and the client decides: in the mode `dontAsk` it denies what
nobody granted.

The first look needs the standard library only. What cannot be decided is denied.
"""

from __future__ import annotations

import json
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Json = dict[str, Any]

# The tool by which the client takes an answer of a form: the agent ends with it.
_ANSWER = "StructuredOutput"
# The conversation was compacted: only a step has something to say of it.
_ANEW = "SessionStart"
# Of which a step may have nothing to say.
_CALLS = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure"})
# Below the client's own limit, which would let the call through; a wait takes more.
_TIME_LIMIT_S = 25


def main(argument: str) -> None:
    """Answer one event."""
    from bridge.bound.call_notes import as_call, note_start
    from bridge.bound.gate import denial, read_all

    before, told = True, None
    try:
        agent = json.loads(argument)
        fields = as_call(json.loads(read_all().decode("utf-8", "replace")))
        before = fields.get("hook_event_name") == "PreToolUse"
        if before and fields.get("tool_name") == "Bash":
            # The client prints what was called, and not where that started.
            note_start(f"{agent['place'][1]}/agents/", fields, agent["requestId"])
        if (refused := refusal(agent, fields)) is not None:
            said = denial(refused)
        elif _is_concerned(agent, fields):
            # From here on, with all that is installed.
            import site

            site.main()
            said, told = ruled(agent, fields)
        else:
            said = decision(fields, agent["place"][0], agent["allow"])
    except Exception:  # noqa: BLE001 - the call waits for an answer
        said = denial("hostbridge could not look at this call. Leave it; go on.")
        said = said if before else b""
    os.write(1, said)
    if told is not None:
        told()


def refusal(agent: Json, fields: Json) -> str | None:
    """Why the agent may not make this call; None if it may, as far as we know."""
    from bridge.policy.tool_lists import permits

    tool = fields.get("tool_name")
    if fields.get("hook_event_name") != "PreToolUse" or not isinstance(tool, str):
        return None
    if tool == _ANSWER:
        return None
    if not os.path.lexists(_record(agent)):
        return "hostbridge: this request has ended; stop working."
    if permits(agent["tools"], agent["blockedTools"], tool):
        return None
    return (
        f"hostbridge: the definition of this agent keeps {tool} from it. Work without "
        "it, or answer that you are blocked and by what."
    )


def _is_concerned(agent: Json, fields: Json) -> bool:
    """Whether a step or a rule has something to say, or rules must be read first."""
    from bridge.rules.freshness import FOLDER, is_fresh

    state, request_id, event = agent["place"][1], agent["requestId"], _event(fields)
    has_steps = os.path.lexists(f"{state}/agents/{request_id}.steps")
    if has_steps and event not in _CALLS:
        return True
    if event == _ANEW:
        return False
    if not is_fresh(_Files(agent), _Files(agent)):  # type: ignore[arg-type]
        return True
    # The sign that any rule is about it.
    has_rules = os.path.lexists(f"{state}/{FOLDER}/{event}")
    if not (has_steps or has_rules):
        return False
    from bridge.bound.call_notes import load
    from bridge.bound.first_look import fires, has_step, nested

    request = load(_record(agent)) or {}
    run = {**agent["run"], "variables": request.get("variables")}
    seen = {**fields, "hook_event_name": event, "agent_id": request_id}
    in_own = {**run, "nested": bool(fields.get("agent_id"))}
    return (has_steps and has_step(event, state, seen, in_own)) or (
        has_rules and fires(event, state, seen, nested(run, _inside(fields)))
    )


class _Files:
    """What tells whether the rules were read since they changed."""

    def __init__(self, agent: Json) -> None:
        project, self.state, _guard, _reason, main_folder = agent["place"]
        self.home = agent["home"]
        self.owner = main_folder or project


def _record(agent: Json) -> str:
    return f"{agent['place'][1]}/processing/{agent['requestId']}.json"


def _event(fields: Json) -> str:
    """What an event means for the agent, which is the client's only conversation.

    Source: measured on Claude Code 2.1.330: `Stop` comes after StructuredOutput, too,
    and what it blocks then has no effect.
    """
    name = str(fields.get("hook_event_name"))
    if fields.get("tool_name") == _ANSWER:
        return "SubagentStop" if name == "PreToolUse" else ""
    if name == "Stop":
        # Without words it follows the answer, and comes too late to stop that.
        return "SubagentStop" if fields.get("last_assistant_message") else ""
    return name


def _inside(fields: Json) -> str:
    """The agent that ours has started, if the event is from there."""
    return str(fields.get("agent_type", "")) if fields.get("agent_id") else ""


def ruled(agent: Json, fields: Json) -> tuple[bytes, Callable[[], None] | None]:
    """What step and rules make of an event, and what to call once that is out."""
    from pathlib import Path

    from bridge.bound.agent_rules import AgentRules
    from bridge.config import Settings
    from bridge.protocol.hook_output import (
        MAX_CONTEXT,
        HookOutput,
        block,
        deny,
        with_context,
    )
    from bridge.protocol.ids import check_id
    from bridge.store.config_file import in_files
    from bridge.store.location import Place
    from bridge.store.store import Store

    place = Place.of_words(agent["place"])
    settings, _problems = in_files(Settings.from_environment(), place.state)
    settings = settings.with_(home=Path(agent["home"]))
    store = Store(place, lock_wait_s=2.0, lease_s=settings.lease_s)
    request = store.find_unfinished(check_id(agent["requestId"]))
    if request is None:
        return b"", None
    run = {**agent["run"], "variables": request.variables}
    rules = AgentRules(settings, store, request.request_id, run)
    event = _event(fields)
    ruling = rules.ask(event, inside=_inside(fields), **fields)
    if fields["hook_event_name"] != "PreToolUse":
        output = block(ruling.block) if ruling.block else HookOutput()
    elif ruling.block is not None:
        output = deny(ruling.block, limit=MAX_CONTEXT)
    else:
        own = decision(fields, agent["place"][0], agent["allow"])
        output = HookOutput(own)
    if ruling.context:
        output = with_context(output, str(fields["hook_event_name"]), ruling.context)
    return output.stdout, ruling.told


def decision(event: Json, project: str, rules: list[str]) -> bytes:
    """What grants say about a call that the client would judge otherwise."""
    tool, tool_input = event.get("tool_name"), event.get("tool_input")
    is_call = event.get("hook_event_name", "PreToolUse") == "PreToolUse"
    if not rules or not is_call:
        return b""
    if not isinstance(tool, str) or not isinstance(tool_input, dict):
        return b""
    from bridge.bound.gate import denial
    from bridge.policy.client_grants import starts_elsewhere, writes_what_governs
    from bridge.policy.permission_rules import command_specs, names_options
    from bridge.policy.permissions import Call, is_granted, why_not_granted
    from bridge.store.real_path import real_path

    cwd = event.get("cwd")
    start = cwd if isinstance(cwd, str) and cwd else project
    call = Call(
        tool,
        tool_input,
        project,
        lambda path: real_path(os.path.join(start, path)),
    )
    specs = command_specs(rules)
    is_bound = None not in specs if tool == "Bash" else not is_granted(rules, call)
    if is_bound and writes_what_governs(call):
        why: str | None = "it would change what governs sessions, or nobody can tell"
    elif tool != "Bash":
        why = None
    elif is_granted(filter(names_options, rules), call):
        allowed = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
        return json.dumps({"hookSpecificOutput": allowed}).encode()
    elif specs and is_bound and starts_elsewhere(rules, call):
        why = f"a part of it would start in another folder than {project}"
    else:
        why = why_not_granted(filter(names_options, rules), call)
    if why:
        reason = f"hostbridge: {tool} is not granted to this agent: {why}"
        return denial(reason[:500])
    return b""


if __name__ == "__main__":
    signal.alarm(_TIME_LIMIT_S)
    # Under -I our package is not on the path; it goes behind the standard library.
    sys.path.append(os.path.abspath(__file__ + "/../../.."))
    main(sys.argv[1])
