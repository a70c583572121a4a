"""A pipeline that has been read: its steps in written order. Frozen; no logic.

And what it names and does not define: agents, tools, other pipelines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from bridge.agents.diagnostic import Diagnostic
    from bridge.flow.details import Detail, Template
    from bridge.flow.plan import Code, Input, Kind, Step

    # Whether each argument of a tool has to be given, by its name.
    Arguments = Mapping[str, bool]

    # The pipeline of a name, or what is wrong with that name.


@dataclass(frozen=True, slots=True)
class Repeat:
    """A jump back to a step, taken when the one that has it has ended.

    Attributes:
        says: its condition as it is written; empty if it always goes back.
        is_bound: it has failed if it cannot go back as it would.
    """

    start: str
    when: Code
    most: int
    says: str = ""
    is_bound: bool = False


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """A step: what it is in a plan, without its edges.

    Attributes:
        id: its name, and that of its node.
        node: the fields of its node, its kind among them.
        detail: what it does, and where it stands.
        condition: compiled; None if it always runs.
        repeat: the jump back from it, if any.
        asks: the compiled text of a person's question that comes before it, if any,
            and how long that may take.
    """

    id: str
    kind: Kind
    node: Step
    detail: Detail
    condition: Code | None = None
    repeat: Repeat | None = None
    asks: tuple[Template, Template | None] | None = None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline; with errors among its `problems` it cannot run.

    Attributes:
        name: as the file says, or the file's own.
        file: where it is from.
        inputs: what it takes, by name.
        outputs: its answer, compiled; None for that of its last step.
        allow: the grants of its exec steps.
        source: the text of its file.
    """

    name: str
    file: Path
    source: str
    description: str = ""
    inputs: dict[str, Input] = field(default_factory=dict)
    steps: tuple[PipelineStep, ...] = ()
    outputs: Template | None = None
    allow: tuple[str, ...] = ()
    problems: tuple[Diagnostic, ...] = ()

    @property
    def errors(self) -> list[Diagnostic]:
        """What keeps it from running."""
        return [each for each in self.problems if each.level == "error"]


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
