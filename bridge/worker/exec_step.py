"""Run the program of a pipeline's step: granted, without a shell, limited in time.

Its output is bounded: the beginning and the end of it go into the result, and the log
beside that has more. `bridge.process` ends its whole process group.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bridge.agent_loop.command_tool import environment
from bridge.engine.results import FOLDER, StepResult
from bridge.engine.waiting import milliseconds
from bridge.errors import InvalidRequest
from bridge.flow.filling import as_text
from bridge.policy.command_grants import refusal
from bridge.process.ending import how_it_ended
from bridge.process.run import run
from bridge.protocol.trace_context import variables_of
from bridge.store.directory import Folder
from bridge.store.live_runs import RUNS
from bridge.store.real_path import real_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from bridge.engine.asks import Texts
    from bridge.engine.long_steps import LongStep
    from bridge.engine.run import Run
    from bridge.flow.details import ExecCall, Template
    from bridge.store.location import Place

USUAL_S = 600.0
MAX_S = 86_400.0
KEPT_CHARS = 64_000
MAX_LOG_BYTES = 16 * 1024 * 1024


def run_program(
    place: Place,
    texts: Texts,
    call: ExecCall,
    step: LongStep,
    should_stop: Callable[[], bool],
) -> StepResult | None:
    """Run it to its end; None if it was stopped.

    Raises:
        InvalidRequest: it is not granted, or not to be run there.
        ConditionError: a template of it cannot be decided.
        OSError: the system starts no more processes.
    """
    argv = _texts("argv", texts.answers.evaluated(call["argv"]))
    base, folder = _folder(place, texts, call)
    env = _env(texts, call)
    why_not = refusal(
        argv,
        call["allow"],
        lambda path: _lies_in(folder / path, base),
        computed=_computed(call["argv"], len(argv)),
        env=env,
    )
    if why_not:
        raise InvalidRequest(
            f"{why_not}. A pipeline may run what its `allow` names, such as "
            "Bash(pytest [-q] *)"
        )
    limit_s = _limit_s(texts, call)
    log = place.state / RUNS / step.run / FOLDER / f"{step.asked}.log"
    began_s = time.monotonic()
    with _Log(log) as output:
        ended = run(
            argv,
            output,
            stdin=b"",
            env=environment() | _traced(texts.run) | env,
            folder=folder,
            deadline_s=began_s + limit_s,
            should_stop=should_stop,
            is_confined=True,
        )
    if ended.how == "stopped":
        return None
    is_late = ended.how == "deadline"
    found = {
        "exit_code": None if is_late else ended.exit_code,
        "stdout": output.text(),
        "stderr": ended.stderr[-KEPT_CHARS:],
        "timed_out": is_late,
        "log": str(log),
    }
    if is_late:
        return _failed(f"it had not ended after {limit_s:g} s", found)
    if ended.exit_code:
        last = (ended.stderr.strip() or output.text().strip()).splitlines()[-1:]
        said = f": {last[0][:200]}" if last else ""
        return _failed(f"{how_it_ended(ended.exit_code)}{said}", found)
    return {"how": "ok", "why": "", "output": found}


def _traced(run: Run) -> dict[str, str]:
    return variables_of(run["ask"].get("traceparent"), run["run"])


def _failed(why: str, output: dict[str, Any]) -> StepResult:
    return {"how": "failed", "why": why, "output": output}


def _texts(name: str, value: Any) -> list[str]:
    if not (isinstance(value, list) and value):
        raise InvalidRequest(f"`{name}` must be a list of texts, got {value!r:.80}")
    return [as_text(each) for each in value]


def _computed(code: Template, count: int) -> set[int]:
    """Which words of the program's begin with a value, and not as the file has them."""
    if not (isinstance(code, list) and code[:1] == ["list"]):
        return set(range(count))
    return {at for at, word in enumerate(code[2:]) if not _is_literal(word)}


def _is_literal(word: Any) -> bool:
    """Whether a template begins with text; `["text", place, part …]` has parts."""
    if isinstance(word, list) and word[:1] == ["text"]:
        return isinstance(word[2], str) and word[2] != ""
    return not isinstance(word, list)


def _env(texts: Texts, call: ExecCall) -> dict[str, str]:
    given = texts.mapping(call["env"]) if "env" in call else {}
    return {str(name): as_text(value) for name, value in given.items()}


def _limit_s(texts: Texts, call: ExecCall) -> float:
    given = texts.answers.evaluated(call.get("timeout_s"))
    limit_s = USUAL_S if given is None else milliseconds(given) / 1000
    until = texts.run["until"]
    left_s = MAX_S if until is None else until / 1000 - time.time()
    return max(1.0, min(limit_s, left_s, MAX_S))


def _folder(place: Place, texts: Texts, call: ExecCall) -> tuple[Path, Path]:
    """The tree in which a program may work, and the folder where it starts."""
    project = Path(os.path.realpath(place.project))
    given = texts.answers.evaluated(call.get("cwd"))
    folder = Path(real_path(str(project / as_text(given))))
    above = Path(os.path.realpath(place.state / "worktrees" / texts.run["root"]))
    if folder.is_relative_to(above) and folder != above:
        base = above / folder.relative_to(above).parts[0]
    elif folder.is_relative_to(project):
        base = project
    else:
        raise InvalidRequest(
            f"`cwd` must be in the project or in a worktree of this run, got {folder}"
        )
    if not folder.is_dir():
        raise InvalidRequest(f"`cwd`: there is no folder {folder}")
    return base, folder


def _lies_in(path: Path, base: Path) -> bool:
    return Path(real_path(str(path))).is_relative_to(base)


class _Log:
    """The output of a program: its ends, and a file with the first of it."""

    # An output of any length is fine: only a part of it is kept.
    is_full = False

    def __init__(self, file: Path) -> None:
        self._path = file
        self._file: BinaryIO | None = None
        self._size = 0
        self._head = b""
        self._tail = b""

    def __enter__(self) -> Self:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        folder, name = self._path.parent, self._path.name
        with Folder.open(f"{folder.parent}") as run, run.folder(folder.name) as above:
            # It may have been begun before, or anything may lie there.
            above.clear(name)
            fd = os.open(name, flags, 0o600, dir_fd=above.fd)
        self._file = os.fdopen(fd, "wb", buffering=0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, data: bytes) -> None:
        """Keep the next part."""
        if self._file is not None and self._size < MAX_LOG_BYTES:
            try:
                self._file.write(data[: MAX_LOG_BYTES - self._size])
            except OSError:
                # The disk is full: the program goes on, its result has the ends.
                self._file.close()
                self._file = None
        self._size += len(data)
        room = KEPT_CHARS // 2 - len(self._head)
        self._head += data[:room]
        self._tail = (self._tail + data[room:])[-KEPT_CHARS // 2 :]

    def text(self) -> str:
        """What was kept, and how many bytes are missing in between."""
        gap = self._size - len(self._head) - len(self._tail)
        middle = f"\n… {gap:,} bytes left out …\n".encode() if gap else b""
        return (self._head + middle + self._tail).decode("utf-8", "replace")
