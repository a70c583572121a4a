"""What an executor gets, and what it reports: its progress and its outcome.

An executor runs a request on a route other than the host's. It returns the agent's last
message, or the reason why there is none. Its caller judges and records it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bridge.protocol.response import RunSummary

if TYPE_CHECKING:
    from bridge.freshness.looks import Look
    from bridge.protocol.claimed_commands import ToolCall
    from bridge.protocol.failure_codes import FailureCode
    from bridge.protocol.judge import Judgement
    from bridge.protocol.question import Asked, Exchange
    from bridge.protocol.response import ServedBy
    from bridge.protocol.usage import Usage

Doing = Literal["thinking", "tool", "checking"]


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an executor; None for what it does not know.

    `turn` counts from 1; `tool` is the one being called; `tokens` and `tokens_per_s`
    are those of the current or the last reply. `note` is for the person who waits.
    `waits` says what it waits for: its next try, a limit, or a session to be woken.
    """

    doing: Doing = "thinking"
    turn: int | None = None
    max_turns: int | None = None
    tool: str | None = None
    tokens: int = 0
    tokens_per_s: float = 0.0
    note: str | None = None
    waits: str = ""


@dataclass(frozen=True, slots=True)
class Control:
    """The bounds of an executor, and where it reports its progress.

    `deadline_s` is on the monotonic clock. `should_stop` is to be asked several times a
    second; after a yes the outcome is dropped. `ask` passes a question of the agent on
    to the asker and waits for the reply; None if none comes in time.
    """

    deadline_s: float
    on_progress: Callable[[Progress], None]
    should_stop: Callable[[], bool]
    ask: Callable[[Asked], Exchange | None] = lambda _asked: None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an executor.

    Attributes:
        words: the agent's last message, unchanged.
        code: why it does not count, or is missing; None if it is to be judged.
        detail: the same for people, in one line.
        verdict: from an executor that has already judged it.
        model: which model answered, if known.
        degraded: the model is not the one that the definition or the caller asked for.
        calls: the tool calls that were seen to run; None if none could be seen.
        run: what the run took, if our own loop answered.
        told_usage: the usage that `claude -p` reports; None without.
        looks: what the agent looked at; None if nothing could be seen.
        left_at: where the agent stopped in its workflow; empty if it finished that.
        model_key: identifies the model, by what chose it; empty if unknown.
        served_by: the machine that answered, if it was another one.
    """

    words: str = ""
    code: FailureCode | None = None
    detail: str = ""
    verdict: Judgement | None = None
    model: str | None = None
    degraded: bool = False
    calls: tuple[ToolCall, ...] | None = None
    run: RunSummary | None = None
    told_usage: Usage | None = None
    looks: tuple[Look, ...] | None = None
    left_at: str = ""
    model_key: str = ""
    served_by: ServedBy | None = None

    @property
    def usage(self) -> Usage | None:
        """What the agent took; None if unknown."""
        return self.told_usage if self.run is None else self.run.usage
