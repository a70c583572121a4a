"""A project whose agent answers by our own loop, and how often its model was asked."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from loopworld import Loop
from runworld import call, submit

if TYPE_CHECKING:
    from pathlib import Path

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

    def write(self, path: str, text: str = "one\n") -> Path:
        """Write a file, long enough before anybody looks at it."""
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def answer(self, *calls: str, **options: Any) -> Result[Any]:
        """Have the question answered after these calls."""
        time.sleep(TICK_S)
        return self.ask(*calls, cached=False, **options)

    def ask(
        self, *calls: str, prompt: str = "Look.", cached: bool = True, **options: Any
    ) -> Result[Any]:
        """Ask; the model, if it is asked, makes these calls before it answers."""
        self.serve(*calls, submit())
        options = {"route": "endpoint", "cached": cached, **options}
        agent = options.pop("agent", "checker")
        result = self.bridge.ask(prompt, agent, **options)
        self.asked = len(self.model.asked)
        return result

    def is_asked_again(self, *calls: str, **options: Any) -> bool:
        """Whether the same question goes to the model, or its answer still holds."""
        result = self.ask(*calls, **options)
        assert result.cached is not bool(self.asked)
        return bool(self.asked)
