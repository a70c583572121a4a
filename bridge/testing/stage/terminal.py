"""Interactive sessions: the client in a terminal that nobody looks at.

The terminal is tmux with a server of its own (`tmux -L NAME`), so a tmux of the user is
neither seen nor touched. The client starts through `env -i`: it sees none of tmux's
variables.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Self

from bridge.testing.stage.processes import Member, end, family

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.testing.stage.client import Stage

_PROMPT = re.compile(r"^\u276f\s", re.MULTILINE)
_POLL_S = 0.05


class TerminalUnavailable(Exception):
    """There is no tmux here."""


class TerminalSession:
    """A client at a terminal; a context manager that ends it.

    `mode` is the client's permission mode: default, auto, plan, acceptEdits, dontAsk.
    """

    def __init__(
        self,
        stage: Stage,
        *,
        mode: str = "default",
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        size: tuple[int, int] = (160, 50),
    ) -> None:
        """Start the client and wait until it takes input. `size` is columns, rows.

        Raises:
            TerminalUnavailable: tmux is not installed.
            TimeoutError: the prompt did not appear within 30 seconds.
        """
        found = shutil.which("tmux")
        if found is None:
            msg = "tmux not found; the interactive client needs a terminal"
            raise TerminalUnavailable(msg)
        self._tmux_program = found
        self._name = f"stage-{uuid.uuid4().hex[:12]}"
        self._env = {**stage.environment(), **(env or {})}
        self._tmux(
            *["new-session", "-d", "-x", str(size[0]), "-y", str(size[1])],
            *["-c", str(stage.project), "--", "env", "-i"],
            *[f"{name}={value}" for name, value in self._env.items()],
            *stage.command("--permission-mode", mode, args),
            # A client that ends at once leaves its last words on the screen.
            *[";", "set-option", "-g", "remain-on-exit", "on"],
        )
        self.pid = int(self._tmux("display-message", "-p", "#{pane_pid}"))
        self._server_pid = int(self._tmux("display-message", "-p", "#{pid}"))
        self._socket = Path(
            self._tmux("display-message", "-p", "#{socket_path}").strip()
        )
        self._family: list[Member] = []
        try:
            self.wait_until_ready()
        except BaseException:
            self.close()
            raise

    def screen(self) -> str:
        """Return what is visible, without trailing blanks."""
        return self._tmux("capture-pane", "-p").rstrip()

    def history(self) -> str:
        """Return what is visible and what has scrolled away."""
        return self._tmux("capture-pane", "-p", "-S", "-").rstrip()

    def type(self, text: str) -> None:
        """Type `text` at the prompt, without the return key."""
        self._tmux("send-keys", "-l", "--", text)

    def key(self, name: str) -> None:
        """Press one key, by tmux's name for it: Enter, Escape, C-c, BTab."""
        self._tmux("send-keys", name)

    def submit(self, text: str, *, timeout_s: float = 120) -> None:
        """Type `text`, wait until it stands at the prompt, and press return."""
        self.type(text)
        # A return that arrives with the text is part of it: a paste, no submission.
        self.wait_for_text(text[:40], timeout_s=timeout_s)
        time.sleep(0.1)
        self.key("Enter")

    def wait_for_text(self, text: str, *, timeout_s: float = 120) -> str:
        """Wait until `text` is on the screen; return the screen.

        Raises:
            TimeoutError: it was not there within `timeout_s` seconds.
        """
        return self.wait_for_match(re.escape(text), timeout_s=timeout_s)

    def wait_for_match(self, pattern: str, *, timeout_s: float = 120) -> str:
        """Wait until a regular expression matches the screen; return the screen.

        Raises:
            TimeoutError: it did not match within `timeout_s` seconds.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            shown = self.screen()
            if re.search(pattern, shown, re.MULTILINE):
                return shown
            if time.monotonic() > deadline:
                msg = f"{pattern!r} not on the screen within {timeout_s} s:\n{shown}"
                raise TimeoutError(msg)
            time.sleep(_POLL_S)

    def wait_until_ready(self, *, timeout_s: float = 120) -> None:
        """Wait until the prompt is drawn.

        Raises:
            TimeoutError: it was not there within `timeout_s` seconds.
        """
        self.wait_for_match(_PROMPT.pattern, timeout_s=timeout_s)

    def close(self, *, grace_s: float = 5) -> None:
        """Hang up: the client and its terminal end, and nothing else does.

        What still runs after `grace_s` seconds is killed, and so is what a killed
        client left behind.
        """
        self._family += family(self.pid) + family(self._server_pid)
        with contextlib.suppress(subprocess.CalledProcessError):
            self._tmux("kill-server")
        end(self._family, grace_s=grace_s)
        self._socket.unlink(missing_ok=True)

    def kill(self) -> None:
        """Kill the client where it stands, as a crash does.

        Its terminal and its children live on until `close`.
        """
        self._family += family(self.pid)
        end(self._family[:1])

    def __enter__(self) -> Self:
        """Return the session itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the client."""
        self.close()

    def _tmux(self, *args: str) -> str:
        done = subprocess.run(
            [self._tmux_program, "-L", self._name, "-f", os.devnull, *args],
            env=self._env,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout
