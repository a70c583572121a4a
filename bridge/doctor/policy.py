"""Do settings or policies keep hooks from running at all?

Source: measured and read in Claude Code 2.1.330; the managed settings are those of
/etc/claude-code (Linux) and /Library/Application Support/ClaudeCode (macOS).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bridge.doctor.finding import Finding, ok, problem
from bridge.errors import BridgeError
from bridge.host import settings_file, settings_text
from bridge.host.install import SCOPES, target_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.doctor.subject import Subject

# The first counts wherever it stands, the others in an administrator's settings.
_KEYS = ("disableAllHooks", "allowManagedHooksOnly", "strictPluginOnlyCustomization")
# Variables by which the client starts without hooks.
_MODES = ("CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SIMPLE")
_TRUE = frozenset({"1", "true", "yes", "on"})


def allowed(subject: Subject) -> Iterator[Finding]:
    """Whether anything keeps hooks from running."""
    findings = [*_unreadable(subject), *_policies(subject)]
    findings += [
        _stopped(f"{name} is set", cure="unset it")
        for name in _MODES
        if subject.env.get(name, "").lower() in _TRUE
    ]
    yield from findings or [
        ok("hook policy", "no setting or policy keeps hooks from running")
    ]


def _unreadable(subject: Subject) -> Iterator[Finding]:
    for kind in SCOPES:
        file = target_of(kind, subject.settings, subject.project).file
        try:
            settings_text.ours(settings_file.load(file) or "", str(file))
        except BridgeError as exc:
            yield problem(
                "hook policy",
                str(exc),
                cause="Claude Code ignores settings that it cannot read",
                cure="mend that file, then install again",
            )


def _policies(subject: Subject) -> Iterator[Finding]:
    for file, is_managed in _settings_files(subject):
        content = read_or_empty(file)
        cure = "it is your administrator's to change" if is_managed else "remove it"
        for key in _KEYS if is_managed else _KEYS[:1]:
            value = content.get(key)
            if value is True or (isinstance(value, list) and "hooks" in value):
                yield _stopped(f"{file} sets {key}", cure=cure)
        variables = content.get("env")
        if not isinstance(variables, dict):
            continue
        for name in _MODES:
            if str(variables.get(name)).lower() in _TRUE:
                yield _stopped(f"{file} sets {name} in env", cure=cure)


def _stopped(found: str, *, cure: str) -> Finding:
    cause = "with it, Claude Code does not run hooks like these"
    return problem("hook policy", found, cause=cause, cure=cure)


def _settings_files(subject: Subject) -> Iterator[tuple[Path, bool]]:
    """Each settings file, and whether an administrator wrote it."""
    yield subject.managed / "managed-settings.json", True
    parts = subject.managed / "managed-settings.d"
    yield from ((file, True) for file in sorted(parts.glob("*.json")))
    for kind in SCOPES:
        yield target_of(kind, subject.settings, subject.project).file, False


def read_or_empty(file: Path) -> dict[str, Any]:
    """The settings in a file; empty where there are none to be read."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
