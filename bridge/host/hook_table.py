"""Which hooks are registered for which events: one table for settings and plugin alike.

Every hook is one `/bin/sh` that sources our script. If the path is gone, it ends in
silence: registered by its own path, each tool call would show the user "hook failed",
twice. Measured, sourcing costs what executing the script costs.

`python -m bridge.host.hook_table` prints `hooks/hooks.json`, the plugin's.

Source: Claude Code hooks reference, "Configuration"; measured on 2.1.330: the exec form
(`args`) starts no shell of its own and leaves `$` alone, timeouts are in seconds,
`asyncRewake` wakes.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bridge.bound.answer_wait import WAIT_S
from bridge.bound.call_notes import SKILL_COMMAND, meaning_of
from bridge.bound.gate import WOKEN
from bridge.policy.tool_classes import (
    CLASSES,
    HANDBACK,
    MESSAGE,
    OTHER,
    OWN,
    QUESTION,
    matcher_of,
)

Kind = Literal["local", "user", "project", "plugin"]
KINDS: tuple[Kind, ...] = ("local", "user", "project", "plugin")

# Ends every shell line that we register, so that ours can be recognised.
MARK = "# hostbridge"
# A shell's own errors exit 2, which would block what the session is doing.
_SAFE = "trap 'exit 0' 0; "
BESIDE = f'{_SAFE}[ -r "$0" ] && . "$0" {MARK}'
# Names no path of this machine: `install --project` writes the file it looks for. If
# another user had made that, it would be their program. Quoted: in the entry of an MCP
# server the client itself fills in the variable.
POINTED = (
    f'{_SAFE}h="${{BRIDGE_HOME:-$HOME/.hostbridge}}"/hooks.sh; '
    f'[ -f "$h" ] && [ -r "$h" ] && [ -O "$h" ] && . "$h" {MARK}'
)
POINTER = "hooks.sh"
TIMEOUT_S = 30
# The session may be idle for so long. The client counts milliseconds, up to 24 days.
IDLE_S = 7 * 86_400
# Without the two texts, the model is shown a "Stop hook blocking error".
WAKE = {
    "asyncRewake": True,
    "rewakeSummary": "a program asks",
    "rewakeMessage": WOKEN,
}


@dataclass(frozen=True, slots=True)
class Hook:
    """One registration; `tools` is the class of tools that the matcher means.

    With a `condition`, a permission rule, the client starts it for such calls only.
    """

    event: str
    script: str
    matcher: str | None = None
    wakes: bool = False
    condition: str | None = None
    tools: str = ""

    @property
    def timeout_s(self) -> int:
        """How long the client waits for it."""
        if self.script == "ring":
            return IDLE_S
        waits = meaning_of(self.event) == "PreToolUse" or self.script == "agent-wait"
        return WAIT_S if waits else TIMEOUT_S


def _by_class(event: str, script: str, *others: str) -> tuple[Hook, ...]:
    """The shell half knows the class without reading the event (bridge/rules/signs.py).

    Agent has an entry of its own, and so have `others`.
    """
    besides = (HANDBACK, *others)
    return tuple(
        Hook(event, script, matcher=matcher_of(name, besides=besides), tools=name)
        for name in CLASSES
        if name != "agent"
    )


# Measured on 2.1.330: other commands start no process, whatever is around `bridge`.
_OURS = "Bash(*bridge*)"
HOOKS = (
    Hook("SessionStart", "always"),
    Hook("SessionEnd", "always"),
    Hook("FileChanged", "bell", matcher="wake", wakes=True),
    Hook("CwdChanged", "moved"),
    Hook("PostModelSwitch", "always"),
    Hook("UserPromptSubmit", "turn"),
    Hook("Stop", "turn"),
    # Not after compaction, which happens within a turn.
    Hook("SessionStart", "ring", matcher="startup|resume|clear", wakes=True),
    Hook("Stop", "ring", wakes=True),
    *_by_class("PreToolUse", "tool-start", OWN, QUESTION, MESSAGE),
    # Who calls our MCP server is written down (bridge/store/tool_calls.py).
    Hook("PreToolUse", "always", matcher=OWN),
    Hook("PreToolUse", "agent-call", matcher=f"Agent|{HANDBACK}", tools="agent"),
    # In the main thread it may ask one of our agents again.
    Hook("PreToolUse", "agent-call", matcher=MESSAGE, tools=OTHER),
    Hook("PreToolUse", "always", matcher="Bash", condition=_OURS),
    Hook(SKILL_COMMAND, "tool-start", matcher=matcher_of("bash"), tools="bash"),
    Hook(SKILL_COMMAND, "always", matcher="Bash", condition=_OURS),
    *_by_class("PostToolUse", "tool-end", QUESTION, MESSAGE),
    # May be about a checkpoint of a flow.
    Hook("PreToolUse", "question", matcher=QUESTION, tools=OTHER),
    Hook("PostToolUse", "question", matcher=QUESTION, tools=OTHER),
    Hook("PostToolUse", "agent-event", matcher="Agent", tools="agent"),
    Hook("PostToolUse", "agent-event", matcher=MESSAGE, tools=OTHER),
    Hook("PostToolUse", "agent-wait", matcher="Agent"),
    Hook("PostToolUseFailure", "tool-end", matcher=matcher_of("bash"), tools="bash"),
    Hook(
        "PostToolUseFailure",
        "tool-end",
        matcher=matcher_of("edit", "read", OTHER, besides=(HANDBACK, MESSAGE)),
    ),
    Hook("PostToolUseFailure", "agent-event", matcher="Agent", tools="agent"),
    Hook("PostToolUseFailure", "agent-event", matcher=MESSAGE),
    Hook("PermissionRequest", "dialog", matcher="*"),
    Hook("SubagentStart", "dialog"),
    Hook("SubagentStop", "agent-event"),
    Hook("StopFailure", "turn"),
)
SCRIPTS = frozenset(hook.script for hook in HOOKS)


@dataclass(frozen=True, slots=True)
class Form:
    """How a kind of install calls a script.

    Attributes:
        kind: names the install, in the third place of a hook's arguments.
        shell: the line of shell, which finds the script by its `$0`.
        folder: what stands before the script's name.
        python: the interpreter that has hostbridge, when it is known.
    """

    kind: Kind
    shell: str
    folder: str = ""
    python: str | None = None

    def arguments(self, hook: Hook) -> list[str]:
        """The arguments of `/bin/sh` for one hook."""
        words = [meaning_of(hook.event), self.kind]
        if self.python or hook.tools:
            words.append(self.python or "")
        if hook.tools:
            words.append(hook.tools)
        return ["-c", self.shell, self.folder + hook.script, *words]


def form_of(kind: Kind, hooks: Path, python: str) -> Form:
    """How an install of this kind calls the scripts in `hooks`."""
    if kind == "project":
        return PROJECT
    return PLUGIN if kind == "plugin" else Form(kind, BESIDE, f"{hooks}/", python)


PLUGIN = Form("plugin", BESIDE, "${CLAUDE_PLUGIN_ROOT}/hooks/")
PROJECT = Form("project", POINTED)


def entries(form: Form) -> dict[str, list[dict[str, Any]]]:
    """The `hooks` object of settings or plugin: for each event, what we register."""
    table: dict[str, list[dict[str, Any]]] = {}
    for hook in HOOKS:
        command: dict[str, Any] = {
            "type": "command",
            "command": "/bin/sh",
            "args": form.arguments(hook),
            "timeout": hook.timeout_s,
        }
        if hook.wakes:
            command |= WAKE
        if hook.condition is not None:
            command["if"] = hook.condition
        entry: dict[str, Any] = {"hooks": [command]}
        if hook.matcher is not None:
            entry = {"matcher": hook.matcher, **entry}
        table.setdefault(hook.event, []).append(entry)
    return table


def kind_of(command: object) -> str | None:
    """Which install registered a hook command; None if it is not ours.

    Recognised by its mark, and by the names of script and event in every form we ever
    wrote.
    """
    if not isinstance(command, dict):
        return None
    arguments = command.get("args")
    if not isinstance(arguments, list) or not all(
        isinstance(each, str) for each in arguments
    ):
        return None
    if arguments[:1] == ["-c"] and arguments[1:] and arguments[1].endswith(MARK):
        words = arguments[2:]
    else:
        words = [str(command.get("command")), *arguments]
        if words[0].rpartition("/")[2] not in SCRIPTS:
            return None
        if words[1:2] and words[1] not in {hook.event for hook in HOOKS}:
            return None
    return words[2] if words[2:] and words[2] in KINDS else None


def plugin_file() -> str:
    """The text of `hooks/hooks.json`."""
    table = {"hooks": entries(PLUGIN)}
    return json.dumps(table, indent=2) + "\n"


if __name__ == "__main__":
    print(plugin_file(), end="")  # noqa: T201 - this is how the file is made
