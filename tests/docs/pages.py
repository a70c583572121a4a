"""Follows a page as its reader would: runs its code blocks, in order.

| block | what is done with it |
| --- | --- |
| any with a path in a comment at its top | written to that file |
| `console` | each `$ command` is run, and must print the lines below it, if any |
| `sh` | each command is run |
| `python` | run; it may `await`, and sees the names of the blocks above |
| `text` | its lines must be on the screen of the session |
| any other | refused |

A command must end with 0, or, where the page shows what it prints, with any code; 7
(answered, but degraded) is fine, too: the local model of the tests is a small one. In
what a page shows, `…` stands for anything, an id or a number of seconds for any other,
and one blank for any number. `claude` alone opens the session, in place of one that is
open. A command may go on after a backslash.
"""

import ast
import asyncio
import os
import re
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from polling import wait_until

from bridge.testing.stage.client import Stage
from bridge.testing.stage.terminal import TerminalSession

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_NAMED = re.compile(
    r"(?:(?:#!.*|---)\n)?(?:#|//) ((?:~/)?(?:\.?[\w-]+/)*\.?[\w-]+(?:\.\w+)?)$", re.M
)
_END = "end of command, exit code"
_ANSWERED = (0, 7)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, the line of the page it begins at."""

    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The file whose content it is; None if it is not one."""
        found = _NAMED.match(self.text)
        return found[1] if found else None


def blocks(page: str, section: str | None = None) -> Iterator[Block]:
    """The blocks of a page, or those below one of its headings."""
    heading = ""
    for found in _BLOCK.finditer(page):
        for each in re.findall(r"^## (.+)$", page[: found.start()], re.M):
            heading = each
        if section in (None, heading):
            line = page.count("\n", 0, found.start()) + 1
            yield Block(found[1], found[2], line)


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """What is typed for a block, and what the page shows that it prints."""
    text = block.text.replace("\\\n", "")
    if block.file is None and block.language == "console":
        for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown
    elif block.file is None and block.language == "sh":
        yield from ((command, "") for command in text.splitlines())


def without_comment(command: str) -> str:
    """A command, without what the page says of it."""
    return re.sub(r"\s+# .*", "", command)


class Reader:
    """A reader with a project, a shell and, after `claude`, an open session.

    `addresses` are those that a page names, and what is there in its place. Commands
    in `left_out` are not run.
    `transcript` is what was typed and printed, with seconds.
    """

    def __init__(
        self, stage: Stage, env: dict[str, str], addresses: dict[str, str]
    ) -> None:
        self.stage = stage
        self.env = env
        self.addresses = addresses
        self.left_out: Collection[str] = ()
        self.transcript: list[str] = []
        self._names: dict[str, Any] = {"__name__": "page"}
        self._session: TerminalSession | None = None
        self._open = ExitStack()
        self._terminal = self._open.enter_context(ExitStack())
        self._shell = self._open.enter_context(
            subprocess.Popen(
                ["/bin/bash", "--norc"],
                cwd=stage.project,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._shell.stdin.close()
        self._open.close()

    def follow(self, block: Block) -> None:
        """Do what a reader would do with a block."""
        if block.file is not None:
            self._write(block.file, block.text)
        elif block.language in ("console", "sh"):
            for command, shown in commands(block):
                if without_comment(command) not in self.left_out:
                    self.type(command, shown)
        elif block.language == "python":
            self._python(block.text)
        else:
            assert block.language == "text", f"nothing is done with {block.language!r}"
            self._look_for(block.text)

    def type(self, command: str, shown: str = "") -> None:
        """Run a line in the shell, and compare what it prints."""
        for named, here in self.addresses.items():
            command = command.replace(named, here)
        begun = time.monotonic()
        if command.partition("#")[0].strip() == "claude":
            self._open_session()
            code, output = 0, ""
        else:
            code, output = self._run(command)
        seconds = time.monotonic() - begun
        self.transcript.append(f"$ {command}\n{output}  [{seconds:.1f} s]")
        assert matches(shown, output), f"{command}\n{output}"
        assert code in _ANSWERED or shown, f"{command}\nexit code {code}\n{output}"

    def _open_session(self) -> None:
        """Open a session, and leave the one that was open."""
        self._terminal.close()
        known = {*self._sessions()}
        self._session = TerminalSession(self.stage, size=(110, 50))
        self._terminal.enter_context(self._session)
        # Nobody asks as quickly as we would.
        wait_until(lambda: {*self._sessions()} - known)

    def _sessions(self) -> Iterator[Path]:
        return self.stage.home.glob(".hostbridge/state/**/sessions/*.json")

    def _run(self, command: str) -> tuple[int, str]:
        """The exit code of a command, and what it printed."""
        shell = self._shell
        assert shell.stdout is not None
        shell.stdin.write(f"{command}\n</dev/null printf '\\n%s %s\\n' '{_END}' $?\n")
        shell.stdin.flush()
        said = []
        for line in shell.stdout:
            if line.startswith(_END):
                return int(line.removeprefix(_END)), "".join(said).removesuffix("\n")
            said.append(line)
        raise AssertionError(f"the shell ended at: {command}\n{''.join(said)}")

    def _write(self, name: str, text: str) -> None:
        home = name.removeprefix("~/")
        path = (self.stage.project if home == name else self.stage.home) / home
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def _python(self, text: str) -> None:
        # As a program of its own, without this file's `from __future__`.
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(text, "page", "exec", flags, dont_inherit=True)
        before = dict(os.environ), os.getcwd()
        os.environ.clear()
        os.environ.update(self.env)
        os.chdir(self.stage.project)
        try:
            running = eval(code, self._names)  # noqa: S307
            if running is not None:
                asyncio.run(running)
        finally:
            os.environ.clear()
            os.environ.update(before[0])
            os.chdir(before[1])

    def _look_for(self, text: str) -> None:
        for line in filter(None, map(str.strip, text.splitlines())):
            self._session.wait_for_match(_pattern(line))
        self.transcript.append(f"[the session]\n{self._session.history()}")


def matches(shown: str, output: str) -> bool:
    """Whether a command printed what a page shows."""
    if not shown.strip():
        return True
    return re.fullmatch(_pattern(shown), " ".join(output.split())) is not None


def _pattern(shown: str) -> str:
    words = re.escape(" ".join(shown.split())).replace(r"\ ", r"\s+")
    words = words.replace("…", ".*")
    words = re.sub(r"[0-9a-z]{11}\\-[hnl]\\-[0-9a-z]{6}", r"[0-9a-z-]{20}", words)
    words = re.sub(r"pid\\s\+\d+", r"pid \\d+", words)
    return re.sub(r"\d+(\\\.\d+)?(\\s\+)?s\b", r"[\\d.]+ ?s", words)
