"""What is looked at: settings, project, state. Whatever is broken is kept as words."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.config import Settings
from bridge.errors import BridgeError
from bridge.store.location import Place, find_project, locate
from bridge.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping

_MANAGED = {
    "darwin": Path("/Library/Application Support/ClaudeCode"),
    "linux": Path("/etc/claude-code"),
}
# Locks are held for milliseconds; longer is worth a word.
_LOCK_WAIT_S = 2.0


@dataclass(frozen=True, slots=True)
class Subject:
    """One user's bridge in one project.

    Attributes:
        env: the environment it is seen in.
        settings: what `env` says, or the defaults where it means nothing.
        complaint: why `env` means nothing.
        project: the project's folder.
        place: where the state lies; None when it is refused.
        refusal: why it is refused.
        managed: folder of the settings that an administrator sets.
    """

    env: Mapping[str, str]
    settings: Settings
    complaint: str
    project: Path
    place: Place | None
    refusal: str
    managed: Path

    def store(self) -> Store | None:
        """The store; None when its place is refused."""
        if self.place is None:
            return None
        lease_s = self.settings.lease_s
        return Store(self.place, lock_wait_s=_LOCK_WAIT_S, lease_s=lease_s)


def subject(
    env: Mapping[str, str], start: Path, *, managed: Path | None = None
) -> Subject:
    """Look at the project around `start`; never raises for what is merely broken."""
    settings, complaint = _settings(env)
    place, refusal = None, ""
    try:
        place = locate(settings, start)
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
    """The settings; without what means nothing, one variable after the other."""
    left = dict(env)
    complaint = ""
    while True:
        try:
            return Settings.from_environment(left), complaint
        except BridgeError as exc:
            complaint = complaint or str(exc)
            bad = str(exc).partition("=")[0]
            if left.pop(bad, None) is None:
                plain = {k: v for k, v in env.items() if not k.startswith("BRIDGE_")}
                return Settings.from_environment(plain), complaint
