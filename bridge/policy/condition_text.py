"""Text with conditions' values in it, `task-${{ inputs.id }}`, compiled. Pure.

A text that is one `${{ … }}` and nothing else has that expression's own value and type;
in any other, values are written out: a text as it is, nothing for null, everything else
as JSON. What is put in is never read again.
"""

import re
from collections.abc import Callable, Collection
from typing import Any

from bridge.policy.condition_compiler import (
    Condition,
    InvalidCondition,
    Problem,
    compile_condition,
)

Place = tuple[str | int, ...]

_OPEN = "this ${{ is not closed by }}"
_OPEN_QUOTE = (
    "a quote in this ${{ }} is not closed on its line; a line break within quotes is "
    r"\n, and \\n where YAML's own double quotes are around it"
)
# One expression, quotes in it respected.
EXPRESSION = re.compile(
    r"""
    \$\{\{
    (?: '(?:[^'\\\n]|\\.)*' | "(?:[^"\\\n]|\\.)*" | \}(?!\}) | [^'"}] )*
    \}\}
    """,
    re.X | re.S,
)


def compile_value(value: Any, place: Place, text: Callable[[str, Place], Any]) -> Any:
    """Any YAML as code: `text` compiles each of its texts, at its place."""
    if isinstance(value, str):
        return text(value, place)
    if isinstance(value, list):
        items = (compile_value(one, (*place, at), text) for at, one in enumerate(value))
        return ["list", 0, *items]
    if isinstance(value, dict):
        pairs = ((k, compile_value(v, (*place, k), text)) for k, v in value.items())
        return ["map", 0, *(part for pair in pairs for part in pair)]
    return value


def compile_text(source: str, *, known: Collection[str] | None = None) -> Condition:
    """Compile a text with `${{ … }}` in it; a text without any stands for itself.

    Raises:
        InvalidCondition: an expression is wrong, or not closed.
    """
    parts: list[object] = []
    names: list[tuple[str, int]] = []
    problems: list[Problem] = []
    # Spaces before an expression keep its places right: they are the whole text's.
    blank = re.sub(r"[^\n]", " ", source)
    at = 0
    while (start := source.find("${{", at)) >= 0:
        found = EXPRESSION.match(source, start)
        if found is None:
            is_quote = "}}" in source[start:]
            problems.append(Problem(start, _OPEN_QUOTE if is_quote else _OPEN))
            break
        if source[at:start]:
            parts.append(source[at:start])
        try:
            inner = compile_condition(blank[:start] + found[0], known=known)
        except InvalidCondition as error:
            problems += error.problems
        else:
            parts.append(inner.code)
            names += inner.names
            if found[0] == source.strip():
                return inner
        at = found.end()
    if problems:
        raise InvalidCondition(source, problems)
    if at == 0:
        return Condition(source, source, (), ())
    parts += [source[at:]] if source[at:] else []
    return Condition(source, ["text", 0, *parts], tuple(names), ())
