"""A project whose agent answers by our own loop, and how often its model was asked."""

from __future__ import annotations

import time
from copy import copy
from pathlib import Path
from typing import Any

from loopworld import Loop
from runworld import call, submit

from bridge.api.bridge import Bridge
from bridge.api.result import Result

READS = call("read_file", path="src/a.py")
GLOBS = call("list_files", folder="src", pattern="*.py")
GREPS = call("search_text", text="one", folder="src", pattern="*.py")
RUNS = call("run_command", command="echo hi")
# The kernel's clock of files goes on in steps.
TICK_S = 0.05


class CachedWorld(Loop):
    """Asks the same question again and again."""

    asked = 0

    @property
    def project(self) -> Path:
        """Where its files are."""
        return self.bridge.store.place.project

    @property
    def folder(self) -> Path:
        """The same, for `gitworld.Repository.git`."""
        return self.project

    def at(self, bridge: Bridge) -> CachedWorld:
        """The same agents in another project."""
        other = copy(self)
        other.bridge = bridge
        return other

    def write(self, path: str, text: str = "one\n") -> Path:
        """Write a file."""
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def answer(self, *replies: Any, **options: Any) -> Result[Any]:
        """Have the question answered, some time after files were written."""
        time.sleep(TICK_S)
        return self.ask(*replies, cached=False, **options)

    def ask(self, *replies, prompt="Look.", cached=True, degraded=False, **options):
        """Ask; the model, if it is asked, replies so before it answers."""
        self.serve(*replies, submit(), degraded=degraded)
        options = {"route": "endpoint", "cached": cached, **options}
        agent = options.pop("agent", "checker")
        try:
            return self.bridge.ask(prompt, agent, **options)
        finally:
            self.asked = len(self.model.asked)

    def is_asked_again(self, *replies: Any, **options: Any) -> bool:
        """Whether the same question goes to the model, or its answer still holds."""
        time.sleep(TICK_S)
        result = self.ask(*replies, **options)
        assert result.cached is not bool(self.asked)
        return bool(self.asked)

    def reasons(self) -> list[str]:
        """Why the newest answers do not hold."""
        return [
            f"{reason.what}: {reason.about}"
            for standing in self.bridge.stale()
            for reason in standing.reasons
        ]


def files_in(world: CachedWorld, folder: str) -> list[Path]:
    """The records in a folder of the state."""
    return sorted((world.bridge.store.place.state / folder).glob("*.json"))
