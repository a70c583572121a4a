"""A condition explained: each part of it with the value that it had. Pure.

tool_name == "Bash" and "pytest" in command     no
  tool_name == "Bash"                           yes
    tool_name                                   "Bash"
  "pytest" in command                           no
    command                                     "ls -l"
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.policy.condition import (
    MAY,
    NO_SHELL,
    ConditionError,
    evaluate,
)
from bridge.protocol.wording import fitted

if TYPE_CHECKING:
    from bridge.policy.condition import Shell
    from bridge.policy.condition_compiler import Condition, Span

_LEAST_VALUE = 20


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a condition: its text, how deep it stands, its value or its error.

    `value` is JSON, or MAY; it is None where `error` says why there is none.
    """

    text: str
    depth: int
    value: Any
    error: str | None

    def __str__(self) -> str:
        """The value as a person reads it."""
        if self.error is not None:
            return f"error: {self.error}"
        if self.value is MAY:
            return "may: it depends on what cannot be read"
        if isinstance(self.value, bool):
            return "yes" if self.value else "no"
        return json.dumps(self.value, ensure_ascii=False)


def explain(
    condition: Condition, scope: Mapping[str, Any], shell: Shell = NO_SHELL
) -> list[Part]:
    """Every part of a condition, the whole first, parts below what they belong to.

    Each is asked for itself, those too that the condition itself would not reach.
    """
    return [_part(condition.source, span, scope, shell) for span in condition.spans]


def _part(source: str, span: Span, scope: Mapping[str, Any], shell: Shell) -> Part:
    words = " ".join(source[span.start : span.end].split())
    try:
        value = evaluate(span.code, scope, shell)
    except ConditionError as error:
        return Part(words, span.depth, None, error.message)
    return Part(words, span.depth, value, None)


def show_parts(parts: Iterable[Part], width: int | None = None) -> str:
    """The parts as lines, values below one another; in `width` columns, if given.

    Of those the text of a condition gets three quarters at most.
    """
    rows = [(2 * part.depth * " " + part.text, str(part)) for part in parts]
    most = max((len(text) for text, _ in rows), default=0)
    if width is not None:
        most = min(most, width * 3 // 4)
        left = max(width - most - 2, _LEAST_VALUE)
        rows = [(fitted(text, most), fitted(value, left)) for text, value in rows]
    return "\n".join(f"{text:<{most}}  {value}" for text, value in rows)
