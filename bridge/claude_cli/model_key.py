"""What chooses the model of `claude -p` where a request names none: as one key."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bridge.config import Settings, environment_for_a_client
from bridge.protocol import plain_json
from bridge.protocol.digest import sha256_of

_MAX_BYTES = 1 << 20
_FOR_ALL = "/etc/claude-code/managed-settings.json"
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def key_of_client(settings: Settings, project: Path) -> str:
    """The key of what chooses the model of `claude -p`: variables and settings.

    Source: Claude Code model configuration, "Setting your model".
    """
    files = (
        _FOR_ALL,
        f"{project}/.claude/settings.local.json",
        f"{project}/.claude/settings.json",
        f"{settings.claude_dir}/settings.json",
    )
    chosen = [_chosen(environment_for_a_client())]
    for file in files:
        found = _settings_in(file)
        env = found.get("env")
        chosen.append(_chosen(env if isinstance(env, dict) else {}))
        chosen.append({"model": found.get("model")})
    return sha256_of(json.dumps(chosen, sort_keys=True, default=str).encode())


def _chosen(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a client's variables that say which model answers, and where."""
    return {
        name: value
        for name, value in variables.items()
        if (name.startswith("ANTHROPIC_") and ("MODEL" in name or "URL" in name))
        or name.startswith("CLAUDE_CODE_USE_")
    }


def _settings_in(file: str) -> dict[str, Any]:
    try:
        with open(os.open(file, _READ), "rb") as found:
            value = plain_json.loads(found.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
