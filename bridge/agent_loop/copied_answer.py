"""Reject answers copied from the few-shot examples. Pure.

A small model that cannot do the work repeats the answer of an example. An answer is
rejected as `prompt_echo` if all of this is true:

- It has texts of substance, and all of them are, word for word, in the answer of one
  example that was shown (spaces, punctuation and case aside). A text of substance has
  at least four words and is not part of the schema: a status, a name, a path or a
  choice may well be the same.
- The task does not contain the example's question.
- The run has not seen what the example shows: each of its calls, with the same result
  or, for a command, the same exit code. Otherwise the same answer may be right.

The model gets an error, and may answer again in its own words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bridge.agent_loop.tool import ToolResult

if TYPE_CHECKING:
    from bridge.agents.definition import Example, ExampleCall

    # The result of the run's own call with these arguments, if there was one.
    ResultOf = Callable[[ExampleCall], ToolResult | None]

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
    result_of: ResultOf,
) -> Example | None:
    """The example that a submitted answer was copied from, if any."""
    choices = set(map(_plain, _texts(schema)))
    said = {_plain(text) for text in _texts(value) if _is_of_substance(text)}
    said -= choices
    if not said:
        return None
    for example in examples:
        if not said <= set(map(_plain, _texts(example.answer))):
            continue
        if _plain(example.prompt) in _plain(task) or _was_seen(example, result_of):
            continue
        return example
    return None


def _was_seen(example: Example, result_of: ResultOf) -> bool:
    results = [(call, result_of(call)) for call in example.calls]
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
    """Every text in a value, at any depth, without the names of properties."""
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
    """The words of a text, with one space around each: `in` finds only whole words."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "
