"""The quick answer to tool calls inside our subagents: standard library only.

Runs under `python -EPS` at every tool call while an agent of ours is at work, so its
imports are what a tool call costs. It reads the agent's record and the client's
`meta.json`, and hands everything that is not plainly allowed to the full library:

    PreToolUse          notes the call; says nothing where it may run. SendMessage may
                        continue an agent of its own: the full library notes that
    PostToolUse         notes the end of a Bash call
    PostToolUseFailure  the same
    PermissionRequest   hands on what an agent of ours asks
    SubagentStart       sees that one is continued after its end, and notes that

If this or the full hook fails, calls of our agents are denied: see `last_word`.
"""

from __future__ import annotations

import json
import os
import re
import time

from bridge.bound import call_notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Json = dict[str, Any]
    Full = Callable[[str, str, str, bytes], None]

MAX_EVENT = 64 * 1024 * 1024
_AGENT = frozenset({"Agent", "Task"})
# The full hook looks at these, for a hook of their own.
_NOT_HERE = frozenset({*_AGENT, "SubagentHandback"})
_MESSAGE = "SendMessage"
# Events that wait for a yes or a no.
_ASKS = frozenset({"PreToolUse", "PermissionRequest"})
# How a prompt names a request, and how its call is described (`request_tokens`).
TOKEN = b"bridge:"
DESCRIBED = "hostbridge: "
# What the client is to put before the words of a hook that wakes the session.
WOKEN = "From hostbridge, which the user installed:"
_WAKE = "<task-notification>\n<summary>"
# How deeply agents may be nested here; the limit that a user may set is lower.
_MAX_DEPTH = 20
_UNREAD = (
    "hostbridge could not read this call, and a rule or a step may be about it. Leave "
    "it."
)
_UNDECIDED = "hostbridge could not look at this call. Leave it; go on."


class _Unread(Exception):
    """A call that no rule can be asked about, where one might block it."""


def main(
    full: Full,
    event: str,
    state: str,
    kind: str = "",
    *tasks: str,
    begun: bytes = b"",
) -> None:
    """Answer one event, or go on as the full hook; `begun` is read of it already.

    `tasks` are what the library may have to do, apart from its agents' calls: "offer"
    if requests may wait for the main thread, "prompt" for a prompt while requests are
    under way, "launch" for the hook that sees Agent
    calls begin, "rules" if a rule may concern the event, "steps" if a step may, "wait"
    if the turn may wait for the agent of this call.
    """
    data = begun + read_all()
    if "wait" in tasks:
        os.write(1, _waited(state, data))
        return
    try:
        if _needs_full(event, state, data, tasks):
            full(event, kind, state, data)
    except _Unread:
        os.write(1, denial(_UNREAD))
    except Exception:  # noqa: BLE001 - the call waits for an answer
        os.write(1, last_word(event, state, data))


def _needs_full(event: str, state: str, data: bytes, tasks: Sequence[str]) -> bool:
    """Whether the library must see an event; a call that it need not see is noted."""
    if "prompt" in tasks:
        return not _is_own_wake(data)
    is_launch = "launch" in tasks
    is_due = "offer" in tasks or (is_launch and TOKEN in data.lower())
    has_agent = b'"agent_id"' in data
    # The main thread's events name no agent: the common case, before any parsing.
    is_asked = has_agent or "rules" in tasks or "steps" in tasks
    fields = _parse(data) if is_asked else {}
    agent_id, tool = fields.get("agent_id"), fields.get("tool_name", "")
    if not has_agent or agent_id is None or not isinstance(tool, str):
        return is_due or _is_bound(event, state, fields, tasks)
    if not call_notes.is_name(agent_id) or (not is_launch and tool in _NOT_HERE):
        return False
    agents = state + "/agents/"
    run = call_notes.load(agents + agent_id + ".json")
    if event == "SubagentStart":
        _hold_continued(agents, fields, agent_id)
        return False
    if event not in _ASKS:
        call_notes.after_bash(agents, fields, agent_id, ok=event == "PostToolUse")
        return _is_bound(event, state, fields, tasks, run)
    if run is None:
        has_token = is_launch and is_due
        if has_token or is_ours(agents, fields, agent_id):
            return True
        return _is_bound(event, state, fields, tasks)
    if event != "PreToolUse" or is_launch:
        return True
    from bridge.policy.tool_lists import is_unasked, permits, reads_unasked

    return (
        # It may mean something else to a newer hostbridge (`protocol.record`).
        run.get("schemaVersion", 1) != 1
        or "needs" in run
        or time.monotonic() * 1000 >= run.get("answerAt", 0)
        or is_off(state, fields)
        or os.path.lexists(f"{state}/responses/{run.get('requestId')}.json")
        # A call that could not be read has no name.
        or not tool
        or not permits(run.get("tools"), run.get("blockedTools"), tool)
        or tool == _MESSAGE
        or is_unasked(run, fields)
        or reads_unasked(run, fields)
        or _is_bound(event, state, fields, tasks, run)
        or not call_notes.before_tool(agents, fields, run, agent_id, tool)
    )


def _is_own_wake(data: bytes) -> bool:
    """Whether a prompt is what a hook of ours has just woken the session with.

    That hook has looked at all that a prompt makes us look at. The client's notice of
    an agent's end names the agent first.

    Source: measured on Claude Code 2.1.332.
    """
    prompt = _parse(data).get("prompt") if WOKEN.encode() in data else None
    return (
        isinstance(prompt, str)
        and prompt.startswith(_WAKE)
        and "<task-id>" not in prompt
        and "<agent-message" not in prompt
    )


def _waited(state: str, data: bytes) -> bytes:
    """What to say of the agent of a call, once it has answered."""
    import signal

    from bridge.bound.answer_wait import MAX_WAIT_S, wait

    signal.alarm(MAX_WAIT_S + 10)
    return wait(state, _parse(data))


def _is_bound(
    event: str, state: str, fields: Json, tasks: Sequence[str], run: Json | None = None
) -> bool:
    """Whether a rule or a step has something to say about an event."""
    if is_off(state, fields):
        return False
    if run and any((run.get("ruleSets") or {}).values()):
        from bridge.rules.freshness import is_set_changed

        if is_set_changed(state):
            return True
    has_rules, has_steps = "rules" in tasks, "steps" in tasks
    is_new = run is not None and bool(run.get("workflow"))
    if not (has_rules or has_steps or is_new):
        return False
    from bridge.bound.first_look import begins, fires, has_step, may_block

    if event == "PreToolUse" and "hook_event_name" not in fields:
        if has_steps or is_new or may_block(event, state):
            raise _Unread
        return False
    return (
        (has_rules and fires(event, state, fields, run))
        or (is_new and begins(state, run))
        or (has_steps and has_step(event, state, fields, run))
    )


def is_off(state: str, fields: Json) -> bool:
    """Whether the user switched the bridge off, here or in this session."""
    signs = ("off", f"sessions/{fields.get('session_id')}.off")
    return any(os.path.lexists(f"{state}/{sign}") for sign in signs)


def last_word(event: str, state: str, data: bytes) -> bytes:
    """What to answer when nothing could be decided: deny what is ours, or ruled.

    If let through, our agent's permission dialog would take the user's next key for a
    yes, or an agent would get a token as its prompt. The package may be gone by now.
    """
    try:
        fields = _parse(data)
        if event not in _ASKS or not _concerns_us(state, fields):
            from bridge.bound.first_look import may_refuse
            from bridge.policy.rule_mending import UNRULED

            if event != "PreToolUse" or is_off(state, fields):
                return b""
            if may_refuse(event, state, fields):
                return denial(UNRULED)
            from bridge.bound.first_look import refused_by_step

            refused = refused_by_step(state, fields)
            return b"" if refused is None else denial(refused)
    except Exception:  # noqa: BLE001 - what cannot be read at all is not ours
        return b""
    if event == "PreToolUse":
        return denial(_UNDECIDED)
    decision = {"behavior": "deny", "message": _UNDECIDED}
    output = {"hookEventName": event, "decision": decision}
    return json.dumps({"hookSpecificOutput": output}).encode()


def denial(reason: str) -> bytes:
    """The answer that refuses a call."""
    output = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    }
    return json.dumps({"hookSpecificOutput": output}).encode()


def _concerns_us(state: str, fields: Json) -> bool:
    agent_id = fields.get("agent_id")
    if agent_id is not None:
        return call_notes.is_name(agent_id) and is_ours(
            state + "/agents/", fields, agent_id
        )
    tool_input, tool = fields.get("tool_input"), fields.get("tool_name")
    field = "prompt" if tool in _AGENT else "message" if tool == _MESSAGE else ""
    prompt = tool_input.get(field) if isinstance(tool_input, dict) else None
    if not isinstance(prompt, str):
        return False
    return any(_is_awaited(state, prompt, named) for named in _tokens(prompt))


def _tokens(prompt: str) -> list[str]:
    """What follows each token prefix, as far as it can be an id."""
    parts = re.split(TOKEN.decode() + " ?", prompt, flags=re.IGNORECASE)[1:]
    ends = (
        next((i for i, c in enumerate(part) if not call_notes.is_name(c)), len(part))
        for part in parts
    )
    return [part[:end] for part, end in zip(parts, ends, strict=True) if end]


def _is_awaited(state: str, prompt: str, named: str) -> bool:
    """Whether a token is the whole prompt, or names a request that has not ended."""
    return prompt.strip() == TOKEN.decode() + named or any(
        os.path.lexists(f"{state}/{folder}/{each}.json")
        for folder in ("requests", "processing")
        for each in {named, named.lower(), named.rstrip("_-")}
    )


def is_ours(agents: str, fields: Json, agent_id: str) -> bool:
    """Whether a subagent came from a call of ours, or one of our agents started it.

    If our own record is lost or unreadable, use the client's: it has the call of each
    subagent, its description, and the agent that made it. If it has not written that
    down (yet), any call of ours whose agent is not known may be this one's.

    Source: measured on Claude Code 2.1.330, `agent-<id>.meta.json`.
    """
    for _ in range(_MAX_DEPTH):
        if os.path.lexists(f"{agents}{agent_id}.json"):
            return True
        meta = _meta(fields, agent_id)
        if meta is None:
            return any(name.startswith("call-") for name in os.listdir(agents))
        call = call_notes.name_of(meta.get("toolUseId"))
        if call and os.path.lexists(f"{agents}call-{call}.json"):
            return True
        if str(meta.get("description", "")).startswith(DESCRIBED):
            return True
        agent_id = meta.get("parentAgentId", "")
        if not call_notes.is_name(agent_id):
            break
    return False


def _hold_continued(agents: str, fields: Json, agent_id: str) -> None:
    """Note an agent of ours that begins again after its end, by an empty record.

    Otherwise its calls would pass unseen: with no agent on record, no hook looks at
    any. The full hook denies what has no more than that (`lost_agents`). Of a new agent
    the client has not written down anything, or its call is on record; of one that we
    ask again there is a record by then. What somebody else has continued is no longer
    the conversation that its asker knows: nobody is to go on with it.
    """
    meta = _meta(fields, agent_id)
    call = call_notes.name_of((meta or {}).get("toolUseId"))
    is_known = call and os.path.lexists(f"{agents}call-{call}.json")
    if meta is not None and not is_known and is_ours(agents, fields, agent_id):
        if not os.path.lexists(f"{agents}{agent_id}.json"):
            _forget_idle(agents, agent_id)
        call_notes.write(f"{agents}{agent_id}.json", "{}", os.O_EXCL)


def _forget_idle(agents: str, agent_id: str) -> None:
    """Forget that an agent waits for its next question (`store.idle_agents`)."""
    file = f"{agents}../idle/{agent_id}.json"
    if os.path.lexists(file):
        os.unlink(file)


def _meta(fields: Json, agent_id: str) -> Json | None:
    """What the client has written down about a subagent."""
    transcript = fields.get("transcript_path")
    folder = transcript.removesuffix(".jsonl") if isinstance(transcript, str) else ""
    return call_notes.load(f"{folder}/subagents/agent-{agent_id}.meta.json")


def read_all() -> bytes:
    """All of stdin, bounded; a pipe that never closes gets five seconds."""
    import select

    parts = []
    size = 0
    deadline = time.monotonic() + 5
    while size < MAX_EVENT:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([0], [], [], left)[0]:
            break
        part = os.read(0, 1 << 20)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _parse(data: bytes) -> Json:
    """The event; if it is not plain JSON, the few fields that tell whose it is."""
    try:
        fields = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        head = data[:8192].decode("utf-8", "replace")
        found = {key: _skim(head, key) for key in ("agent_id", "transcript_path")}
        return {key: text for key, text in found.items() if text}
    return call_notes.as_call(fields) if isinstance(fields, dict) else {}


def _skim(head: str, key: str) -> str:
    """The first text under a key; escapes are not decoded."""
    return head.partition(f'"{key}":')[2].partition('"')[2].partition('"')[0]
