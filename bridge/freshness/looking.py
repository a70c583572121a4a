"""Note what an agent of our own loop looks at, before it does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bridge.freshness.disk import facts_of
from bridge.freshness.looks import Look, look_of
from bridge.freshness.noted import looks_of
from bridge.policy.globs import from_root
from bridge.store.clock import Clock, Moment

_PATTERNS = ("pattern", "glob")
_AT_A_PATH = ("file", "names", "contents")


class Looking:
    """The calls of one agent, which works in `folder`."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = str(folder)
        self._clock = clock
        self._notes: list[dict[str, Any]] = []

    def note(self, tool: str, tool_input: Mapping[str, Any]) -> None:
        """Note a call, by the client's names, that is about to run."""
        # Here a pattern begins in the project, whatever its first character.
        given = {
            name: from_root(value) if name in _PATTERNS else value
            for name, value in tool_input.items()
            if isinstance(value, str)
        }
        look = look_of(tool, given, self._folder, 0)
        facts = None
        if look is not None and look.kind in _AT_A_PATH:
            try:
                facts = facts_of(os.stat(look.path))
            except (OSError, ValueError):
                facts = ""
        now = Moment.now(self._clock)
        at = {"at": now.at_ms, "up": now.up_ms}
        self._notes.append({**at, "tool": tool, "input": given, "facts": facts})

    def looks(self) -> tuple[Look, ...]:
        """What it has looked at."""
        now_ms, up_ms = Moment.now(self._clock)
        return tuple(looks_of(self._notes, self._folder, now_ms=now_ms, up_ms=up_ms))
