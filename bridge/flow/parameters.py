"""The parameters of a flow: `{{name}}`, and what its frontmatter declares. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.flow.problems import near
from bridge.flow.syntax_tree import Parameter, output_of, texts_of, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from bridge.flow.plan import Input
    from bridge.flow.problems import Findings
    from bridge.flow.syntax_tree import Flow, Visit


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
