"""What chooses the model of `claude -p` where a request names none: as one key.

Also whether Claude Code trusts the project: if not, it reads nothing that is there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bridge.bound.folder_trust import is_trusted
from bridge.config import Settings, environment_for_a_client
from bridge.protocol import plain_json
from bridge.protocol.digest import sha256_of
from bridge.store.location import Place
from bridge.store.plain_file import open_plain

_MAX_BYTES = 1 << 20
_FOR_ALL = "/etc/claude-code/managed-settings.json"


def key_of_client(settings: Settings, place: Place) -> str:
    """The key of what chooses the model of `claude -p`: variables, settings, trust.

    Source: Claude Code model configuration, "Setting your model".
    """
    files = (
        _FOR_ALL,
        f"{place.project}/.claude/settings.local.json",
        f"{place.project}/.claude/settings.json",
        f"{settings.claude_dir}/settings.json",
    )
    chosen: list[Any] = [is_trusted(settings, place)]
    chosen.append(_chosen(environment_for_a_client()))
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
        with open_plain(file) as found:
            value = plain_json.loads(found.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
