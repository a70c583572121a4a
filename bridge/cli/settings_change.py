"""What an install or uninstall would change in a settings file, as a diff."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.host.install import Change


def difference(change: Change) -> str:
    """A unified diff; empty when nothing would change."""
    file = str(change.target.file)
    lines = unified_diff(
        _lines(change.before),
        _lines(change.after),
        "/dev/null" if change.before is None else file,
        "/dev/null" if change.after is None else file,
        lineterm="",
    )
    return "\n".join(lines)


def _lines(text: str | None) -> list[str]:
    return (text or "").splitlines()
