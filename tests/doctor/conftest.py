"""What the tests of doctor share: a user with one project, and one to look at it."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bridge.doctor import hook_run
from bridge.doctor.finding import Finding
from bridge.doctor.subject import Subject, subject
from bridge.host.install import Installer, Scope, target_of
from bridge.shipped import hooks_folder
from bridge.store.host_process import identify
from bridge.store.sessions import Session


class Patient:
    """One user with one project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home, self.project = root / "home", root / "project"
        self.bridge = self.home / ".hostbridge"
        self.state = self.bridge / "state" / str(self.project).lstrip("/") / "@"
        self.local = self.project / ".claude" / "settings.local.json"
        self.managed = root / "managed"

    def seen(self, **env: str) -> Subject:
        """Look at it, with these variables set."""
        base = {"PATH": "/usr/bin:/bin", "HOME": str(self.home)}
        return subject({**base, **env}, self.project, managed=self.managed)

    def found(
        self, check: Callable[[Subject], Iterator[Finding]], **env: str
    ) -> list[Finding]:
        """What one check finds."""
        return list(check(self.seen(**env)))

    def only(
        self, check: Callable[[Subject], Iterator[Finding]], **env: str
    ) -> Finding:
        """The only thing that one check finds."""
        (finding,) = self.found(check, **env)
        return finding

    def write(self, file: Path, content: dict[str, Any]) -> None:
        """Write JSON, such as settings, wherever it may lie."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content))

    def install(self, kind: Scope = "local", python: str = sys.executable) -> Path:
        """Register the hooks; in which file."""
        settings = self.seen().settings
        installer = Installer(settings, self.project)
        target = target_of(kind, settings, self.project)
        change = installer.plan_install(target, hooks_folder(), python)
        installer.install(change, hooks_folder(), python)
        return target.file

    def opens(self, name="s1", pid=None, carrier=None, **env):
        """A session of the project is open, started with these variables."""
        host = identify(pid or os.getpid())
        session = Session(session_id=name, host=host, registered_at=1, carrier=carrier)
        with self.seen(**env).store().state() as state, state["sessions"] as folder:
            folder.replace(f"{name}.json", session.to_json())


@pytest.fixture
def patient(tmp_path, monkeypatch):
    # Of so many runs of a hook, and of a bare shell, the best is told.
    monkeypatch.setattr(hook_run, "_ROUNDS", 2)
    made = Patient(tmp_path.resolve())
    made.home.mkdir()
    (made.project / ".git").mkdir(parents=True)
    made.managed.mkdir()
    return made
