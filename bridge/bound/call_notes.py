"""Write down the tool calls of our subagents: standard library only.

`bridge.store.tool_calls` reads these notes, and describes their files.
"""

from __future__ import annotations

import json
import os
import re
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

# A shell command in a skill's text is about to run, after the client's own look at it.
# There is no dialog, and no event says that it has ended. 2.1.330 has no such event.
SKILL_COMMAND = "PreSkillShellCommand"
MAX_COMMAND = 20_000
# An answer has at most 4 MB, and a response holds it twice.
MAX_RECORD = 16 << 20
MAX_NAME = 128
# Those whose call is noted as one of a shell.
_SHELLS = ("Bash", "Monitor")
_MAX_NOTES = 64 * 1024 * 1024
MAX_PATH = 4096
# Calls that look at files: the arguments that say where, and what narrows it.
_LOOKS = {
    "Read": ("file_path",),
    "NotebookRead": ("notebook_path",),
    "Grep": ("path", "glob"),
    "Glob": ("path", "pattern"),
}
# How the line of a call begins; inside strings quotes are escaped. The client shows a
# call of Monitor as one of Bash, too: that one counts.
_BEGUN = rb'^{"id": "([^"]+)", "tool": (?!"Monitor")"[^"]*", "at": '


def meaning_of(event: str) -> str:
    """The event that one counts as: what holds for a shell command holds in a skill.

    Source: measured on Claude Code 2.1.332, which obeys a PreToolUse answer there.
    """
    return "PreToolUse" if event == SKILL_COMMAND else event


def as_call(fields: Json) -> Json:
    """An event, with a command in a skill's text as the call of its shell."""
    if fields.get("hook_event_name") != SKILL_COMMAND:
        return fields
    return {**fields, "hook_event_name": "PreToolUse"}


def has_turns(agents: str, run: Json, agent_id: str, call_id: str = "") -> bool:
    """Whether an agent has turns left: each call is a turn, a refused one too.

    For a call that is noted already, whether there was one left before it.
    """
    limit = run.get("maxTurns")
    if not isinstance(limit, int):
        return True
    refused: int = run.get("refused", 0)
    try:
        path = f"{agents}{agent_id}.calls"
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return refused < limit
    with open(fd, "rb") as file:
        calls = re.findall(_BEGUN, file.read(_MAX_NOTES) or b"", re.M)
    # From the end: an id may come again in another message.
    after = calls[::-1].index(own) + 1 if (own := call_id.encode()) in calls else 0
    return len(calls) - after + refused < limit


def _looked_at(fields: Json, tool: str) -> Json:
    """What a call is about to look at, as it is now: `bridge.freshness.noted`."""
    names = _LOOKS.get(tool)
    tool_input = fields.get("tool_input")
    if names is None or not isinstance(tool_input, dict):
        return {}
    given = {}
    for name in names:
        value = tool_input.get(name)
        if value is not None:
            # One that is no path says that nobody knows where the call looks.
            given[name] = _is_path(value) and value
    cwd = fields.get("cwd")
    folder = cwd if isinstance(cwd, str) else "/"
    try:
        found = os.stat(os.path.join(folder, given.get(names[0]) or ""))
        facts = (
            f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"
        )
    except (OSError, ValueError):
        facts = ""
    return {"cwd": folder, "input": given, "facts": facts}


def _command_of(fields: Json) -> str:
    tool_input = fields.get("tool_input")
    command = tool_input.get("command") if isinstance(tool_input, dict) else ""
    return command if isinstance(command, str) else ""


def _is_path(value: object) -> bool:
    if not isinstance(value, str) or len(value) > MAX_PATH:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        # Half a character, for which the client reads another file.
        return False
    return True


def _json(fields: Json) -> str:
    """As JSON that every reader takes: `write` replaces half a character."""
    return json.dumps(fields, ensure_ascii=False)


def before_tool(agents: str, fields: Json, run: Json, agent_id: str, tool: str) -> bool:
    """Note a call that is about to run; False if the agent has no turn left for it.

    Calls of one message come at the same time: each is noted before the turns are
    counted, so that they see each other.
    """
    call_id = name_of(fields.get("tool_use_id"))
    if not call_id:
        return True
    notes = f"{agents}{agent_id}.calls"
    line = {"id": call_id, "tool": tool, "at": int(time.time() * 1000)}
    line["up"] = int(time.monotonic() * 1000)
    if isinstance(cwd := fields.get("cwd"), str):
        line["cwd"] = cwd
    line |= _looked_at(fields, tool)
    command = _command_of(fields)
    if tool == "Bash":
        # Nobody may claim the beginning of one: its end may be ` || true`.
        line |= {"command": command} if len(command) <= MAX_COMMAND else {}
    is_noted = write(notes, _json(line) + "\n", os.O_APPEND)
    if not is_noted and os.path.lexists(sign := f"{agents}{agent_id}.noted"):
        # A full disk takes no note of that, but lets a file go. If it does neither, the
        # error denies the call: nobody could know of it later.
        os.unlink(sign)
    if not has_turns(agents, run, agent_id, call_id):
        write(notes, json.dumps({"id": call_id, "refused": True}) + "\n", os.O_APPEND)
        return False
    if tool == "Bash":
        open_call = {
            "agentId": agent_id,
            "requestId": run.get("requestId"),
            "depth": run.get("depth"),
            # Compare everything: another client may have the same pid.
            "host": run.get("host"),
            "command": command[:MAX_COMMAND],
        }
        # No event will say that a skill's command has ended.
        suffix = "background" if "command_name" in fields else "bash"
        write(f"{agents}{call_id}.{suffix}", _json(open_call), os.O_EXCL)
    return True


def note_start(agents: str, fields: Json, agent_id: str) -> None:
    """Note where a command starts of an agent that no gate watches."""
    line = {"id": fields.get("tool_use_id"), "tool": "Bash", "cwd": fields.get("cwd")}
    write(f"{agents}{agent_id}.calls", _json(line) + "\n", os.O_APPEND)


def forget_call(agents: str, agent_id: str, call_id: str) -> None:
    """Note that a call was refused after all: nothing runs, and it was a turn."""
    line = json.dumps({"id": call_id, "refused": True})
    write(f"{agents}{agent_id}.calls", line + "\n", os.O_APPEND)
    for note in (f"{agents}{call_id}.bash", f"{agents}{call_id}.background"):
        if os.path.lexists(note):
            os.unlink(note)


def note_denied(agents: str, agent_id: str, call_id: object) -> None:
    """Note that a call was refused before it was noted: a hook saw it, nothing ran."""
    if name := name_of(call_id):
        line = json.dumps({"id": name, "denied": True})
        write(f"{agents}{agent_id}.calls", line + "\n", os.O_APPEND)


def after_bash(agents: str, fields: Json, agent_id: str, *, ok: bool) -> None:
    """Note that a Bash call has ended, if it was one of ours.

    If its command goes on in the background, as that of a Monitor does, the note is
    kept under another name.
    """
    if fields.get("tool_name") not in _SHELLS:
        return
    call_id = name_of(fields.get("tool_use_id"))
    response = fields.get("tool_response")
    told = response if isinstance(response, dict) else {}
    task = told.get("backgroundTaskId") or told.get("taskId")
    note = f"{agents}{call_id}.bash"
    try:
        if task is None:
            os.unlink(note)
        else:
            os.replace(note, f"{agents}{call_id}.background")
    except OSError:
        return
    line = {"id": call_id, "tool": "Bash", "ok": None if is_unclear(told) else ok}
    if task is not None:
        # Only its start was seen; the agent will be told of its end.
        line["task"] = task
    write(f"{agents}{agent_id}.calls", json.dumps(line) + "\n", os.O_APPEND)


def is_unclear(told: Json) -> bool:
    """Whether nobody can tell from a result how its command ended.

    It was moved to the background, as after its time; or it ended with 1, and the
    client takes that for no error: after `grep`, `diff`, `test`, whatever came before.

    Source: measured on Claude Code 2.1.332.
    """
    said = ("backgroundTaskId", "taskId", "returnCodeInterpretation", "interrupted")
    return any(map(told.get, said))


def load(path: str, most: int = MAX_RECORD) -> Json | None:
    """The JSON object in a file; None if there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        with open(fd, "rb") as file:
            value = json.loads(file.read(most))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def write(path: str, text: str, how: int) -> bool:
    """Append to a note of ours; whether it is there now, whole.

    A failure to write must not stop the call.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | how
    try:
        fd = os.open(path, flags, 0o600)
        try:
            data = text.encode("utf-8", "replace")
            return os.write(fd, data) == len(data)
        finally:
            os.close(fd)
    except OSError:
        return False


def name_of(call_id: object) -> str:
    """A call's id as a file name: itself, or its digest if it is not a safe name.

    Models behind a gateway make ids such as `functions.Bash:0`.
    """
    if not isinstance(call_id, str) or not call_id or is_name(call_id):
        return call_id if isinstance(call_id, str) else ""
    import hashlib

    digest = hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()
    return f"call_{digest[:40]}"


def is_name(text: object) -> bool:
    """Whether a text can be the name of a file of ours."""
    return (
        isinstance(text, str)
        and 0 < len(text) <= MAX_NAME
        and text.isascii()
        and text.replace("-", "a").replace("_", "a").isalnum()
    )
