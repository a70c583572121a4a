"""A syntax tree as source: parsed again, it is the same tree. Pure.

One step to a line; frontmatter, definitions, and the sequence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.flow.text import print_text
from bridge.flow.tree import Call, Group, Mark, Parallel, Retry, SubFlow

if TYPE_CHECKING:
    from bridge.flow.tree import Definition, Flow, Sequence, Step, Text

_INDENT = "  "


def print_flow(flow: Flow) -> str:
    """The source of a flow, ending with a line break."""
    definitions = [_definition(each) for each in flow.definitions]
    return "\n\n".join([*definitions, _sequence(flow.body, "\n")]) + "\n"


def _definition(definition: Definition) -> str:
    fields = [
        ("base", print_text((definition.base,))),
        ("prompt", print_text(definition.prompt)),
    ]
    if definition.model is not None:
        fields.append(("model", print_text((definition.model,))))
    lines = ",\n".join(f"{_INDENT}{key}: {value}" for key, value in fields)
    return f"${definition.name} := {{\n{lines}\n}}"


def _sequence(sequence: Sequence, line_break: str) -> str:
    segments = []
    for segment in sequence.segments:
        steps = f" ->{line_break}".join(_step(step) for step in segment.steps)
        guard = segment.condition and f"(if {segment.condition.source})~> "
        segments.append((guard or "") + steps)
    return f" ->{line_break}".join(segments)


def _step(step: Step) -> str:
    match step:
        case Call(agent, instruction, output):
            return agent + _said(instruction, output)
        case Mark(name, prompt, output, bound):
            times = f"({bound})" if bound is not None else ""
            return f"@{name}{times}" + _said(prompt, output)
        case SubFlow(name, arguments, output):
            inner = ", ".join(f"{key}={print_text(text)}" for key, text in arguments)
            return f"@call:{name}({inner})" + (f":{output}" if output else "")
        case Retry(times, body):
            return f"retry({times}) {{ {_sequence(body, ' ')} }}"
        case Parallel(branches):
            return f"[{' || '.join(_step(branch) for branch in branches)}]"
        case Group(body):
            return f"[{_sequence(body, ' ')}]"


def _said(text: Text | None, output: str | None) -> str:
    if text is None:
        return ""
    return f":{print_text(text)}" + (f":{output}" if output else "")
