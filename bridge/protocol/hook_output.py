"""What a hook answers: at most one JSON object on stdout, or stderr and a sign to wake.

Every channel is limited and cleaned here, in one place: a hook's output goes into the
host's context or onto the user's screen.

Source: Claude Code hooks reference, "Hook output"; measured on 2.1.330:
additionalContext is cut at 10,000 characters, reasons and stderr are not cut at all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from bridge.protocol import plain_json
from bridge.protocol.wording import MAX_LINE, MAX_NOTE, clean, one_line

MAX_CONTEXT = 9_000
MAX_REASON = 2_000

# The shell half turns this into the client's "block", for FileChanged only: an
# interpreter that cannot start exits with 2 by itself.
WAKES = 42


class HookOutput(NamedTuple):
    """The output of one hook process, and its exit code.

    `printed` runs as soon as the output is written, `later` once the client has its
    answer, in a process that the client does not wait for: functions of the hook's
    context. Nothing may depend on them.
    """

    stdout: bytes = b""
    stderr: str = ""
    exit_code: int = 0
    later: Callable[..., None] | None = None
    printed: Callable[..., None] | None = None

    def bound_to(self, hook: object) -> HookOutput:
        """The same output, whose functions are called without a hook's context."""
        later, printed = self.later, self.printed
        return self._replace(
            later=later and partial(later, hook),
            printed=printed and partial(printed, hook),
        )

    def once_printed(self, printed: Callable[..., None]) -> HookOutput:
        """The same output, with something to do as soon as it is written."""
        return self._replace(printed=printed)

    def then(self, later: Callable[..., None]) -> HookOutput:
        """The same output, with something to do afterwards."""
        return self._replace(later=later)


SILENT = HookOutput()


def specific(event: str, line: str = "", **fields: Any) -> HookOutput:
    """An answer in `hookSpecificOutput`; only the user sees `line`."""
    output = {"hookSpecificOutput": {"hookEventName": event, **fields}}
    return _json(output, line)


def with_context(output: HookOutput, event: str, text: str) -> HookOutput:
    """The same answer, with more text for the model in front of its own."""
    value = plain_json.loads(output.stdout or b"{}")
    own = value.setdefault("hookSpecificOutput", {"hookEventName": event})
    texts = (text, own.get("additionalContext") or "")
    # What is cut is the added text: the other is an offer, or who we are.
    room = MAX_CONTEXT - len(texts[1])
    both = [each for each in (clean(text, max(room, 0)), texts[1]) if each]
    own["additionalContext"] = "\n\n".join(both)
    return output._replace(stdout=plain_json.dumps(value))


def with_line(output: HookOutput, line: str) -> HookOutput:
    """The same answer, with a line for the user unless it has one."""
    value = plain_json.loads(output.stdout or b"{}")
    value.setdefault("systemMessage", one_line(line, MAX_NOTE))
    return output._replace(stdout=plain_json.dumps(value))


def with_more(output: HookOutput, line: str) -> HookOutput:
    """The same answer, with a line for the user below what it has.

    Of a blocked notice the user reads the reason alone: measured on 2.1.330.
    """
    if not line:
        return output
    value = plain_json.loads(output.stdout or b"{}")
    key = "reason" if value.get("decision") == "block" else "systemMessage"
    lines = filter(None, (value.get(key), one_line(line, MAX_NOTE)))
    value[key] = "\n".join(lines)
    return output._replace(stdout=plain_json.dumps(value))


def refuse_prompt(reason: str) -> HookOutput:
    """Keep a prompt from the model; the user reads why."""
    return _json({"decision": "block", "reason": clean(reason, MAX_REASON)})


def context(event: str, text: str) -> HookOutput:
    """Text for the model, beside whatever it was doing."""
    return specific(event, additionalContext=clean(text, MAX_CONTEXT))


def allow(tool_input: dict[str, Any], line: str = "") -> HookOutput:
    """Let a tool call run, with this whole input."""
    return specific(
        "PreToolUse", line, permissionDecision="allow", updatedInput=tool_input
    )


def deny(reason: str, *, stop: bool = False, limit: int = MAX_REASON) -> HookOutput:
    """Refuse a tool call; `stop` also ends the agent that made it."""
    output: dict[str, Any] = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": clean(reason, limit),
        }
    }
    if stop:
        output |= {"continue": False, "stopReason": clean(reason, MAX_LINE)}
    return _json(output)


def refuse_permission(reason: str) -> HookOutput:
    """Answer a permission dialog with no, before it opens."""
    decision = {"behavior": "deny", "message": clean(reason, MAX_REASON)}
    return specific("PermissionRequest", decision=decision)


def grant_permission() -> HookOutput:
    """Answer a permission dialog with yes, before it opens."""
    return specific("PermissionRequest", decision={"behavior": "allow"})


def block(reason: str, limit: int = MAX_REASON) -> HookOutput:
    """Make an agent that wanted to stop go on."""
    return _json({"decision": "block", "reason": clean(reason, limit)})


def swallow(line: str = "") -> HookOutput:
    """Hide a notice from the model; the user sees one line."""
    output = {
        "decision": "block",
        "reason": clean(line, MAX_LINE) or "hostbridge took this notice",
        "hookSpecificOutput": {
            "hookEventName": "UserPromptSubmit",
            "suppressOriginalPrompt": True,
        },
    }
    return _json(output)


def tell_user(line: str) -> HookOutput:
    """One line for the user, nothing for the model."""
    return _json({}, line) if line else SILENT


def wake(text: str) -> HookOutput:
    """Text that wakes an idle model: on stderr, with a sign for the shell half."""
    return HookOutput(stderr=clean(text, MAX_CONTEXT), exit_code=WAKES)


def _json(output: dict[str, Any], line: str = "") -> HookOutput:
    if line:
        output["systemMessage"] = one_line(line)
    return HookOutput(stdout=plain_json.dumps(output))
