"""The parameters of a flow, and the flows that it calls. Pure.

A parameter is used, `{{name}}`, or declared in the frontmatter. Flows that are called
exist, take what they are given, and end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.flow.problems import near
from bridge.flow.syntax_tree import Parameter, SubFlow, output_of, texts_of, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from bridge.flow.plan import Input
    from bridge.flow.problems import Findings, Problems
    from bridge.flow.syntax_tree import Flow, Visit

    # The flow of a name, or what is wrong with that name.
    FindFlow = Callable[[str], Flow | str]

# The types of inputs, but for `any`; the first that fits is a default's.
TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float),
    "array": (list,), "object": (dict,), "task": (str, int),
}  # fmt: skip


def fits(value: object, type_: str) -> bool:
    """Whether a value is of the type of an input."""
    is_odd = isinstance(value, bool) and type_ != "boolean"
    return type_ == "any" or (isinstance(value, TYPES[type_]) and not is_odd)


def check_parameters(flow: Flow, visits: Iterable[Visit], found: Findings) -> None:
    """Find parameters that a flow declares or uses, but not both.

    A flow that declares none may use any.
    """
    declared = {param.name: param for param in flow.head.params}
    used = set()
    made = {output_of(visit.step) for visit in visits}
    for part in _used(flow, visits):
        is_known = part.name in declared or part.name in used
        if not is_known and (declared or part.name in made):
            hint = near(part.name, declared) or "; declare it in params"
            if part.name in made:
                hint = f"; what a step has made is {{{part.name}}}"
            found.errors.add(part.at, f"no parameter is called {part.name!r}{hint}")
        used.add(part.name)
    # What is misspelt where it is used seems unused, too.
    unused = sorted(declared.keys() - used) if used <= declared.keys() else []
    for name in unused:
        found.warnings.add(0, f"the parameter {name!r} is not used")


def wrong_arguments(
    flow: Flow, given: Collection[str], *, way: str = ""
) -> Iterator[str]:
    """What is wrong with these parameters for a flow: unknown ones, missing ones.

    `way` says how a missing one is given.
    """
    known = inputs_of(flow)
    for name in sorted(set(given) - known.keys()):
        hint = near(name, known) or f"; it has {', '.join(sorted(known)) or 'none'}"
        yield f"no parameter is called {name!r}{hint}"
    for name in sorted(known.keys() - {*given}):
        if known[name].get("required"):
            yield f"the parameter {name!r} is missing{way}"


def inputs_of(flow: Flow) -> dict[str, Input]:
    """The parameters of a flow, declared or not; those that it needs are required."""
    found: dict[str, Input] = {}
    for declared in flow.head.params:
        found[declared.name] = {"type": "string"}
        if declared.default is not None:
            found[declared.name]["default"] = declared.default
    for part in _used(flow, walk(flow.body)):
        described = found.setdefault(part.name, {"type": "string"})
        if part.default is None and "default" not in described:
            described["required"] = True
    return found


def _used(flow: Flow, visits: Iterable[Visit]) -> Iterator[Parameter]:
    """Every place that asks for a parameter."""
    texts = [each.prompt for each in flow.definitions]
    texts += [text for visit in visits for text in texts_of(visit.step)]
    for text in texts:
        yield from (part for part in text if isinstance(part, Parameter))


MAX_DEPTH = 5


def check_subflows(flow: Flow, find_flow: FindFlow, errors: Problems) -> None:
    """Find calls of flows that cannot be called."""
    around = (flow.head.name,) if flow.head.name else ()
    found: dict[str, str | None] = {}
    for call in _calls(flow):
        other = find_flow(call.name)
        if isinstance(other, str):
            errors.add(call.at, other)
            continue
        for message in wrong_arguments(other, dict(call.arguments)):
            errors.add(call.at, f"@call:{call.name}: {message}")
        if call.name not in found:
            found[call.name] = _too_deep(call.name, other, find_flow, around)
        if wrong := found[call.name]:
            errors.add(call.at, wrong)


def _calls(flow: Flow) -> Iterator[SubFlow]:
    return (v.step for v in walk(flow.body) if isinstance(v.step, SubFlow))


def _too_deep(
    name: str, flow: Flow, find_flow: FindFlow, around: tuple[str, ...]
) -> str | None:
    """Why the calls inside a flow never end, or go too deep; None if they do not."""
    path = (*around, name)
    if name in around:
        return f"flows that call each other never end: {' > '.join(path)}"
    if len(path) > MAX_DEPTH:
        return f"flows call each other {MAX_DEPTH} deep at most: {' > '.join(path)}"
    for other in dict.fromkeys(call.name for call in _calls(flow)):
        inner = find_flow(other)
        # What is wrong with its name is reported where that flow itself is checked.
        if not isinstance(inner, str) and (
            wrong := _too_deep(other, inner, find_flow, path)
        ):
            return wrong
    return None
