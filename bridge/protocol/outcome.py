"""What an executor reports: its progress while it works, and its outcome.

An executor runs a request on a route other than the host's. It gives the agent's last
words, or says why there are none; judging and recording them is left to its caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bridge.protocol.failure_codes import FailureCode
    from bridge.protocol.judge import ToolCall, Verdict
    from bridge.protocol.usage import RunSummary

Doing = Literal["thinking", "tool", "checking"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an executor has come; what it cannot tell is None.

    `turn` counts from 1, `tool` is the one being called; `tokens` and `tokens_per_s`
    are those of the reply being made, or of the last. `note` is for the person who
    waits, whatever becomes of the request.
    """

    doing: Doing = "thinking"
    turn: int | None = None
    max_turns: int | None = None
    tool: str | None = None
    tokens: int = 0
    tokens_per_s: float = 0.0
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an executor came back with.

    Attributes:
        words: the agent's last words, letter for letter.
        code: why they do not count, or why there are none; None to have them judged.
        detail: the same for people, in one line.
        verdict: what they are worth, from an executor that has weighed them itself.
        model: which model spoke, where that is known.
        degraded: it is not the one that the definition or the call wanted.
        calls: the tool calls seen to run; None where none could be seen.
        run: what it took, where a loop of ours answered.
    """

    words: str = ""
    code: FailureCode | None = None
    detail: str = ""
    verdict: Verdict | None = None
    model: str | None = None
    degraded: bool = False
    calls: tuple[ToolCall, ...] | None = None
    run: RunSummary | None = None


def ignore(_event: object) -> None:
    """Do nothing: the default callback for stages and progress."""
