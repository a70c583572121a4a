"""Do settings or policies keep hooks from running at all?

Source: measured and read in Claude Code 2.1.330; the managed settings are those of
/etc/claude-code (Linux) and /Library/Application Support/ClaudeCode (macOS).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bridge.doctor.finding import Finding, ok, problem
from bridge.errors import BridgeError
from bridge.host import settings_file, settings_text
from bridge.host.install import SCOPES, target_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.doctor.subject import Subject

# The first counts in any settings, the others only in an administrator's.
_KEYS = ("disableAllHooks", "allowManagedHooksOnly", "strictPluginOnlyCustomization")
# Variables that make the client start without hooks.
_MODES = ("CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SIMPLE")
_TRUE = frozenset({"1", "true", "yes", "on"})


def allowed(subject: Subject) -> Iterator[Finding]:
    """Whether anything keeps hooks from running."""
    findings = [*_unreadable(subject), *_policies(subject)]
    findings += [_stopped(f"{name} is set", "unset it") for name in _modes(subject.env)]
    yield from findings or [ok("no setting or policy keeps hooks from running")]


def settings_files(subject: Subject) -> list[Path]:
    """The settings files that an install may write to."""
    settings, project = subject.settings, subject.project
    return [target_of(kind, settings, project).file for kind in SCOPES]


def _unreadable(subject: Subject) -> Iterator[Finding]:
    for file in settings_files(subject):
        try:
            settings_text.ours(settings_file.load(file) or "", str(file))
        except BridgeError as exc:
            cause = "Claude Code ignores settings that it cannot read"
            yield problem(str(exc), cause, "correct that file, then install again")


def _policies(subject: Subject) -> Iterator[Finding]:
    managed = [
        subject.managed / "managed-settings.json",
        *sorted((subject.managed / "managed-settings.d").glob("*.json")),
    ]
    for file in (*managed, *settings_files(subject)):
        content = read_or_empty(file)
        is_managed = file in managed
        cure = "only your administrator can change it" if is_managed else "remove it"
        for key in _KEYS if is_managed else _KEYS[:1]:
            value = content.get(key)
            if value is True or (isinstance(value, list) and "hooks" in value):
                yield _stopped(f"{file} sets {key}", cure)
        for name in _modes(content.get("env")):
            yield _stopped(f"{file} sets {name} in env", cure)


def _modes(variables: object) -> list[str]:
    """The variables among these that switch hooks off."""
    env = variables if isinstance(variables, Mapping) else {}
    return [name for name in _MODES if str(env.get(name)).lower() in _TRUE]


def _stopped(found: str, cure: str) -> Finding:
    return problem(found, "with it, Claude Code does not run hooks like these", cure)


def read_or_empty(file: Path) -> dict[str, Any]:
    """The settings in a file; empty if there are none, or they cannot be read."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
