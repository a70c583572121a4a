"""Runs the code blocks of a page, in order, in one project with one open session.

| block | what is done with it |
| --- | --- |
| any whose first line is a comment that names a path | written to that file |
| `console` | each `$ command` is run, and must print the lines below it |
| `sh` | each command is run, and must end with 0 |
| `python` | run; it may `await`, and sees the names of the blocks above |
| `yaml`, `json`, `make`, … without a path; `text` | refused; a picture, left alone |

In expected lines `…` stands for anything, ids and durations for any others, and one
blank for any number. `claude` on a line of its own opens the session.
"""

from __future__ import annotations

import ast
import asyncio
import os
import re
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from stage.stream import StreamSession

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from stage.client import Stage

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_NAMED = re.compile(r"(?:#|//) ((?:~/|\.?[\w-]+/)*\.?[\w.-]+)$")
_END = "end of command, exit code"
_LIMIT_S = 120


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, the line of the page it begins at."""

    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The file whose content it is; None if it is none."""
        found = _NAMED.match(self.text.partition("\n")[0])
        return found[1] if found else None


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page."""
    for found in _BLOCK.finditer(page):
        line = page.count("\n", 0, found.start()) + 1
        yield Block(found[1], found[2], line)


class World:
    """A project, a home and a shell in which a page is followed.

    `changes` turns what only the reader knows (`path/to/hostbridge`) into what is here.
    """

    def __init__(
        self, stage: Stage, programs: Path, changes: Mapping[str, str]
    ) -> None:
        self.stage = stage
        self.changes = changes
        env = stage.environment()
        self.env = env | {"PATH": f"{programs}:{env['PATH']}"}
        self.names: dict[str, Any] = {"__name__": "page"}
        self._open = ExitStack()
        self._shell = self._open.enter_context(
            subprocess.Popen(
                ["/bin/bash", "--norc"],
                cwd=stage.project,
                env=self.env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.close()
        self._open.close()

    def follow(self, block: Block) -> None:
        """Do what a reader would do with a block."""
        text = block.text
        for words, here in self.changes.items():
            text = text.replace(words, here)
        if block.file is not None:
            self._write(block.file, text)
        elif block.language == "console":
            for command, expected in _commands(text):
                code, output = self._run(command)
                assert _matches(expected, output), f"{command}\n{output}"
                assert code == 0 or expected, f"{command}\n{output}"
        elif block.language == "sh":
            for command in text.splitlines():
                code, output = self._run(command)
                assert code == 0, f"{command}\n{output}"
        elif block.language == "python":
            self._python(text)
        else:
            assert block.language == "text", f"nothing is done with {block.language}"

    def _write(self, name: str, text: str) -> None:
        home = name.removeprefix("~/")
        folder = self.stage.project if home == name else self.stage.home
        path = folder / home
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def _run(self, command: str) -> tuple[int, str]:
        """Run a line in the shell; its exit code, and what it printed."""
        if command.partition("#")[0].strip() == "claude":
            session = self._open.enter_context(StreamSession(self.stage))
            session.ask("hello")
            return 0, ""
        shell = self._shell
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write(f"{command}\n</dev/null printf '\\n%s %s\\n' '{_END}' $?\n")
        shell.stdin.flush()
        said = []
        for line in shell.stdout:
            if line.startswith(_END):
                return int(line.removeprefix(_END)), "".join(said)
            if not line.startswith("hostbridge: the project is "):
                said.append(line)
        raise AssertionError(f"the shell ended at: {command}\n{''.join(said)}")

    def _python(self, text: str) -> None:
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(text, "page", "exec", flags)
        before = dict(os.environ), os.getcwd()
        os.environ.clear()
        os.environ.update(self.env)
        os.chdir(self.stage.project)
        try:
            running = eval(code, self.names)  # noqa: S307
            if running is not None:
                asyncio.run(running)
        finally:
            os.environ.clear()
            os.environ.update(before[0])
            os.chdir(before[1])


def _commands(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        yield command, expected


def _matches(expected: str, output: str) -> bool:
    if not expected.strip():
        return True
    return re.fullmatch(_pattern(expected), " ".join(output.split())) is not None


def _pattern(expected: str) -> str:
    words = re.escape(" ".join(expected.split()))
    words = words.replace("…", ".*")
    words = re.sub(r"[0-9a-z]{11}\\-[hnl]\\-[0-9a-z]{6}", r"[0-9a-z-]{20}", words)
    return re.sub(r"\d+(\\\.\d+)?\\ s\b", r"[\\d.]+\\ s", words)
