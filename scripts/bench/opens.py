"""Count how often a hook event, and a question, opens the state and its files.

The hooks and the command line of a checkout run under strace in a scratch home, once
each, in an environment that has that checkout and the libraries of this one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections import Counter
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

STRACE = ("strace", "-f", "-qq", "-y", "--seccomp-bpf", "-e", "trace=open,openat")
OPENED = re.compile(r'"(?:[^"\\]|\\.)*", (?P<flags>[A-Z_|]+).* = \d+<(?P<path>/.*)>$')


def show_opens(root: Path) -> None:
    """Print the table of a checkout."""
    if not which(STRACE[0]):
        print("no table of what is opened: strace is missing")
        return
    with tempfile.TemporaryDirectory(prefix="hostbridge-figures-") as folder:
        home = Path(folder).resolve()
        venv.create(home / "venv", symlinks=True)
        python = home / "venv" / "bin" / "python"
        (site,) = (home / "venv").glob("lib/*/site-packages")
        # Only the paths, without editable installs.
        paths = (root, root / "scripts", sysconfig.get_path("purelib"))
        (site / "figures.pth").write_text("".join(f"{path}\n" for path in paths))
        command = [python, "-P", __file__, home]
        subprocess.run(command, check=True, cwd=home)


def main() -> int:
    """Run everything once, in the environment that `show_opens` has made."""
    from bench_hooks import Life

    import bench.world as bench_world

    home = Path(sys.argv[1])
    table = Table(home)
    world = bench_world.World(home, "project")
    live = Life(world)
    live()
    bench_world.run = table.run_hook
    bench_world.World(home, "another")
    live()
    os.chdir(world.project)
    env = {name: world.environment[name] for name in ("PATH", "HOME", "LANG")}
    bridge = (sys.executable, "-m", "bridge")
    asked = ("general-purpose", "Which modules lack tests?")
    table.run("submit", [*bridge, "submit", *asked], env)
    table.run("status", [*bridge, "status"], env)
    table.run("ask --route local", [*bridge, "ask", *asked, "--route", "local"], env)
    return 0


class Table:
    """Prints a line for each process that it runs."""

    def __init__(self, home: Path) -> None:
        """Print the header."""
        self._log = home / "strace.log"
        self._home = home / "home" / ".hostbridge"
        print(f"\n{'opens, by one':<24}{'state':>7}{'reads':>7}{'of files':>10}"
              f"{'definitions':>13}{'in our home':>13}")  # fmt: skip

    def run_hook(
        self, command: Sequence[str], env: dict[str, str], stdin: bytes
    ) -> Any:
        """Run a hook, in place of `bench.timing.run`."""
        from bench.timing import Ran

        event = json.loads(stdin)
        name = event["hook_event_name"]
        if "tool_name" in event:
            name += f" {event['tool_name']}"
        if "agent_id" in event:
            name += " (agent)"
        done = self.run(name, command, env, stdin)
        return Ran(0, done.returncode, done.stdout)

    def run(
        self, name: str, command: Sequence[str], env: dict[str, str], stdin: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command under strace and print what it opened."""
        done = subprocess.run(
            [*STRACE, "-o", self._log, *command],
            env=env, input=stdin, capture_output=True, check=False,
        )  # fmt: skip
        opened = [
            (Path(match["path"]), set(match["flags"].split("|")))
            for line in self._log.read_text(errors="replace").splitlines()
            if (match := OPENED.search(line))
        ]
        ours = [path for path, _ in opened if path.is_relative_to(self._home)]
        reads = Counter(
            path
            for path, flags in opened
            if path.suffix == ".json" and path in ours and "O_RDONLY" in flags
        )
        state = sum(path.name == "@" for path in ours)
        definitions = sum(path.suffix == ".yaml" for path, _ in opened)
        failed = f"  (ended with {done.returncode})" if done.returncode else ""
        print(f"{name:<24}{state:>7}{reads.total():>7}{len(reads):>10}"
              f"{definitions:>13}{len(ours):>13}{failed}", flush=True)  # fmt: skip
        return done


if __name__ == "__main__":
    sys.exit(main())
