"""Note what an agent of our own loop looks at, before it does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bridge.freshness.disk import facts_of
from bridge.freshness.looks import Look, look_of
from bridge.freshness.noted import looks_of
from bridge.store.clock import Clock


class Looking:
    """The calls of one agent, which works in `folder`."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = str(folder)
        self._clock = clock
        self._notes: list[dict[str, Any]] = []

    def note(self, tool: str, tool_input: Mapping[str, Any]) -> None:
        """Note a call, by the client's names, that is about to run."""
        look = look_of(tool, tool_input, self._folder, 0)
        facts = None
        if look is not None and look.kind == "file":
            try:
                facts = facts_of(os.stat(look.path))
            except (OSError, ValueError):
                facts = ""
        at = {"at": self._now_ms(), "up": self._up_ms()}
        note = {"tool": tool, "input": dict(tool_input), "facts": facts}
        self._notes.append(at | note)

    def looks(self) -> tuple[Look, ...]:
        """What it has looked at."""
        now_ms, up_ms = self._now_ms(), self._up_ms()
        return tuple(looks_of(self._notes, self._folder, now_ms=now_ms, up_ms=up_ms))

    def _now_ms(self) -> int:
        return self._clock.now_us() // 1000

    def _up_ms(self) -> int:
        return int(self._clock.monotonic_s() * 1000)
