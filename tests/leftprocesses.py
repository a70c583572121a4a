"""Which processes a command has left behind, by a variable that they inherit."""

import secrets
from contextlib import suppress
from pathlib import Path

import pytest
from polling import wait_until

NAME = "HOSTBRIDGE_TEST_MARK"


class Marked:
    """Processes of one test, by what `env` has in it."""

    def __init__(self) -> None:
        if not Path("/proc/self/environ").exists():
            pytest.skip("no /proc: nobody can tell what a process has inherited")
        self._mark = f"{NAME}={secrets.token_hex(8)}"
        self.env = dict([self._mark.split("=")])

    def running(self) -> list[str]:
        """The command lines of those that run now."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                # Of one that has ended, and was not waited for, it is empty.
                if self._mark.encode() in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_text())
        return found

    def have_ended(self) -> bool:
        """Whether all have ended, or do so within a moment."""
        return wait_until(lambda: not self.running(), timeout_s=20)
