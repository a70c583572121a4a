"""Recorded answers as outcomes: real ones, kept as files beside the tests.

A recording is what a state directory keeps of a request that has ended: the request in
`done/<id>.json`, and its end in `responses/<id>.json`. Both folders are copied as they
are:

    cp -r "$(hostbridge where)"/{done,responses} tests/answers/

A recorded answer is judged anew, against what is asked today: if the schema of the
program has changed since, that shows as `schema_mismatch`.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.protocol.failure_codes import explain
from bridge.protocol.record import R, Unparsable, parse
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.store.directory import Folder, NotAPlainFile
from bridge.testing.block import Unscripted, question
from bridge.testing.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.testing.block import Answers

Question = tuple[str, str]


class Replay:
    """The recordings of one folder; called with a request, it gives its outcome.

    A request gets what was recorded of the same question to the same agent. If it was
    asked several times, each recording is played once, in the order in which they were
    asked, and the last one again. Each block of `answering` begins anew.

    Attributes:
        folder: where the recordings are.
        outcomes: what they hold, in that order: for `parametrize`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        recorded = sorted(_recordings(folder), key=lambda pair: pair[0].created_at)
        if not recorded:
            raise ValueError(
                f"{folder}: no recordings; expected done/<id>.json and "
                "responses/<id>.json, as in a state directory (`hostbridge where`)"
            )
        self.outcomes = tuple(_outcome(end) for _, end in recorded)
        self._of: dict[Question, list[Outcome]] = defaultdict(list)
        for (asked, _), outcome in zip(recorded, self.outcomes, strict=True):
            self._of[_question(asked)].append(outcome)
        self._played: dict[Question, int] = defaultdict(int)

    def __repr__(self) -> str:
        return f"replay({str(self.folder)!r})"

    def begin(self) -> Answers:
        """Play them from the first, whatever has been played before."""
        return partial(self._next, defaultdict(int))

    def __call__(self, request: Request) -> Outcome:
        """What was recorded of a question.

        Raises:
            Unscripted: nothing was.
        """
        return self._next(self._played, request)

    def _next(self, played: dict[Question, int], request: Request) -> Outcome:
        key = _question(request)
        known = self._of.get(key)
        if known is None:
            asked = sorted({f"{agent}: {prompt!r}" for agent, prompt in self._of})
            raise Unscripted(
                f"{question(request)}, of which {self.folder} has no recording; it has "
                + "; ".join(asked)
            )
        played[key] += 1
        return known[min(played[key], len(known)) - 1]


def replay(folder: Path | str) -> Replay:
    """Read recordings, for `answering(replay("tests/answers"))`.

    Raises:
        ValueError: the folder holds none, or one of them cannot be read.
    """
    return Replay(Path(folder))


def _recordings(folder: Path) -> Iterator[tuple[Request, Response]]:
    """Each request that has ended, with its end."""
    for file in sorted((folder / "done").glob("*.json")):
        end = folder / "responses" / file.name
        if end.exists():
            yield _read(file, Request), _read(end, Response)


def _read(path: Path, kind: type[R]) -> R:
    # As in a state directory: no link is followed, and the size is bounded.
    with suppress(FileNotFoundError), Folder.open(str(path.parent)) as folder:
        try:
            return parse(kind, folder.read(path.name) or b"")
        except (Unparsable, NotAPlainFile) as exc:
            raise ValueError(f"{path}: not a recording: {exc}") from None
    raise ValueError(f"{path}: not a recording: it has gone")


def _question(request: Request) -> Question:
    return request.agent_type, request.prompt


def _outcome(end: Response) -> Outcome:
    """The outcome that ends a request as it was recorded."""
    failure = None if end.parsed_output is not None else end.error
    after_s = end.duration / 1000
    if failure is None:
        return Outcome(end.raw_output, degraded=end.degraded, after_s=after_s)
    message = failure.message.removeprefix(explain(failure.code)).removeprefix(": ")
    if failure.code == "timeout":
        # Its record says why; when, today's request says.
        message, after_s = "", 0.0
    return Outcome(
        end.raw_output, failure.code, message, degraded=end.degraded, after_s=after_s
    )
