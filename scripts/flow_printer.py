"""A syntax tree as source: parsed again, it is the same tree.

For the tests and the fuzzer. One step to a line.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from bridge.flow.syntax_tree import (
    Call,
    Group,
    Head,
    Mark,
    Parallel,
    Parameter,
    Reference,
    Retry,
    SubFlow,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.flow.syntax_tree import Flow, FlowAgent, Sequence, Step, Text

_INDENT = "  "
# What would read as something else, were it not escaped.
_TO_ESCAPE = re.compile(
    r'\\(?=["\\nt{}]|$) | " | (?P<braces> \{[\s{]*+ ) (?P<named> (?=\w|\Z) )?', re.X
)
_ALL = re.compile(r'["\\{}]')
_NOT_YAML = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")


def print_flow(flow: Flow) -> str:
    """The source of a flow, ending with a line break."""
    definitions = [_definition(each) for each in flow.definitions]
    parts = [*_head(flow.head), *definitions, _sequence(flow.body, "\n")]
    return "\n\n".join(parts) + "\n"


def _head(head: Head) -> Iterator[str]:
    if head == Head():
        return
    fields = [("name", head.name), ("description", head.description)]
    lines = [f"{key}: {_yaml(value)}" for key, value in fields if value]
    lines += ["params:"] if head.params else []
    for param in head.params:
        said = {"description": param.description or None, "default": param.default}
        facts = [f"{key}: {_yaml(it)}" for key, it in said.items() if it is not None]
        mapping = f" {{{', '.join(facts)}}}" if facts else ""
        lines.append(f"{_INDENT}{param.name}:{mapping}")
    yield "\n".join(["---", *lines, "---"])


def _yaml(text: str) -> str:
    """A text as JSON, with escapes for what YAML does not take as it is."""
    quoted = json.dumps(text, ensure_ascii=False)
    return _NOT_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _definition(definition: FlowAgent) -> str:
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


def print_text(text: Text) -> str:
    """A quoted text that `parse_text` reads as the same parts."""
    return '"' + "".join(_printed(part) for part in text) + '"'


def _printed(part: str | Reference | Parameter) -> str:
    if isinstance(part, Reference):
        path = "".join(f".{name}" for name in part.path)
        return f"{{{part.name}{path}{'?' * part.is_optional}}}"
    if isinstance(part, Parameter):
        default = (
            "" if part.default is None else ":" + _ALL.sub(r"\\\g<0>", part.default)
        )
        return f"{{{{{part.name}{default}}}}}"
    return _TO_ESCAPE.sub(_escaped, part)


def _escaped(match: re.Match[str]) -> str:
    if match["braces"] is None:
        return "\\" + match[0]
    return match[0] if match["named"] is None else match[0].replace("{", "\\{")
