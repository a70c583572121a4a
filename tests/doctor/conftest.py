"""What the tests of doctor share: a user with one project, and one to look at it."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bridge.doctor.finding import Finding
from bridge.doctor.subject import Subject, subject
from bridge.host.install import Installer, Scope, target_of
from bridge.shipped import hooks_folder
from bridge.store.host_process import identify
from bridge.store.sessions import Session


@dataclass(frozen=True)
class Patient:
    """One user with one project."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def bridge(self) -> Path:
        return self.home / ".hostbridge"

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def state(self) -> Path:
        return self.bridge / "state" / str(self.project).lstrip("/") / "@"

    @property
    def local(self) -> Path:
        return self.project / ".claude" / "settings.local.json"

    @property
    def managed(self) -> Path:
        return self.root / "managed"

    def seen(self, **env: str) -> Subject:
        """Look at it, with these variables set."""
        base = {"PATH": "/usr/bin:/bin", "HOME": str(self.home)}
        return subject({**base, **env}, self.project, managed=self.managed)

    def found(
        self, check: Callable[[Subject], Iterator[Finding]], **env: str
    ) -> list[Finding]:
        """What one check finds."""
        return list(check(self.seen(**env)))

    def install(self, kind: Scope = "local", python: str = sys.executable) -> Path:
        """Register the hooks; in which file."""
        settings = self.seen().settings
        installer = Installer(settings, self.project)
        target = target_of(kind, settings, self.project)
        change = installer.plan_install(target, hooks_folder(), python)
        installer.install(change, hooks_folder(), python)
        return target.file

    def opens(
        self,
        name: str = "s1",
        pid: int | None = None,
        carrier: str | None = None,
        **env: str,
    ) -> None:
        """A session of the project is open, started with these variables."""
        host = identify(pid or os.getpid())
        session = Session(session_id=name, host=host, registered_at=1, carrier=carrier)
        with self.seen(**env).store().state() as state, state["sessions"] as folder:
            folder.replace(f"{name}.json", session.to_json())


@pytest.fixture
def patient(tmp_path):
    made = Patient(tmp_path.resolve())
    made.home.mkdir()
    (made.project / ".git").mkdir(parents=True)
    made.managed.mkdir()
    return made
