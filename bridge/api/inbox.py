"""All that waits for a person here: questions, checkpoints, requests that are held."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bridge.api.runs_now import SHOWN_RUNS
from bridge.errors import BridgeError
from bridge.store.live_runs import live_runs
from bridge.store.questions import open_questions
from bridge.store.submit import held_requests

if TYPE_CHECKING:
    from bridge.protocol.question import Question
    from bridge.protocol.request import Request
    from bridge.store.state import State
    from bridge.store.store import Store

Kind = Literal["question", "checkpoint", "held"]


class Waiting(NamedTuple):
    """One thing that waits for a person.

    Attributes:
        id: what `hostbridge reply` takes: a request, a run, or a step as RUN/STEP.
        who: the agent, flow or program that waits.
        words: what it asks, or of a held request the prompt.
        asked_at: since when, in milliseconds since 1970.
        until: its deadline, likewise; None if there is none.
        question: of an agent's question, its form and number.
    """

    kind: Kind
    id: str
    who: str
    words: str
    asked_at: int
    until: int | None = None
    question: Question | None = None

    def to_data(self) -> dict[str, Any]:
        """As JSON; an agent's question with all that its record has."""
        whole = self.question.to_data() if self.question else {}
        return {
            "kind": self.kind,
            "id": self.id,
            "who": self.who,
            **whole,
            "words": self.words,
            "askedAt": self.asked_at,
            "until": self.until,
        }


def inbox(store: Store) -> list[Waiting]:
    """What waits for a person in this project, the oldest first."""
    if not store.exists():
        return []
    with store.state(make=False) as state:
        found = [
            *map(_of_question, open_questions(state)),
            *_checkpoints(state),
            *map(_of_held, held_requests(state)),
        ]
    return sorted(found, key=lambda each: each.asked_at)


def _of_question(asked: Question) -> Waiting:
    return Waiting(
        "question",
        asked.request_id,
        asked.agent_type,
        asked.words,
        asked.asked_at,
        asked.until,
        asked,
    )


def _of_held(request: Request) -> Waiting:
    return Waiting(
        "held",
        request.request_id,
        f"{request.agent_type}, for {request.requester or 'a program'}",
        request.prompt,
        request.asked_ms,
        request.deadline_ms,
    )


def _checkpoints(state: State) -> Iterator[Waiting]:
    """Those of all runs, in the runs that nobody called."""
    runs = [run_id for run_id in live_runs(state) if run_id.startswith("r")]
    for run_id in runs[:SHOWN_RUNS]:
        with suppress(BridgeError):
            yield from _checkpoints_of(state, run_id)


def _checkpoints_of(state: State, run_id: str) -> Iterator[Waiting]:
    from bridge.engine.view import question_in, view_in  # few have any

    seen = view_in(state, run_id)
    waiting = [*seen.checkpoints()] if seen.run["status"] == "running" else []
    for run, node, _ in waiting:
        below = view_in(state, run)
        asked_at = below.run["nodes"].get(node, {}).get("at", below.run["at"])
        yield Waiting(
            "checkpoint",
            run_id if len(waiting) == 1 else f"{run}/{node}",
            f"flow {below.run['name'] or run}",
            question_in(state, below, node),
            asked_at,
            seen.run["until"] or None,
        )
