"""The real Claude Code client: where it comes from, and the world it runs in.

Run as a program, it installs the client and prints its path.

`ensure_client` installs one fixed version by npm into a cache folder, once. `Stage` is
a clean world for it: a home and a project folder that it trusts, an environment of a
few variables, and a scripted API on loopback as the only place it can reach.

Environment: `BRIDGE_TEST_CLAUDE` names a client to use instead, `BRIDGE_TEST_CACHE` the
cache folder (default `~/.cache/hostbridge-tests`).
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.config import environment
from bridge.testing.stage import progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.testing.stage.api import ScriptedApi

PACKAGE = "@anthropic-ai/claude-code"
VERSION = "2.1.332"
API_KEY = "dummy-key-of-the-stage-0123456789abcdef"
# The client keeps the end of a key it was allowed to use, not the key.
_KEY_TAIL = 20


class ClientUnavailable(Exception):
    """The client can be neither found nor installed."""


def ensure_client(cache_dir: Path | None = None) -> Path:
    """Return the path of the client, installing it when it is not there yet.

    Two processes may ask at once: the second waits for the first. An installation that
    was cut off is never used; the next call starts again.

    Raises:
        ClientUnavailable: npm is missing or failed, or `BRIDGE_TEST_CLAUDE` is wrong.
    """
    if given := environment().get("BRIDGE_TEST_CLAUDE"):
        if not os.access(given, os.X_OK):
            msg = f"BRIDGE_TEST_CLAUDE={given!r}: not an executable file"
            raise ClientUnavailable(msg)
        return Path(given)
    cache = cache_dir or cache_folder()
    folder = cache / f"claude-code-{VERSION}"
    program = folder / "node_modules" / ".bin" / "claude"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _install(folder)
    return program


def cache_folder() -> Path:
    """Where what comes by npm is kept."""
    named = environment().get("BRIDGE_TEST_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "hostbridge-tests"


def _install(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        msg = (
            "npm not found, and Claude Code comes by npm: install Node.js, or point "
            "BRIDGE_TEST_CLAUDE at a client that is there"
        )
        raise ClientUnavailable(msg)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".install-") as made:
        target = Path(made) / "client"
        target.mkdir()
        flags = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=http"]
        wanted = f"{PACKAGE}@{VERSION}"
        command = [npm, "install", "--prefix", str(target), *flags, wanted]
        code, end = progress.run("npm", command)
        if code != 0:
            msg = f"npm install {wanted} failed:\n{end}"
            raise ClientUnavailable(msg)
        target.rename(folder)


class Stage:
    """One clean world under `root`: home, project, settings, environment.

    `home` is $HOME, with onboarding done and the dummy key approved; `project` is the
    folder the client works in, already trusted. `extra_env` is added to the
    environment, and wins.
    """

    def __init__(
        self,
        root: Path,
        api: ScriptedApi,
        *,
        program: Path | None = None,
        extra_env: Mapping[str, str] | None = None,
    ) -> None:
        """Make the folders."""
        self.root = root.resolve()
        self.home = self.root / "home"
        self.project = self.root / "project"
        self.temporary = self.root / "tmp"
        self.api = api
        self.program = program or ensure_client()
        self.extra_env = dict(extra_env or {})
        (self.home / ".claude").mkdir(parents=True, exist_ok=True)
        self.project.mkdir(exist_ok=True)
        self.temporary.mkdir(mode=0o700, exist_ok=True)
        self.trust(self.project)

    def trust(self, folder: Path) -> None:
        """Let the client work in `folder` without asking; call before it starts."""
        file = self.home / ".claude.json"
        known = json.loads(file.read_text()) if file.exists() else _first_settings()
        known["projects"][str(folder.resolve())] = {
            "hasTrustDialogAccepted": True,
            "hasCompletedProjectOnboarding": True,
        }
        file.write_text(json.dumps(known, indent=2) + "\n")

    def settings(self, content: Mapping[str, Any]) -> Path:
        """Write the project's `settings.local.json`; return its path."""
        file = self.project / ".claude" / "settings.local.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(content, indent=2) + "\n")
        return file

    def environment(self) -> dict[str, str]:
        """Return the whole environment of the client."""
        return {
            "PATH": environment()["PATH"],
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": API_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            # Without it a terminal session fetches plugins by https, git and ssh.
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
            # Whatever else wants to leave this machine ends at the scripted API, which
            # refuses it and keeps it in `strays`.
            "HTTP_PROXY": self.api.url,
            "HTTPS_PROXY": self.api.url,
            "NO_PROXY": "127.0.0.1,localhost",
            "CLAUDE_CODE_TMPDIR": str(self.temporary),
            **self.extra_env,
        }

    def command(self, *args: str | Sequence[str]) -> list[str]:
        """Return the command line of the client with `args`."""
        flat: list[str] = []
        for arg in args:
            flat += [arg] if isinstance(arg, str) else list(arg)
        return [str(self.program), *flat]


def _first_settings() -> dict[str, Any]:
    return {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "numStartups": 5,
        "customApiKeyResponses": {"approved": [API_KEY[-_KEY_TAIL:]], "rejected": []},
        "projects": {},
    }


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{ensure_client()}\n")
    except ClientUnavailable as exc:
        sys.exit(f"stage: {exc}")
