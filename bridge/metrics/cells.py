"""What became of requests, flows and tasks, in cells that add up. Pure.

A cell counts the requests of one day, agent, route and model that have ended. Cells of
any group, added, give what the group comes to, its percentiles included.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bridge.metrics.histogram import Histogram, add_to, pairs_of
from bridge.metrics.tally import Tally


class Cell(NamedTuple):
    """The requests of a day, an agent, a route and a model that have ended.

    `day` is `2026-11-27`, in the local time zone. `model` is empty if nobody told
    which; `agent` and `route` too, for what an earlier hostbridge has noted.
    """

    day: str
    agent: str
    route: str
    model: str
    tally: Tally

    def to_data(self) -> dict[str, Any]:
        """As JSON; see `Metrics.to_data`."""
        return {
            "day": self.day,
            "agent": self.agent,
            "route": self.route,
            "model": self.model,
            **self.tally.to_data(),
        }


@dataclass(slots=True)
class FlowCell:
    """The runs of a flow or a pipeline that have ended on a day.

    Attributes:
        day, name: which; the name is empty if the flow has none.
        ended: how many, by status: completed, failed, cancelled.
        durations: from a run's beginning to its end.
        agents: how many agents they have asked, without those of flows they called.
        tokens: what these took, as far as routes tell.
    """

    day: str
    name: str
    ended: dict[str, int] = field(default_factory=dict)
    durations: Histogram = field(default_factory=dict)
    agents: int = 0
    tokens: int = 0

    def add(self, other: FlowCell) -> None:
        """Add another's counts."""
        for status, count in other.ended.items():
            self.ended[status] = self.ended.get(status, 0) + count
        add_to(self.durations, other.durations)
        self.agents += other.agents
        self.tokens += other.tokens

    def to_data(self) -> dict[str, Any]:
        """As JSON; see `Metrics.to_data`."""
        return {
            "day": self.day,
            "name": self.name,
            "ended": dict(sorted(self.ended.items())),
            "durations": pairs_of(self.durations),
            "agents": self.agents,
            "tokens": self.tokens,
        }


@dataclass(slots=True)
class TaskCell:
    """What happened to tasks on a day. `passed` and `failed` are validations."""

    day: str
    created: int = 0
    closed: int = 0
    passed: int = 0
    failed: int = 0
    escalated: int = 0

    def add(self, other: TaskCell) -> None:
        """Add another's counts."""
        self.created += other.created
        self.closed += other.closed
        self.passed += other.passed
        self.failed += other.failed
        self.escalated += other.escalated

    def to_data(self) -> dict[str, Any]:
        """As JSON; see `Metrics.to_data`."""
        return {
            "day": self.day,
            "created": self.created,
            "closed": self.closed,
            "passed": self.passed,
            "failed": self.failed,
            "escalated": self.escalated,
        }
