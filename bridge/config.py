"""Settings: the one place that reads the environment, and the table of all settings.

Flags win over `BRIDGE_*`, which win over `config.toml` (`bridge.store.config_file`),
which wins over the defaults here. A value that means nothing is an error that names the
variable or the line, never a silent default.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.setting import (
    ADDRESS,
    FALLBACK,
    FILE,
    FLAG,
    FOLDER,
    PID,
    PLACE,
    PROGRAM,
    QUEUE,
    SIGN,
    TEXT,
    Setting,
    count,
    one_of,
    setting,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.routes import OwnRoute

# Definitions, settings, models and records of a user, in the user's home.
HOME_FOLDER = ".hostbridge"

# What a client sets for the programs that it starts. A client that we start must not
# see it: it would think that it runs inside the other one.
_OF_A_CLIENT = (
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA",
)  # fmt: skip

# What `git commit` sets for its hooks. A program in another folder would take the
# repository, and the index of the commit in progress, for its own.
_INDEX = "GIT_INDEX_FILE"
_OF_A_COMMIT = (
    _INDEX, "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
)  # fmt: skip

_FORCE_COLOUR = ("FORCE_COLOR", "CLICOLOR_FORCE")

# A process with one of these was started by a client.
# Whoever an agent of ours starts has this, on every route.
SIGN_OF_AN_AGENT = "BRIDGE_PARENT"
SIGNS_OF_A_CLIENT = frozenset({"CLAUDECODE", "CLAUDE_PID", "CLAUDE_CODE_SESSION_ID"})

# Nobody waits longer for an answer: a larger number is in the wrong unit.
LONGEST_S = 30 * 86_400

_FINDS_FILES = "it says where the files are"
_OF_A_REQUEST = "hostbridge itself sets it, for what an agent starts"
_THE_CLIENTS = "the client itself sets it"


# No dataclass: every command reads this class, and importing dataclasses takes a tenth
# of its time. Without a repr: it would show the key.
class Settings:
    """Everything that can be set from outside, each with what is known about it.

    Nothing sets a field later: `with_` makes a copy.

    Attributes:
        home_is_default: `BRIDGE_HOME` is not set.
        claude_record: the client's record of projects: `.claude.json` in
            `CLAUDE_CONFIG_DIR`, or in the user's home.
        sources: where each value comes from that is no default: the name of a
            variable, or the path of a file.
    """

    home: Path = setting(
        "BRIDGE_HOME", FOLDER, "where everything is kept", "session", "caller", "serve",
        usual="~/.hostbridge", only_variable=_FINDS_FILES,
    )  # fmt: skip
    state_dir: Path | None = setting(
        "BRIDGE_STATE_DIR", FOLDER, "one state directory for every project",
        "session", "caller", "serve", only_variable=_FINDS_FILES,
    )  # fmt: skip
    off: bool = setting(
        "BRIDGE_OFF", FLAG, "set for the client: its hooks do nothing at all; for a "
        "program: `ask` says so and fails", "session", "caller", "serve",
        default=False, only_variable="`hostbridge off` switches off for good",
    )  # fmt: skip
    debug: bool = setting(
        "BRIDGE_DEBUG", FLAG, "log what each hook saw and did to `debug.log`",
        "session", default=False,
    )  # fmt: skip
    slots: int = setting(
        "BRIDGE_SLOTS", count(1), "agents at once per session", "session",
        default=4, unit="agents",
    )  # fmt: skip
    # A person's busy half hour took 50. A loop around `ask`, which the limit of depth
    # does not see, starts 240 even if each agent takes 15 s and none run side by side.
    agents_per_hour: int = setting(
        "BRIDGE_AGENTS_PER_HOUR", count(0), "agents a session may start in an hour",
        "session", default=200, unit="agents",
    )  # fmt: skip
    # So many agents with 100,000 each; a busy hour of a person takes a third.
    tokens_per_hour: int = setting(
        "BRIDGE_TOKENS_PER_HOUR", count(0), "tokens that its agents may take in an "
        "hour", "session", default=20_000_000, unit="tokens",
    )  # fmt: skip
    # 25 such hours: more than a busy week, less than a loop that runs for two days.
    agents_per_session: int = setting(
        "BRIDGE_AGENTS_PER_SESSION", count(0), "agents a session may start in all",
        "session", default=5_000, unit="agents",
    )  # fmt: skip
    tokens_per_session: int = setting(
        "BRIDGE_TOKENS_PER_SESSION", count(0), "tokens that its agents may take in all",
        "session", default=500_000_000, unit="tokens",
    )  # fmt: skip
    # A review of a hundred files is an ordinary morning. With four slots it takes more
    # than half of the agents of an hour: more than that needs a yes.
    fan_out: int = setting(
        "BRIDGE_FAN_OUT", count(1), "requests of one caller at once, and agents below "
        "one request, before more wait for your yes", "session", "caller", default=100,
        unit="requests",
    )  # fmt: skip
    max_depth: int = setting(
        "BRIDGE_MAX_DEPTH", count(0), "how deeply agents may ask agents",
        "session", "caller", default=2, unit="levels",
    )  # fmt: skip
    max_offers: int = setting(
        "BRIDGE_MAX_OFFERS", count(1), "how often a request is offered to a model that "
        "ignores it", "session", default=3, unit="times",
    )  # fmt: skip
    # A conversation grows with each question, and all of it is read again at each turn.
    continue_questions: int = setting(
        "BRIDGE_CONTINUE_QUESTIONS", count(1), "how many questions one agent may "
        "answer in one conversation", "session", "caller", default=10,
        unit="questions",
    )  # fmt: skip
    # The provider's cache of what it has read lasts minutes; the session that holds it
    # may do other things for hours.
    continue_age: int = setting(
        "BRIDGE_CONTINUE_AGE", count(1), "how long after its last answer an agent may "
        "be asked again", "session", "caller", default=3_600, unit="seconds",
    )  # fmt: skip
    # Without a variable: no program that starts a client says yes for its user.
    share_conversation: bool = setting(
        "", FLAG, "programs may ask what a session knows (`ask --context session`), "
        "which shows them its whole conversation", "session", "caller", "serve",
        default=False,
    )  # fmt: skip
    wake: str = setting(
        "BRIDGE_WAKE", one_of("ring", "watch"), "how an idle session at a terminal "
        "wakes: at once, by a process that waits for a ring, or when the client sees a "
        "file change, 0.6 s later", "session", default="ring",
    )  # fmt: skip
    lease_s: int = setting(
        "BRIDGE_LEASE_S", count(1), "how long a session in another PID namespace "
        "counts as alive", "session", "caller", "serve", default=900, unit="seconds",
    )  # fmt: skip
    keep_days: int = setting(
        "BRIDGE_KEEP_DAYS", count(0), "what ended longer ago is removed, once a day; "
        "0 for never", "session", "caller", "serve", default=90, unit="days",
    )  # fmt: skip
    keep_mib: int = setting(
        "BRIDGE_KEEP_MIB", count(0), "of more than that the oldest is removed, once a "
        "day; 0 for no limit", "session", "caller", "serve", default=1024, unit="MiB",
    )  # fmt: skip
    cli_fallback: OwnRoute | None = setting(
        "BRIDGE_CLI_FALLBACK", FALLBACK, "the route that answers an `ask` without "
        "`--route`", "caller",
    )  # fmt: skip
    claude: str = setting(
        "BRIDGE_CLAUDE", PROGRAM, "the program of the route `claude`", "caller",
        "serve", default="claude",
    )  # fmt: skip
    openai_base_url: str | None = setting(
        "BRIDGE_OPENAI_BASE_URL", ADDRESS, "the OpenAI-compatible server behind "
        "`openai:NAME`, such as `http://127.0.0.1:8080/v1`", "caller", "serve",
    )  # fmt: skip
    openai_model: str | None = setting(
        "BRIDGE_OPENAI_MODEL", TEXT, "which of its models answers if none is named",
        "caller", "serve", usual="its only one",
    )  # fmt: skip
    openai_api_key: str = setting(
        "BRIDGE_OPENAI_API_KEY", TEXT, "the key it expects", "caller", "serve",
        default="none", is_secret=True,
    )  # fmt: skip
    queue: str | None = setting(
        "BRIDGE_QUEUE", QUEUE, "the queue of the route `remote`, such as "
        "`rediss://user@host/0?name=shop`", "caller", "serve",
    )  # fmt: skip
    queue_password: str | None = setting(
        "BRIDGE_QUEUE_PASSWORD", TEXT, "its password", "caller", "serve",
        usual="none", is_secret=True,
    )  # fmt: skip
    queue_password_file: Path | None = setting(
        "BRIDGE_QUEUE_PASSWORD_FILE", FILE, "a file that holds its password", "caller",
        "serve",
    )  # fmt: skip
    requester: str | None = setting(
        "BRIDGE_REQUESTER", TEXT, "who asks, as shown to the user", "caller",
        usual="program and pid",
    )  # fmt: skip
    traceparent: str | None = setting(
        "TRACEPARENT", TEXT, "the trace that the asking program is part of", "caller",
        only_variable="a program that traces itself sets it",
    )  # fmt: skip
    local_model: Path | None = setting(
        "BRIDGE_LOCAL_MODEL", FILE, "the GGUF file of the local model", "caller",
        "serve", usual="the largest that can be loaded",
    )  # fmt: skip
    local_context: int = setting(
        "BRIDGE_LOCAL_CONTEXT", count(256), "size of its context, at most what it was "
        "trained on", "caller", "serve", default=8192, unit="tokens",
    )  # fmt: skip
    local_memory_mb: int = setting(
        "BRIDGE_LOCAL_MEMORY_MB", count(0), "what its process may allocate besides the "
        "file; 0 for no limit", "caller", "serve", default=0, unit="MiB",
    )  # fmt: skip
    local_cache_mb: int = setting(
        "BRIDGE_LOCAL_CACHE_MB", count(0), "prompts kept on disk; 0 keeps none",
        "caller", "serve", default=1024, unit="MiB",
    )  # fmt: skip
    research_agent: str = setting(
        "BRIDGE_RESEARCH_AGENT", TEXT, "the agent that looks around for workflows",
        "session", "caller", default="researcher",
    )  # fmt: skip
    research_timeout: int = setting(
        "BRIDGE_RESEARCH_TIMEOUT", count(1), "how long that agent may take, instead of "
        "what its definition says", "session", "caller", default=60, unit="seconds",
    )  # fmt: skip
    research_max_turns: int = setting(
        "BRIDGE_RESEARCH_MAX_TURNS", count(1), "how many turns it has, instead of "
        "what its definition says", "session", "caller", default=10, unit="turns",
    )  # fmt: skip
    validation_max_iterations: int = setting(
        "BRIDGE_VALIDATION_MAX_ITERATIONS", count(1), "how often a task may fail its "
        "validation before a person is asked", "session", "caller", default=3,
        unit="times",
    )  # fmt: skip
    parent_request: str | None = setting(
        SIGN_OF_AN_AGENT, TEXT, "the request whose agent started this process",
        "session", "caller", only_variable=_OF_A_REQUEST,
    )  # fmt: skip
    parent_depth: int = setting(
        "BRIDGE_DEPTH", count(0), "how many agents stand above that request", "caller",
        default=0, only_variable=_OF_A_REQUEST,
    )  # fmt: skip
    host_pid: int | None = setting(
        "CLAUDE_PID", PID, "the client that this process runs under", "session",
        "caller", only_variable=_THE_CLIENTS,
    )  # fmt: skip
    inside_client: bool = setting(
        "CLAUDECODE", SIGN, "a client started this process", "caller", default=False,
        only_variable=_THE_CLIENTS,
    )  # fmt: skip
    project_dir: Path | None = setting(
        "CLAUDE_PROJECT_DIR", PLACE, "the client's project", "session",
        only_variable=_THE_CLIENTS,
    )  # fmt: skip
    claude_dir: Path = setting(
        "CLAUDE_CONFIG_DIR", PLACE, "the client's own folder", "session", "caller",
        default=Path("~/.claude"), only_variable="it is the client's",
    )  # fmt: skip
    home_is_default: bool = True
    claude_record: Path = Path("~/.claude.json")
    sources: Mapping[str, str] = MappingProxyType({})

    def __init__(self, home: Path, **others: Any) -> None:
        """Take values by their keys; the others are the defaults."""
        self.__dict__.update(DEFAULTS, home=home, **others)

    def with_(self, **changes: Any) -> Settings:
        """A copy with other values for some keys."""
        return Settings(**(self.__dict__ | changes))

    @classmethod
    def from_environment(cls, env: Mapping[str, str] | None = None) -> Settings:
        """Read the settings from `env`, by default the process environment.

        Raises:
            BadSetting: a variable holds a value that means nothing.
        """
        env = os.environ if env is None else env
        user_home = Path(env.get("HOME") or os.path.expanduser("~"))
        # An empty variable counts as not set.
        given = {
            key: each
            for key, each in TABLE.items()
            # Even a variable without a name can be set.
            if each.variable and env.get(each.variable)
        }
        found: dict[str, Any] = {
            key: each.kind.read(each.variable, env[each.variable])
            for key, each in given.items()
        }
        usual: dict[str, Any] = {
            "home": user_home / HOME_FOLDER,
            "home_is_default": "home" not in found,
            "claude_dir": user_home / ".claude",
            "claude_record": found.get("claude_dir", user_home) / ".claude.json",
            "sources": {key: each.variable for key, each in given.items()},
        }
        return cls(**(usual | found))


# Every setting, by its key: the name of its field, and its name in `config.toml`.
TABLE: dict[str, Setting] = {
    key: each for key, each in vars(Settings).items() if isinstance(each, Setting)
}
DEFAULTS: dict[str, Any] = {key: each.default for key, each in TABLE.items()}
VARIABLES = frozenset(each.variable for each in TABLE.values() if each.variable)


_OF_GIT = (
    "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM", "TZ",
)  # fmt: skip


def environment() -> dict[str, str]:
    """A copy of the process environment."""
    return dict(os.environ)


def change_environment(changes: Mapping[str, str | None]) -> dict[str, str | None]:
    """Set variables of this process, for programs that it starts, too; None removes.

    Returns what takes it back.
    """
    before = {name: os.environ.get(name) for name in changes}
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    return before


def git_environment() -> dict[str, str]:
    """The variables that say where the user's configuration of git is, and the time."""
    return {name: os.environ[name] for name in _OF_GIT if name in os.environ}


class GitOfCaller(NamedTuple):
    """Git's own variables, as `git` has set them for the hook that called us.

    Attributes:
        index_file: the index that a `git commit` in progress shows its hooks.
        folder: the git folder.
        tree: the work tree; by default the current folder.
    """

    index_file: str | None
    folder: str | None
    tree: str | None


def git_of_caller() -> GitOfCaller:
    """Git's own variables: paths relative to the current folder."""
    names = ("GIT_INDEX_FILE", "GIT_DIR", "GIT_WORK_TREE")
    return GitOfCaller(*(os.environ.get(name) or None for name in names))


def asked_columns() -> int | None:
    """How wide the user says the terminal is (`COLUMNS`)."""
    value = os.environ.get("COLUMNS", "")
    return int(value[:4]) if value.isascii() and value.isdigit() else None


def language(env: Mapping[str, str] | None = None) -> str:
    """The language of the locale, such as `de`; empty if it has none.

    Source: POSIX, "Environment Variables": the first of these that is not empty.
    """
    env = os.environ if env is None else env
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((env[name] for name in names if env.get(name)), "")
    found = locale.partition("_")[0].partition(".")[0].partition("@")[0]
    return found if found.islower() else ""


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
    hidden = (*_OF_A_CLIENT, *(_OF_A_COMMIT if env.get(_INDEX) else ()))
    return {name: value for name, value in env.items() if name not in hidden}


def has_cd_path() -> bool:
    """Whether shells look for the folders of `cd` elsewhere, too."""
    return bool(os.environ.get("CDPATH"))
