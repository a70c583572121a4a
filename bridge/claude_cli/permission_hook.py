"""The PreToolUse hook of our own `claude -p`, for rules that the client does not know.

    python -I -S permission_hook.py PROJECT RULES < event

A script with the standard library only, started at each call of Bash. RULES are those
of the definition that name their options, as JSON (`policy/command_options.py`); the
client does not get them. A call that they cover is allowed, one that is close is denied
with the reason. About any other call it says nothing, and the client decides: in the
mode `dontAsk` it denies what nobody granted. The same if this script fails.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_EVENT = 64 * 1024 * 1024


def decision(event: dict[str, Any], project: str, rules: list[str]) -> str | None:
    """What the hook prints about an event, if anything."""
    from bridge.policy.permissions import is_granted, why_not_granted

    tool, call = event.get("tool_name"), event.get("tool_input")
    if tool != "Bash" or not isinstance(call, dict):
        return None
    cwd = event.get("cwd")
    start = cwd if isinstance(cwd, str) and cwd else project

    def resolve(path: str) -> str:
        return os.path.realpath(os.path.join(start, path))

    if is_granted(rules, tool, call, project=project, resolve=resolve):
        output = {"permissionDecision": "allow"}
    elif why := why_not_granted(rules, tool, call, project=project, resolve=resolve):
        reason = f"hostbridge: Bash is not granted to this agent: {why}"
        output = {
            "permissionDecision": "deny",
            "permissionDecisionReason": reason[:500],
        }
    else:
        return None
    return json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse"} | output})


if __name__ == "__main__":
    # Under -I our package is not on the path; it goes behind the standard library.
    sys.path.append(os.path.abspath(__file__ + "/../../.."))
    said = decision(
        json.loads(sys.stdin.buffer.read(MAX_EVENT)),
        os.path.realpath(sys.argv[1]),
        json.loads(sys.argv[2]),
    )
    if said is not None:
        sys.stdout.write(said)
