"""Pins as hooks leave them: where an open session belongs, and who acts for it."""

import json
from pathlib import Path


def pin(guard: Path, session: str, kind: str, state: Path, *, pid: int = 7) -> Path:
    """Say where a session belongs, and that an install acts for it."""
    folder = guard / "pins" / f"{session}.{pid}"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "state").symlink_to(state)
    (folder / "project").symlink_to("/project")
    host = {"pid": pid, "startTime": "8", "boot": "9"}
    (folder / "host").write_text(json.dumps(host))
    (folder / f"by-{kind}").touch()
    return folder


def kinds_at_work(home: Path) -> list[str]:
    """Which installs act for the sessions that are open."""
    found = home.glob("pins/*/by-*")
    return sorted(each.name.removeprefix("by-") for each in found)
