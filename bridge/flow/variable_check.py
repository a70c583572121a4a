"""The variables of a flow: where each is made, and whether it is there when asked for.

Pure. A variable is there once its step has run: not beside it in a parallel group, and
perhaps not where a guard may skip that step.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.flow.condition import WORDS
from bridge.flow.problems import near
from bridge.flow.syntax_tree import (
    Call,
    Group,
    Mark,
    Parallel,
    Reference,
    Retry,
    output_of,
    texts_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bridge.flow.condition import FlowCondition
    from bridge.flow.loops import Label
    from bridge.flow.problems import Findings
    from bridge.flow.syntax_tree import Flow, Sequence, Step, Text, Visit

_ITSELF = "{{{0}}} is what this step makes; \\{{{0}}} is text"
_AGAIN = ", and {{{0}?}} what it made a round before"
_UNDECIDED = "; for free text, let an agent answer yes or no, and test its answer"
_NO_VARIABLE = "; a parameter is {{{{{0}}}}}, and a brace that is text is \\{{"
_COMPARED = re.compile(r"(?:contains|[=!<>]=|[<>])\s*+\Z")
_ROUND_BEFORE = "{{{0}}} is made later; {{{0}?}} is what it was a round before"
_MAY_BE_MISSING = "{{{0}}} is empty if a guard skips its step; {{{0}?}} allows that"


def check_variables(
    flow: Flow,
    visits: Iterable[Visit],
    labels: Iterable[Label],
    found: Findings,
) -> None:
    """Find variables that are unknown, not there yet, unused, or made twice."""
    check = _Check(visits, found)
    check.prompts = {f"${each.name}": each.prompt for each in flow.definitions}
    # From each label to the last jump back to it.
    check.loops = [
        (label.mark.at, label.jumps[-1][0].at) for label in labels if label.jumps
    ]
    known = len(found.errors)
    check.sequence(flow.body)
    if len(found.errors) > known:
        # What is misspelt where it is used seems unused, too.
        return
    finals = set(_finals(flow.body))
    for name, at in check.made.items():
        if name not in check.used | finals:
            found.warnings.add(at, f"no step uses {{{name}}}")


def _finals(body: Sequence) -> Iterator[str | None]:
    """What the last steps make: the flow is there for it."""
    for segment in reversed(body.segments):
        # A jump makes nothing: what counts is what ran before it.
        said = [step for step in segment.steps if not _is_bare(step)]
        yield from _finals_of(said[-1]) if said else ()
        if said and segment.condition is None:
            return


def _is_bare(step: Step) -> bool:
    """Whether it is a mark that asks nothing: a place, or a jump."""
    return isinstance(step, Mark) and step.prompt is None


def _finals_of(step: Step) -> Iterator[str | None]:
    match step:
        case Parallel(branches):
            for branch in branches:
                yield from _finals_of(branch)
        case Group(body) | Retry(_, body):
            yield from _finals(body)
        case _:
            yield output_of(step)


class _Check:
    prompts: Mapping[str, Text]
    loops: list[tuple[int, int]]

    def __init__(self, visits: Iterable[Visit], found: Findings) -> None:
        self.errors, self.warnings = found
        self.used: set[str] = set()
        # Whether it is there in any case, of what may be there.
        self.there: dict[str, bool] = {}
        self.made: dict[str, int] = {}
        for visit in visits:
            name = output_of(visit.step)
            if name in self.made:
                message = f"{{{name}}} is made twice: another name here"
                self.errors.add(visit.step.at, message)
            elif name is not None:
                self.made[name] = visit.step.at

    def sequence(self, body: Sequence) -> list[str]:
        """Check a sequence; returns what it makes."""
        made: list[str] = []
        for segment in body.segments:
            if segment.condition is not None:
                self.condition(segment.condition, segment.condition_at)
            here = [name for step in segment.steps for name in self.step(step)]
            if segment.condition is not None:
                self.there.update(dict.fromkeys(here, False))
            made += here
        return made

    def step(self, step: Step) -> list[str]:
        """Check a step; returns what it makes."""
        match step:
            case Group(body) | Retry(_, body):
                return self.sequence(body)
            case Parallel(branches):
                return self.parallel(branches)
        own = output_of(step)
        for text in texts_of(step):
            self.text(text, own)
        if isinstance(step, Call) and step.agent in self.prompts:
            self.text(self.prompts[step.agent], own)
        if own is None:
            return []
        self.there[own] = True
        return [own]

    def parallel(self, branches: tuple[Step, ...]) -> list[str]:
        """Check branches: none sees what another makes."""
        after: dict[str, bool] = {}
        for branch in branches:
            made = self.step(branch)
            after.update(
                {name: self.there.pop(name) for name in made if name in self.there}
            )
        self.there.update(after)
        return list(after)

    def text(self, text: Text, own: str | None) -> None:
        """Check the references in a text of the step that makes `own`."""
        for part in text:
            if not isinstance(part, Reference):
                continue
            if part.name == own and not part.is_optional:
                self.used.add(part.name)
                again = _AGAIN if self._comes_back(part.name, part.at) else ""
                self.errors.add(part.at, (_ITSELF + again).format(part.name))
            else:
                self.use(part.name, part.at, is_optional=part.is_optional)

    def condition(self, condition: FlowCondition, at: int) -> None:
        """Check the words and the variables that a condition asks for."""
        for word, place in condition.words:
            if word in self.there:
                message = f"{word} asks about the last step; {{{word}}} is the variable"
                self.warnings.add(at + place, message)
        for name, place in condition.variables:
            # Asked about what a guard skipped, a condition finds nothing.
            if name in self.made:
                is_optional = name in self.there or self._comes_back(name, at)
                self.use(name, at + place, is_optional=is_optional)
            else:
                hint = near(name, (*self.made, *WORDS)) or _UNDECIDED
                if _COMPARED.search(condition.source[:place]):
                    hint = f'; a text stands in quotes: "{name}"'
                message = f"{name} is no variable and no word of a condition{hint}"
                self.errors.add(at + place, message)

    def use(self, name: str, at: int, *, is_optional: bool) -> None:
        """Check that a variable is there."""
        self.used.add(name)
        if name not in self.made:
            hint = near(name, self.made) or _NO_VARIABLE.format(name)
            self.errors.add(at, f"no step makes {{{name}}}{hint}")
        elif name in self.there:
            if not self.there[name] and not is_optional:
                self.warnings.add(at, _MAY_BE_MISSING.format(name))
        elif not self._comes_back(name, at):
            self.errors.add(at, self._too_early(name, at, is_optional=is_optional))
        elif not is_optional:
            self.errors.add(at, _ROUND_BEFORE.format(name))

    def _too_early(self, name: str, at: int, *, is_optional: bool) -> str:
        if is_optional:
            return f"{{{name}?}} is always empty: no jump leads back to here"
        if self.made[name] < at:
            return f"{{{name}}} is made beside this step, at the same time"
        return f"{{{name}}} is not there yet: a later step makes it"

    def _comes_back(self, name: str, at: int) -> bool:
        """Whether a jump leads from behind the step that makes it to before here."""
        first, last = sorted((at, self.made.get(name, at)))
        return any(start <= first and last <= end for start, end in self.loops)
