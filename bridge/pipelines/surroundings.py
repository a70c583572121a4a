"""What a pipeline names and does not define: agents, tools, other pipelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from bridge.pipelines.pipeline import Pipeline

    # Whether each argument of a tool has to be given, by its name.
    Arguments = Mapping[str, bool]


def _nobody_asks(_name: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Lookups for what is outside; without one, nobody asks.

    Attributes:
        wrong_agent: what is wrong with the name of an agent, if anything.
        answer_fields: the fields of an agent's answers; None if they may be any.
        tool: the arguments of a tool, or what is wrong with its name.
        find_pipeline: the pipeline of a name, or what is wrong with that.
        settings: the names under `settings`.
    """

    wrong_agent: Callable[[str], str | None] = _nobody_asks
    answer_fields: Callable[[str], Collection[str] | None] = _nobody_asks
    tool: Callable[[str], Arguments | str | None] = _nobody_asks
    find_pipeline: Callable[[str], Pipeline | str] | None = None
    settings: Collection[str] = ()


NOTHING_AROUND = Surroundings()
