"""The agents of Claude Code's plugins, as far as the client's own records show.

An open session may have others (`claude --plugin-dir`), which nothing here knows.

Source: measured on 2.1.330: `claude plugin install` writes `enabledPlugins` into the
settings of its scope, and the folder of each plugin into installed_plugins.json.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bridge.agents.files import Unreadable, read_bytes
from bridge.agents.layers import LayerFolder
from bridge.protocol.record import json_object


def plugin_agents(claude_dir: Path, project: Path) -> dict[str, Path]:
    """The file of each agent of a plugin that is enabled here, by `plugin:name`."""
    found = {}
    for plugin, folder in _installed(claude_dir, project):
        agents = LayerFolder("claude-user", folder / "agents")
        for name, file in agents.names():
            if file.parent == agents.folder:
                found[f"{plugin}:{name}"] = file
    return dict(sorted(found.items()))


def _installed(claude_dir: Path, project: Path) -> Iterator[tuple[str, Path]]:
    """Name and folder of each enabled plugin."""
    enabled: dict[str, Any] = {}
    for file in (
        claude_dir / "settings.json",
        project / ".claude" / "settings.json",
        project / ".claude" / "settings.local.json",
    ):
        enabled |= _object(_read(file).get("enabledPlugins"))
    records = _object(_read(claude_dir / "plugins" / "installed_plugins.json"))
    for name, installs in _object(records.get("plugins")).items():
        for install in installs if isinstance(installs, list) else ():
            path = _object(install).get("installPath")
            if enabled.get(name) is True and isinstance(path, str):
                yield name.partition("@")[0], Path(path)


def _read(file: Path) -> dict[str, Any]:
    try:
        return json_object(read_bytes(file))
    except Unreadable:
        return {}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
