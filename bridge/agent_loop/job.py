"""The input and the output of the loop, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bridge.agent_loop.model_policy import ModelPolicy, policy_for
from bridge.protocol.status import ignore
from bridge.store.clock import Clock, SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bridge.agent_loop.chat_model import ChatModel
    from bridge.agents.definition import Definition
    from bridge.protocol.judge import Verdict
    from bridge.protocol.outcome import Progress
    from bridge.protocol.request import Request
    from bridge.protocol.response import RunSummary


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one run may use.

    `tokens` limits the model's replies of all turns, `reply_tokens` one of them;
    `result_chars` is how much of a tool's result the model sees; `command_s` how long
    one command may take, in seconds; `corrections` how often a rejected answer is sent
    back.
    """

    tokens: int = 16_384
    reply_tokens: int = 2_048
    result_chars: int = 4_000
    command_s: float = 120.0
    corrections: int = 2


# Checking for a cancellation reads a file, and a search asks for each line.
_ASK_EVERY_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One request to be answered by a model.

    Attributes:
        request: the request.
        definition: the agent's definition, if it has one.
        model: a model that is ready; the run does not close it.
        project: the folder whose files may be read.
        deadline_s: when the run ends, on the monotonic clock.
        prompt: the rendered prompt; None for the request's own words.
        instructions: the prompt without the task, if the two can be separated. A small
            model reads them before the examples, and the task alone after.
        limits: how much it may use.
        on_progress: called with the progress, from this thread and the model's.
        log: called with each event of the run; must not raise.
        is_cancelled: asked between steps, and while a command runs.
        clock: wall clock and monotonic clock.
    """

    request: Request
    model: ChatModel
    project: Path
    deadline_s: float
    definition: Definition | None = None
    prompt: str | None = None
    instructions: str | None = None
    limits: Limits = field(default_factory=Limits)
    on_progress: Callable[[Progress], None] = ignore
    log: Callable[[dict[str, Any]], None] = ignore
    is_cancelled: Callable[[], bool] = lambda: False
    clock: Clock = field(default_factory=SystemClock)

    @property
    def policy(self) -> ModelPolicy:
        """What the loop does for a model of this size."""
        return policy_for(is_small=self.model.is_small)

    def stop_check(self) -> Callable[[], bool]:
        """A function that says whether the run is over; cheap to call."""
        asked_s = float("-inf")
        is_cancelled = False

        def is_over() -> bool:
            nonlocal asked_s, is_cancelled
            now_s = self.clock.monotonic_s()
            if now_s - asked_s >= _ASK_EVERY_S:
                asked_s = now_s
                is_cancelled = is_cancelled or self.is_cancelled()
            return is_cancelled or now_s >= self.deadline_s

        return is_over


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        verdict: the typed answer, or the code and the words of the failure.
        raw: the last words of the model.
        is_degraded: the model is too small for its word to count for much.
        summary: what it took, and what was seen to run.
    """

    verdict: Verdict
    raw: str
    is_degraded: bool
    summary: RunSummary
