"""The syntax tree of a flow. Pure values; where one stands does not count for equality.

    flow      definitions, then one sequence
    sequence  segments: steps joined by `->`; a guard opens a segment of its own
    step      call, parallel, group, mark, sub-flow or retry
    text      what stands between quotes: plain text, references, parameters

Constants (`$NAME := "…"`) are gone: the parser puts their text where they are used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.flow.condition import FlowCondition

# Offsets in the source, in characters.
_START: Any = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reference:
    """`{name}`, `{name.field}`, or `{name?}` for the earlier round of a loop."""

    name: str
    path: tuple[str, ...] = ()
    is_optional: bool = False
    at: int = _START


@dataclass(frozen=True, slots=True)
class Parameter:
    """`{{name}}` or `{{name:default}}`: filled in before the flow runs."""

    name: str
    default: str | None = None
    at: int = _START


Text = tuple[str | Reference | Parameter, ...]


@dataclass(frozen=True, slots=True)
class FlowAgent:
    """`$name := {base: "…", prompt: "…", model: "…"}`: an agent of this flow alone."""

    name: str
    base: str
    prompt: Text
    model: str | None = None
    at: int = _START


@dataclass(frozen=True, slots=True)
class Call:
    """`agent:"instruction":output`; an agent `$name` is one that the flow defines."""

    agent: str
    instruction: Text | None = None
    output: str | None = None
    at: int = _START


@dataclass(frozen=True, slots=True)
class Mark:
    """`@name`: with a prompt a checkpoint, otherwise a place to jump to, or the jump.

    The first mark of a name is the place, the next ones are jumps.
    """

    name: str
    prompt: Text | None = None
    output: str | None = None
    bound: int | None = None
    at: int = _START


@dataclass(frozen=True, slots=True)
class SubFlow:
    """`@call:name(param="…"):output`: another flow, as one step."""

    name: str
    arguments: tuple[tuple[str, Text], ...] = ()
    output: str | None = None
    at: int = _START


@dataclass(frozen=True, slots=True)
class Retry:
    """`retry(n) { … }`: again, `times` at most, while it fails."""

    times: int
    body: Sequence
    at: int = _START


@dataclass(frozen=True, slots=True)
class Parallel:
    """`[a || b]`: all of them at once; the next step waits for all."""

    branches: tuple[Step, ...]
    at: int = _START


@dataclass(frozen=True, slots=True)
class Group:
    """`[…]` around a sequence: the guards inside end with it."""

    body: Sequence
    at: int = _START


Step = Call | Mark | SubFlow | Retry | Parallel | Group


@dataclass(frozen=True, slots=True)
class Segment:
    """`(if condition)~> a -> b`: steps, and the condition that guards them."""

    steps: tuple[Step, ...]
    condition: FlowCondition | None = None
    at: int = _START
    # Where the condition itself begins.
    condition_at: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sequence:
    """Segments, one after the other. A false guard skips its own segment only."""

    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Declared:
    """A parameter that the frontmatter declares; without a default it is required."""

    name: str
    description: str = ""
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """What the frontmatter says."""

    name: str = ""
    description: str = ""
    params: tuple[Declared, ...] = ()


@dataclass(frozen=True, slots=True)
class Flow:
    """A whole file: what its frontmatter says, its agents, and what they do."""

    body: Sequence
    definitions: tuple[FlowAgent, ...] = ()
    head: Head = Head()
    # What it was read from: offsets count in it.
    source: str = field(default="", compare=False, repr=False)


class Visit(NamedTuple):
    """A step in its place.

    `inside` are the branches and retries around it, which no jump may leave; `guard` is
    where the innermost guard around it stands, or -1.
    """

    step: Step
    segment: Segment
    inside: tuple[int, ...]
    guard: int


def walk(
    body: Sequence, inside: tuple[int, ...] = (), guard: int = -1
) -> Iterator[Visit]:
    """Every step in written order, groups before what is in them."""
    for segment in body.segments:
        within = guard if segment.condition is None else segment.at
        for step in segment.steps:
            yield from _walk(step, segment, inside, within)


def _walk(
    step: Step, segment: Segment, inside: tuple[int, ...], guard: int
) -> Iterator[Visit]:
    yield Visit(step, segment, inside, guard)
    match step:
        case Parallel(branches):
            for branch in branches:
                yield from _walk(branch, segment, (*inside, id(branch)), guard)
        case Group(body):
            yield from walk(body, inside, guard)
        case Retry(_, body):
            yield from walk(body, (*inside, id(step)), guard)


def texts_of(step: Step) -> Iterator[Text]:
    """The texts that a step itself has."""
    match step:
        case Call(instruction=text) | Mark(prompt=text) if text is not None:
            yield text
        case SubFlow(arguments=arguments):
            yield from (text for _, text in arguments)


def output_of(step: Step) -> str | None:
    """The variable that a step makes."""
    return step.output if isinstance(step, Call | Mark | SubFlow) else None
