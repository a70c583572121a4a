"""An answer taken from an example is none. Pure.

A small model that cannot do the work says after an example what that said. The rule, in
this one place: an answer is refused as `prompt_echo` where

- each text of substance in it stands in the answer of one example that was shown, word
  for word (spaces, marks and case aside), and there is such a text. Of substance are
  four words or more that the schema does not spell out itself: a status, a name, a
  path, a choice may well be the same;
- the task does not ask what the example asks: it does not hold the example's question;
- the run has not seen what the example shows: each of its calls, made here too, with
  the same result, or as a command with the same exit code. Else the same words are due.

The model is told, and may say it in words of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bridge.agent_loop.tool import ToolResult
    from bridge.agents.definition import Example, ExampleCall

    # What a call of the run with these arguments gave; None where there was none.
    Gave = Callable[[ExampleCall], ToolResult | None]

_LEAST_WORDS = 4
# Chinese, Japanese and Korean have no spaces between words.
_WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\\W\u3040-\ud7af]+")
_EXIT_CODE = re.compile(r"exit code (-?\d+)")


def find_copied_from(
    value: Any,
    examples: Sequence[Example],
    *,
    task: str,
    schema: dict[str, Any],
    gave: Gave,
) -> Example | None:
    """The example that a submitted answer was taken from; None for none."""
    spelt_out = set(map(_plain, _texts(schema)))
    said = {_plain(text) for text in _texts(value) if _is_of_substance(text)}
    said -= spelt_out
    if not said:
        return None
    for example in examples:
        if not said <= set(map(_plain, _texts(example.answer))):
            continue
        if _plain(example.prompt) in _plain(task) or _was_seen(example, gave):
            continue
        return example
    return None


def _was_seen(example: Example, gave: Gave) -> bool:
    results = [(call, gave(call)) for call in example.calls]
    return bool(results) and all(
        result is not None and _is_same(call.result, result.text)
        for call, result in results
    )


def _is_same(shown: str, seen: str) -> bool:
    one, other = _EXIT_CODE.match(shown), _EXIT_CODE.match(seen)
    if one and other:
        return one[1] == other[1]
    return _plain(shown) == _plain(seen)


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value, at any depth; not the names of properties."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, (list, tuple)):
            waiting.extend(part)


def _is_of_substance(text: str) -> bool:
    return len(_WORD.findall(text)) >= _LEAST_WORDS


def _plain(text: str) -> str:
    """Its words, with one space around each: `in` finds whole words only."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "
