"""What programs and worktrees of pipelines cost, over the same done by hand.

    scripts/bench_commands.py             about a minute
    scripts/bench_commands.py --quick     a smoke test

A program of a step against the bare program; 20 worktrees, made and removed, against
`git worktree add` and `remove` of the same repository. No client and no model.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.script import exit_code, option_parser, scratch
from bench.table import Row, show
from bench.timing import take_turns

from bridge import worktrees
from bridge.agent_loop.command_tool import run_command
from bridge.policy.command_grants import refusal

if TYPE_CHECKING:
    Figures = dict[str, float]

TREES, FILES, PROGRAMS = 20, 500, 20
RULES = ["Bash(git [] *)", "Bash(pytest [-q --tb=*] *)", "Bash(true [-x=*] *)"]


def main() -> int:
    """Run the benchmark; exit 1 when a goal is missed."""
    chosen = option_parser(__doc__).parse_args()
    rounds = 1 if chosen.quick else 9
    with scratch() as folder:
        bench = Bench(folder)
        found = take_turns(
            [bench.by_git, bench.by_us, bench.bare, bench.granted], rounds
        )
    rows = [
        Row(f"{TREES} x git worktree add, {FILES} files", found["git add"]),
        Row("the same made by us", found["make"], found["git add"], 1.5),
        Row(f"{TREES} x git worktree remove, git branch -d", found["git remove"]),
        Row("the same removed by us", found["remove"], found["git remove"], 1.5),
        Row(f"{PROGRAMS} x a bare program", found["bare"]),
        Row("granted, with its group and its time watched", found["granted"]),
    ]
    show(f"programs and worktrees, {rounds} runs each", rows)
    return exit_code(rows, quick=chosen.quick)


class Bench:
    """A repository, and worktrees beside it."""

    def __init__(self, root: Path) -> None:
        """Make the repository, with git."""
        self.root, self.app = root, root / "app"
        self.app.mkdir()
        self._git("init", "-q", "-b", "main")
        for number in range(FILES):
            file = self.app / f"folder{number % 20}" / f"file{number}.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"print({number})\n" * 40)
        self._git("add", "-A")
        who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
        self._git(*who, "commit", "-qm", "first")
        # As in a clone.
        self._git("gc", "-q")

    def _git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.app, check=True, capture_output=True)

    def by_git(self) -> Figures:
        """Each by a process of git, as a script does it."""
        begun = time.perf_counter()
        for number in range(TREES):
            place = str(self.root / f"git{number}")
            self._git("worktree", "add", "-q", "-b", f"git{number}", place)
        made = time.perf_counter()
        for number in range(TREES):
            self._git("worktree", "remove", str(self.root / f"git{number}"))
            self._git("branch", "-q", "-d", f"git{number}")
        ended = time.perf_counter()
        return {"git add": (made - begun) * 1e3, "git remove": (ended - made) * 1e3}

    def by_us(self) -> Figures:
        """The same in this process."""
        begun = time.perf_counter()
        trees = [
            worktrees.create(
                self.app,
                f"hostbridge/run/{number}",
                worktrees.folder_of(self.root / "state", "run", str(number)),
            )
            for number in range(TREES)
        ]
        made = time.perf_counter()
        for tree in trees:
            worktrees.remove(tree)
        ended = time.perf_counter()
        return {"make": (made - begun) * 1e3, "remove": (ended - made) * 1e3}

    def bare(self) -> Figures:
        """A program that does nothing."""
        begun = time.perf_counter()
        for _ in range(PROGRAMS):
            subprocess.run(
                ["true", "-x=1"], cwd=self.app, check=True, capture_output=True
            )
        return {"bare": (time.perf_counter() - begun) * 1e3}

    def granted(self) -> Figures:
        """As a step does it: held to rules, confined, its output digested."""
        begun = time.perf_counter()
        for _ in range(PROGRAMS):
            argv = ["true", "-x=1"]
            assert refusal(argv, RULES) is None
            until_s = time.monotonic() + 60
            ran = run_command("true", argv, folder=self.app, deadline_s=until_s)
            assert ran.ok
        return {"granted": (time.perf_counter() - begun) * 1e3}


if __name__ == "__main__":
    raise SystemExit(main())
