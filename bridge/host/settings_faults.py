"""What makes Claude Code drop a whole settings file, our hooks with it. Pure.

It says nothing of that where it prints (`claude -p`), and starts without the file. A
key that it does not know does no harm, and neither does an entry of most other hooks:
one that could keep a call from running takes the file with it.

Source: measured and read in Claude Code 2.1.332; another version may take more.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from bridge.bound.call_notes import SKILL_COMMAND
from bridge.host.settings_edit import kind_name

# By the kind of their value. None of them may be null.
_BOOLEANS = """
    allowManagedHooksOnly allowManagedMcpServersOnly allowManagedPermissionRulesOnly
    alwaysThinkingEnabled autoCompactEnabled autoMemoryEnabled autoScrollEnabled
    awaySummaryEnabled disableAllHooks disableArtifact disableBundledSkills
    disableClaudeAiConnectors disableRemoteControl disableSkillShellExecution
    disableWorkflows enableAllProjectMcpServers enableArtifact enableWorkflows
    enforceAvailableModels fastMode fastModePerSessionOptIn fileCheckpointingEnabled
    includeCoAuthoredBy includeGitInstructions inputNeededNotifEnabled
    prefersReducedMotion promptSuggestionEnabled remoteControlAtStartup
    respectGitignore showMessageTimestamps showThinkingSummaries showTurnDuration
    skipDangerousModePermissionPrompt skipWebFetchPreflight spinnerTipsEnabled
    syntaxHighlightingDisabled terminalProgressBarEnabled todoFeatureEnabled verbose
"""
_TEXTS = """
    $schema advisorModel agent apiKeyHelper autoMemoryDirectory awsAuthRefresh
    awsCredentialExport gcpAuthRefresh language minimumVersion model otelHeadersHelper
    outputStyle plansDirectory prUrlTemplate proxyAuthHelper timeZone
"""
_OBJECTS = """
    env fileSuggestion modelOverrides permissions remote sandbox skillOverrides
    spinnerVerbs statusLine voice worktree
"""
_LISTS = "availableModels claudeMdExcludes companyAnnouncements deniedModels"
_KINDS: Mapping[str, type] = {
    **dict.fromkeys(_BOOLEANS.split(), bool),
    **dict.fromkeys(_TEXTS.split(), str),
    **dict.fromkeys(_OBJECTS.split(), dict),
    **dict.fromkeys(_LISTS.split(), list),
}
_CHOICES = {
    "autoUpdatesChannel": ("latest", "stable", "rc"),
    "tui": ("default", "fullscreen"),
}
_MODES = (
    "acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan",
)  # fmt: skip
# A hook that fails to load here could be what guards the permissions beside it.
_GUARDS = ("PreToolUse", "PermissionRequest", SKILL_COMMAND)
_TYPES = ("command", "prompt", "agent", "http", "mcp_tool")
_WORDS = {bool: "true or false", str: "a string", dict: "an object", list: "a list"}


def find_fault(settings: Mapping[str, Any]) -> str | None:
    """The first thing that makes the client drop these settings; None for nothing.

    Such as `cleanupPeriodDays: expected a number above 0, got a string`.
    """
    return next(_faults(settings), None)


def _faults(settings: Mapping[str, Any]) -> Iterator[str]:
    for key, value in settings.items():
        kind = _KINDS.get(key)
        if kind is not None and not isinstance(value, kind):
            yield _told(key, _WORDS[kind], value)
        elif (choices := _CHOICES.get(key)) and value not in choices:
            yield _told(key, f"one of {', '.join(choices)}", value)
    days = settings.get("cleanupPeriodDays", 1)
    is_number = isinstance(days, int | float) and not isinstance(days, bool)
    if not is_number or days < 1 or days % 1:
        yield _told("cleanupPeriodDays", "a whole number above 0", days)
    plugins = settings.get("enabledPlugins", {})
    if not isinstance(plugins, dict):
        yield _told("enabledPlugins", "an object", plugins)
    else:
        for name, value in plugins.items():
            if not isinstance(value, bool | list):
                yield _told(f"enabledPlugins.{name}", "true or false", value)
    yield from _of_permissions(settings.get("permissions"))
    yield from _of_status_line(settings.get("statusLine"))
    hooks = settings.get("hooks")
    if isinstance(hooks, dict):
        for event in _GUARDS:
            yield from _of_hooks(f"hooks.{event}", hooks.get(event))


def _told(place: str, expected: str, value: object) -> str:
    said = repr(value) if isinstance(value, str | int | float) else kind_name(value)
    return f"{place}: expected {expected}, got {said:.60}"


def _of_permissions(value: object) -> Iterator[str]:
    permissions = value if isinstance(value, dict) else {}
    for key in ("allow", "ask", "deny", "additionalDirectories"):
        listed = permissions.get(key, [])
        place = f"permissions.{key}"
        if not isinstance(listed, list):
            yield _told(place, "a list", listed)
        elif key == "additionalDirectories":
            wrong = [each for each in listed if not isinstance(each, str)]
            yield from (_told(place, "a list of strings", each) for each in wrong)
    if (mode := permissions.get("defaultMode", "default")) not in _MODES:
        yield _told("permissions.defaultMode", f"one of {', '.join(_MODES)}", mode)
    key = "disableBypassPermissionsMode"
    if (said := permissions.get(key, "disable")) != "disable":
        yield _told(f"permissions.{key}", '"disable"', said)


def _of_status_line(line: object) -> Iterator[str]:
    if not isinstance(line, dict):
        return
    if line.get("type") != "command":
        yield _told("statusLine.type", '"command"', line.get("type"))
    if not isinstance(line.get("command"), str):
        yield _told("statusLine.command", "a string", line.get("command"))


def _of_hooks(place: str, groups: object) -> Iterator[str]:
    for number, group in enumerate(groups if isinstance(groups, list) else ()):
        here = f"{place}[{number}]"
        if not isinstance(group, dict):
            yield _told(here, "an object", group)
            continue
        if not isinstance(group.get("matcher", ""), str):
            yield _told(f"{here}.matcher", "a string", group["matcher"])
        hooks = group.get("hooks")
        if not isinstance(hooks, list):
            yield _told(f"{here}.hooks", "a list", hooks)
            continue
        for position, hook in enumerate(hooks):
            yield from _of_hook(f"{here}.hooks[{position}]", hook)


def _of_hook(place: str, hook: object) -> Iterator[str]:
    if not isinstance(hook, dict):
        yield _told(place, "an object", hook)
        return
    if hook.get("type") not in _TYPES:
        yield _told(f"{place}.type", f"one of {', '.join(_TYPES)}", hook.get("type"))
    elif hook["type"] == "command" and not isinstance(hook.get("command"), str):
        yield _told(f"{place}.command", "a string", hook.get("command"))
    limit = hook.get("timeout", 1)
    if isinstance(limit, bool) or not isinstance(limit, int | float) or limit <= 0:
        yield _told(f"{place}.timeout", "a number above 0", limit)
    args = hook.get("args", [])
    if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
        yield _told(f"{place}.args", "a list of strings", args)
