"""What the tests of doctor share: a user with one project, and one to look at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from bridge.doctor.subject import Subject, subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bridge.doctor.finding import Finding


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


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    made = Patient(tmp_path.resolve())
    made.home.mkdir()
    (made.project / ".git").mkdir(parents=True)
    made.managed.mkdir()
    return made
