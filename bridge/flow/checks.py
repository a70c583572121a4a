"""What is wrong with a flow that could be parsed. Pure: others look up names for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.agents.agent_names import MAX_NAME, is_name
from bridge.flow.lexer import MAX_SAID, length
from bridge.flow.loops import check_labels, labels_of
from bridge.flow.parameters import check_parameters, check_subflows
from bridge.flow.problems import Findings, Problems, TooMany, near
from bridge.flow.syntax_tree import Call, Group, Parallel, Retry, texts_of, walk
from bridge.flow.variable_check import check_variables
from bridge.hints import meant
from bridge.protocol.names import MODEL_NAMES, is_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.flow.parameters import FindFlow
    from bridge.flow.syntax_tree import Flow, Sequence, Step, Visit

MAX_FAN_OUT = 1_000
MAX_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a flow names and does not define.

    `wrong_agent` says what is wrong with the name of an agent, and `find_flow` gives
    the flow of a name, or says what is wrong with that. Without them nobody asks.
    """

    wrong_agent: Callable[[str], str | None] = lambda _name: None
    find_flow: FindFlow | None = None


def check_flow(flow: Flow, around: Surroundings = Surroundings()) -> Findings:
    """Find what is wrong with a flow."""
    found = Findings(Problems(), Problems())
    try:
        visits = list(walk(flow.body))
        _check_size(flow, visits, found.errors)
        _check_agents(flow, visits, around, found)
        _check_guards(visits, found.errors)
        labels = labels_of(visits)
        check_labels(labels, found)
        check_variables(flow, visits, labels.values(), found)
        check_parameters(flow, visits, found)
        if around.find_flow is not None:
            check_subflows(flow, around.find_flow, found.errors)
    except TooMany:
        pass
    return found


def _check_size(flow: Flow, visits: list[Visit], errors: Problems) -> None:
    """Find what no run could bear.

    Raises:
        TooMany: it is too much to be looked at further.
    """
    prompts = {f"${each.name}": length(each.prompt) for each in flow.definitions}
    said = sum(_said(visit.step, prompts) for visit in visits)
    for what, found, most in (
        ("steps", len(visits), MAX_STEPS),
        ("agents at once", _widest(flow.body), MAX_FAN_OUT),
        ("characters of prompts", said, MAX_SAID),
    ):
        if found > most:
            errors.add(0, f"{found:,} {what}; a flow has {most:,} at most")
    if errors:
        raise TooMany


def _said(step: Step, prompts: dict[str, int]) -> int:
    """How much a step says, the prompt of its agent included."""
    own = prompts.get(step.agent, 0) if isinstance(step, Call) else 0
    return own + sum(map(length, texts_of(step)))


def _widest(body: Sequence) -> int:
    """How many steps may run at once."""
    return max(_width(step) for segment in body.segments for step in segment.steps)


def _width(step: Step) -> int:
    match step:
        case Parallel(branches):
            return sum(map(_width, branches))
        case Group(body) | Retry(_, body):
            return _widest(body)
    return 1


def _check_guards(visits: list[Visit], errors: Problems) -> None:
    """Find conditions that ask about nothing: some steps never run, or always do."""
    starts = (v.step.at for v in visits if not isinstance(v.step, Parallel | Group))
    first = min(starts)
    for segment in {visit.segment.at: visit.segment for visit in visits}.values():
        condition, at = segment.condition, segment.condition_at
        if condition and not isinstance(condition.code, list):
            often = "always" if condition.code else "never"
            errors.add(at, f"what this guards {often} runs: the condition asks nothing")
        elif condition and condition.words and at < first:
            errors.add(at, "no step has run before this one, for it to ask about")


def _check_agents(
    flow: Flow, visits: list[Visit], around: Surroundings, found: Findings
) -> None:
    defined = {f"${each.name}": each for each in flow.definitions}
    first = {
        visit.step.agent: visit.step.at
        for visit in reversed(visits)
        if isinstance(visit.step, Call)
    }
    for name, at in first.items():
        if name.startswith("$"):
            if name not in defined:
                hint = near(name, defined) or f"; define it: {name} := {{base: …}}"
                found.errors.add(at, f"no agent is defined as {name}{hint}")
        elif wrong := around.wrong_agent(name):
            own = f"${name}"
            hint = f"; did you mean {own}?" if own in defined else ""
            found.errors.add(at, f"no agent is named {name!r}{hint}" if hint else wrong)
    # What is misspelt where it is called seems unused, too.
    is_clear = not any(name[0] == "$" and name not in defined for name in first)
    for name, definition in defined.items():
        if name not in first and is_clear:
            found.warnings.add(definition.at, f"no step calls {name}")
        if not is_name(name[1:]) or len(name.encode()) > MAX_NAME:
            found.errors.add(definition.at, f"no agent can have the name {name}")
        if wrong := around.wrong_agent(definition.base):
            found.errors.add(definition.at, f"base of {name}: {wrong}")
        if definition.model is not None and not is_model(definition.model):
            hint = meant(definition.model, MODEL_NAMES)
            message = f"model of {name}: no model is named {definition.model!r}{hint}"
            found.errors.add(definition.at, message)
