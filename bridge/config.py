"""Settings: the one place that reads the environment.

Flags win over `BRIDGE_*`, which win over the defaults here. A value that means nothing
is an error that names the variable, never a silent default.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.errors import BadSetting
from bridge.routes import OWN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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

_FORCE_COLOUR = ("FORCE_COLOR", "CLICOLOR_FORCE")

# A process with one of these was started by a client.
SIGNS_OF_A_CLIENT = frozenset({"CLAUDECODE", "CLAUDE_PID", "CLAUDE_CODE_SESSION_ID"})


# Without a repr: it would show the key.
@dataclass(frozen=True, slots=True, repr=False)
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
        of_client = env.get("CLAUDE_CONFIG_DIR")
        found = {
            field: read(name, value)
            for name, (field, read) in VARIABLES.items()
            if (value := env.get(name))
        }
        usual: dict[str, Any] = {
            "home": user_home / ".hostbridge",
            "home_is_default": "home" not in found,
            "claude_dir": Path(of_client or user_home / ".claude"),
            "claude_record": Path(of_client or user_home) / ".claude.json",
        }
        return cls(**(usual | found))


def environment() -> dict[str, str]:
    """A copy of the process environment."""
    return dict(os.environ)


def asked_columns() -> int | None:
    """How wide the user says the terminal is (`COLUMNS`)."""
    value = os.environ.get("COLUMNS", "")
    return int(value[:4]) if value.isascii() and value.isdigit() else None


def colour_is_wanted(
    *, is_terminal: bool, env: Mapping[str, str] | None = None
) -> bool:
    """Whether a stream gets colour: as https://no-color.org and Python itself say."""
    env = os.environ if env is None else env
    if env.get("NO_COLOR"):
        return False
    if any(env.get(name, "0") not in ("", "0") for name in _FORCE_COLOUR):
        return True
    return is_terminal and env.get("TERM") != "dumb" and env.get("CLICOLOR") != "0"


def forbid_colour() -> None:
    """Do as if the user had set NO_COLOR, which other libraries obey, too."""
    os.environ["NO_COLOR"] = "1"


def environment_for_a_client(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """`env`, by default the process environment, for a client that we start."""
    env = os.environ if env is None else env
    return {name: value for name, value in env.items() if name not in _OF_A_CLIENT}


def _fallback(name: str, value: str) -> OwnRoute | None:
    wanted = value.strip().lower()
    if wanted in _FALSE:
        return None
    if wanted in _TRUE:
        return "local"
    for route in OWN:
        if wanted == route:
            return route
    raise BadSetting(f"{name}={value!r}: expected {', '.join(OWN)}, 1 (local) or 0")


def _folder(name: str, value: str) -> Path:
    if not value.startswith("/"):
        raise BadSetting(f"{name}={value!r}: expected an absolute path")
    return Path(value)


def _file(_name: str, value: str) -> Path:
    """A path relative to the working folder, or to the home with a `~`."""
    return Path(os.path.abspath(os.path.expanduser(value)))


def _flag(name: str, value: str) -> bool:
    wanted = value.strip().lower()
    if wanted in _TRUE | _FALSE:
        return wanted in _TRUE
    raise BadSetting(f"{name}={value!r}: expected 1 or 0")


def _at_least(least: int) -> Callable[[str, str], int]:
    """Read a whole number that is not below `least`."""

    def count(name: str, value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            number = least - 1
        if number < least:
            expected = f"a whole number from {least} up"
            raise BadSetting(f"{name}={value!r}: expected {expected}")
        return number

    return count


def _address(name: str, value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise BadSetting(f"{name}={value!r}: expected http:// or https://")
    return value


def _text(_name: str, value: str) -> str:
    return value


def _pid(_name: str, value: str) -> int | None:
    """The client's pid; nonsense is ignored, since the user does not set it."""
    return int(value) if value.isascii() and value.isdigit() else None


# Each variable, the setting that it sets, and how its value is read. An empty variable
# counts as not set.
VARIABLES: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "BRIDGE_HOME": ("home", _folder),
    "BRIDGE_STATE_DIR": ("state_dir", _folder),
    "BRIDGE_OFF": ("off", _flag),
    "BRIDGE_DEBUG": ("debug", _flag),
    "BRIDGE_SLOTS": ("slots", _at_least(1)),
    "BRIDGE_AGENTS_PER_HOUR": ("agents_per_hour", _at_least(0)),
    "BRIDGE_MAX_DEPTH": ("max_depth", _at_least(0)),
    "BRIDGE_MAX_OFFERS": ("max_offers", _at_least(1)),
    "BRIDGE_LEASE_S": ("lease_s", _at_least(1)),
    "BRIDGE_REQUESTER": ("requester", _text),
    "BRIDGE_CLI_FALLBACK": ("cli_fallback", _fallback),
    "BRIDGE_CLAUDE": ("claude", _text),
    "BRIDGE_PARENT": ("parent_request", _text),
    "BRIDGE_DEPTH": ("parent_depth", _at_least(0)),
    "BRIDGE_LOCAL_MODEL": ("local_model", _file),
    "BRIDGE_LOCAL_CONTEXT": ("local_context", _at_least(256)),
    "BRIDGE_LOCAL_MEMORY_MB": ("local_memory_mb", _at_least(0)),
    "BRIDGE_LOCAL_CACHE_MB": ("local_cache_mb", _at_least(0)),
    "BRIDGE_OPENAI_BASE_URL": ("openai_base_url", _address),
    "BRIDGE_OPENAI_MODEL": ("openai_model", _text),
    "BRIDGE_OPENAI_API_KEY": ("openai_api_key", _text),
    "CLAUDE_PID": ("host_pid", _pid),
    "CLAUDECODE": ("inside_client", lambda _name, _value: True),
    "CLAUDE_PROJECT_DIR": ("project_dir", lambda _name, value: Path(value)),
}
