"""What is examined: settings, project, state. Problems are kept as text."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bridge.config import Settings
from bridge.errors import BadSetting, BridgeError
from bridge.store.config_file import in_files
from bridge.store.location import Place, find_project, locate
from bridge.store.sessions import Session, live_sessions
from bridge.store.store import Store

_MANAGED = {
    "darwin": Path("/Library/Application Support/ClaudeCode"),
    "linux": Path("/etc/claude-code"),
}
# Locks are held for milliseconds; a longer wait is worth reporting.
_LOCK_WAIT_S = 2.0


@dataclass(frozen=True, slots=True)
class Subject:
    """One user's bridge in one project.

    Attributes:
        env: the environment it is seen in.
        settings: what `env` and the files of settings say, without what is invalid.
        complaint: what is invalid in `env`.
        project: the project's folder.
        place: where the state lies; None if it is refused.
        refusal: why it is refused.
        managed: the folder of an administrator's settings.
    """

    env: Mapping[str, str]
    settings: Settings
    complaint: str
    project: Path
    place: Place | None
    refusal: str
    managed: Path

    def store(self) -> Store | None:
        """The store; None if its place is refused."""
        if self.place is None:
            return None
        lease_s = self.settings.lease_s
        return Store(self.place, lock_wait_s=_LOCK_WAIT_S, lease_s=lease_s)

    def live_sessions(self) -> list[Session]:
        """The project's open sessions."""
        store = self.store()
        return live_sessions(store) if store else []


def subject(
    env: Mapping[str, str], start: Path, *, managed: Path | None = None
) -> Subject:
    """The project around `start`; raises nothing for what is merely broken."""
    settings, complaint = _settings(env)
    place, refusal = None, ""
    try:
        place = locate(settings, start)
        settings, _ = in_files(settings, place.state)
    except BridgeError as exc:
        refusal = str(exc)
    return Subject(
        env=env,
        settings=settings,
        complaint=complaint,
        project=find_project(start),
        place=place,
        refusal=refusal,
        managed=managed or _MANAGED.get(sys.platform, _MANAGED["linux"]),
    )


def _settings(env: Mapping[str, str]) -> tuple[Settings, str]:
    """The settings without invalid variables, and the first complaint about one."""
    left, complaint = dict(env), ""
    while True:
        try:
            return Settings.from_environment(left), complaint
        except BadSetting as exc:
            complaint = complaint or str(exc)
            # Each of these errors starts with the variable's name.
            del left[str(exc).partition("=")[0]]
