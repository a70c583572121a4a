"""Settings: the one place that reads the environment.

Flags win over `BRIDGE_*`, which win over the defaults here. A value that means nothing
is an error that names the variable, never a silent default.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.errors import BadSetting
from bridge.routes import OWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.routes import OwnRoute

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})

# What a client sets for the programs that it starts. A client that we start must not
# see it: it would think that it runs inside the other one.
_OF_A_CLIENT = (
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PLUGIN_DATA",
)

# A process with one of these was started by a client.
SIGNS_OF_A_CLIENT = frozenset({"CLAUDECODE", "CLAUDE_PID", "CLAUDE_CODE_SESSION_ID"})


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set from outside.

    Attributes:
        home: where hostbridge keeps its files, `~/.hostbridge` (`BRIDGE_HOME`).
        home_is_default: `BRIDGE_HOME` is not set.
        state_dir: one state directory instead of the mirror (`BRIDGE_STATE_DIR`).
        off: do nothing at all (`BRIDGE_OFF`).
        debug: log what each hook saw and did (`BRIDGE_DEBUG`).
        slots: agents at once per session (`BRIDGE_SLOTS`).
        agents_per_hour: agents one session may start in an hour.
        max_depth: how many agents may stand above a request.
        max_offers: times a session is asked before its silence counts as a no.
        lease_s: seconds that an unseen host counts as alive after its last sign.
        requester: the asker's name, as the user reads it (`BRIDGE_REQUESTER`).
        cli_fallback: the route that `auto` takes instead of the host's
            (`BRIDGE_CLI_FALLBACK`).
        claude: the client for the route `claude`, a path or a name on PATH
            (`BRIDGE_CLAUDE`).
        parent_request, parent_depth: the request whose `claude -p`, or whose granted
            command, this process runs under, and how many agents stand above it
            (`BRIDGE_PARENT`, `BRIDGE_DEPTH`).
        local_model: the GGUF file of the local route (`BRIDGE_LOCAL_MODEL`).
        local_context: tokens that a local model may hold at once, fewer where it was
            trained on fewer (`BRIDGE_LOCAL_CONTEXT`).
        local_memory_mb: what the model's process may allocate beside the model file, in
            MiB; 0 for no limit (`BRIDGE_LOCAL_MEMORY_MB`).
        local_cache_mb: what saved prompts may take on disk, in MiB; 0 saves none
            (`BRIDGE_LOCAL_CACHE_MB`).
        host_pid: pid of the Claude Code client this process runs under (`CLAUDE_PID`).
        inside_client: a client says that it started this process (`CLAUDECODE`).
        project_dir: the client's project (`CLAUDE_PROJECT_DIR`).
        claude_dir: the client's own folder (`CLAUDE_CONFIG_DIR`, `~/.claude`).
        claude_record: the client's record of projects: `.claude.json` in
            `CLAUDE_CONFIG_DIR`, or in the user's home.
        openai_base_url: the server behind `openai:NAME` (`BRIDGE_OPENAI_BASE_URL`).
        openai_model: its model that answers if none is named
            (`BRIDGE_OPENAI_MODEL`).
        openai_api_key: the key for that server (`BRIDGE_OPENAI_API_KEY`).
    """

    home: Path
    home_is_default: bool = True
    state_dir: Path | None = None
    off: bool = False
    debug: bool = False
    slots: int = 4
    agents_per_hour: int = 50
    max_depth: int = 2
    max_offers: int = 3
    lease_s: int = 900
    requester: str | None = None
    cli_fallback: OwnRoute | None = None
    claude: str = "claude"
    parent_request: str | None = None
    parent_depth: int = 0
    local_model: Path | None = None
    local_context: int = 8192
    local_memory_mb: int = 0
    local_cache_mb: int = 1024
    host_pid: int | None = None
    inside_client: bool = False
    project_dir: Path | None = None
    claude_dir: Path = Path("~/.claude")
    claude_record: Path = Path("~/.claude.json")
    openai_base_url: str | None = None
    openai_model: str | None = None
    openai_api_key: str = "none"

    @classmethod
    def from_environment(cls, env: Mapping[str, str] | None = None) -> Settings:
        """Read the settings from `env`, by default the process environment.

        Raises:
            BadSetting: a variable holds a value that means nothing.
        """
        env = os.environ if env is None else env
        user_home = Path(env.get("HOME") or os.path.expanduser("~"))
        home = _folder(env, "BRIDGE_HOME")
        return cls(
            home=home or user_home / ".hostbridge",
            home_is_default=home is None,
            state_dir=_folder(env, "BRIDGE_STATE_DIR"),
            off=_flag(env, "BRIDGE_OFF"),
            debug=_flag(env, "BRIDGE_DEBUG"),
            slots=_count(env, "BRIDGE_SLOTS", 4, least=1),
            agents_per_hour=_count(env, "BRIDGE_AGENTS_PER_HOUR", 50, least=0),
            max_depth=_count(env, "BRIDGE_MAX_DEPTH", 2, least=0),
            max_offers=_count(env, "BRIDGE_MAX_OFFERS", 3, least=1),
            lease_s=_count(env, "BRIDGE_LEASE_S", 900, least=1),
            requester=env.get("BRIDGE_REQUESTER") or None,
            cli_fallback=_fallback(env),
            claude=env.get("BRIDGE_CLAUDE") or "claude",
            parent_request=env.get("BRIDGE_PARENT") or None,
            parent_depth=_count(env, "BRIDGE_DEPTH", 0, least=0),
            local_model=_file(env, "BRIDGE_LOCAL_MODEL"),
            local_context=_count(env, "BRIDGE_LOCAL_CONTEXT", 8192, least=256),
            local_memory_mb=_count(env, "BRIDGE_LOCAL_MEMORY_MB", 0, least=0),
            local_cache_mb=_count(env, "BRIDGE_LOCAL_CACHE_MB", 1024, least=0),
            host_pid=_pid(env),
            inside_client=bool(env.get("CLAUDECODE")),
            project_dir=Path(p) if (p := env.get("CLAUDE_PROJECT_DIR")) else None,
            claude_dir=Path(env.get("CLAUDE_CONFIG_DIR") or user_home / ".claude"),
            claude_record=Path(env.get("CLAUDE_CONFIG_DIR") or user_home)
            / ".claude.json",
            openai_base_url=_address(env, "BRIDGE_OPENAI_BASE_URL"),
            openai_model=env.get("BRIDGE_OPENAI_MODEL") or None,
            openai_api_key=env.get("BRIDGE_OPENAI_API_KEY") or "none",
        )


def environment() -> dict[str, str]:
    """A copy of the process environment."""
    return dict(os.environ)


def environment_for_a_client(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """`env`, by default the process environment, for a client that we start."""
    env = os.environ if env is None else env
    return {name: value for name, value in env.items() if name not in _OF_A_CLIENT}


def _fallback(env: Mapping[str, str]) -> OwnRoute | None:
    name = "BRIDGE_CLI_FALLBACK"
    value = env.get(name, "").strip().lower()
    if value in _FALSE:
        return None
    if value in _TRUE:
        return "local"
    for route in OWN:
        if value == route:
            return route
    raise BadSetting(f"{name}={env[name]!r}: expected {', '.join(OWN)}, 1 (local) or 0")


def _folder(env: Mapping[str, str], name: str) -> Path | None:
    value = env.get(name)
    if not value:
        return None
    if not value.startswith("/"):
        raise BadSetting(f"{name}={value!r}: expected an absolute path")
    return Path(value)


def _file(env: Mapping[str, str], name: str) -> Path | None:
    """A path relative to the working folder, or to the home with a `~`."""
    value = env.get(name)
    return Path(os.path.abspath(os.path.expanduser(value))) if value else None


def _flag(env: Mapping[str, str], name: str) -> bool:
    value = env.get(name, "").strip().lower()
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise BadSetting(f"{name}={env[name]!r}: expected 1 or 0")


def _count(env: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    value = env.get(name)
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        number = least - 1
    if number < least:
        raise BadSetting(f"{name}={value!r}: expected a whole number from {least} up")
    return number


def _address(env: Mapping[str, str], name: str) -> str | None:
    value = env.get(name)
    if value and not value.startswith(("http://", "https://")):
        raise BadSetting(f"{name}={value!r}: expected http:// or https://")
    return value or None


def _pid(env: Mapping[str, str]) -> int | None:
    """The client's pid; nonsense is ignored, since the user does not set it."""
    value = env.get("CLAUDE_PID", "")
    return int(value) if value.isascii() and value.isdigit() else None
