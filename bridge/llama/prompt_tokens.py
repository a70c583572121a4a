"""Tokenize a prompt: only the template's own control words become control tokens.

Text of the template and of the contents that meet are tokenized together, as the model
saw them in training; control words of the template become their tokens. A control word
in a content is cut in two, as a vocabulary may take it for a token even in plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.llama.chat_template import PromptPiece
    from bridge.llama.runtime import Vocabulary


@dataclass(frozen=True, slots=True)
class Prompt:
    """Tokens; the first `shared` are the same for every request to an agent."""

    tokens: list[int]
    shared: int


def prompt_of(
    pieces: Sequence[PromptPiece], vocabulary: Vocabulary, *, prefix: int
) -> Prompt:
    """Tokenize a conversation; `prefix` of its messages are shared.

    The shared part ends with a control token, as text after it is tokenized together
    with the next content. If the template puts nothing between two messages, which no
    model saw in training, the shared part ends with the first message.
    """
    find = _finder(vocabulary.controls)
    tokens: list[int] = []
    shared: int | None = None
    text: list[str] = []

    def flush() -> None:
        tokens.extend(_plain("".join(text), vocabulary, find))
        text.clear()

    if vocabulary.bos is not None:
        tokens.append(vocabulary.bos)
    is_said = False
    for piece in pieces:
        was_said, is_said = is_said, piece.message is not None
        if piece.message is not None:
            if piece.message >= prefix and shared is None:
                if was_said:
                    flush()
                shared = len(tokens)
            text.append(piece.text)
            continue
        at = 0
        for match in find.finditer(piece.text) if find else ():
            text.append(piece.text[at : match.start()])
            flush()
            control = vocabulary.controls[match[0]]
            # A template that writes the first token itself must not write it twice.
            if tokens != [control] or control != vocabulary.bos:
                tokens.append(control)
            at = match.end()
        text.append(piece.text[at:])
    if shared is None:
        shared = len(tokens)
    flush()
    return Prompt(tokens, shared)


def _finder(controls: Mapping[str, int]) -> re.Pattern[str] | None:
    words = sorted(controls, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words))) if words else None


def _plain(
    text: str, vocabulary: Vocabulary, find: re.Pattern[str] | None
) -> Iterator[int]:
    """Tokens of a text, without control tokens."""
    never = frozenset(vocabulary.controls.values())
    for part in _harmless(text, find):
        yield from (t for t in vocabulary.tokenize(part) if t not in never)


def _harmless(text: str, find: re.Pattern[str] | None) -> Iterator[str]:
    """The text in parts, none of which has a whole control word."""
    start = at = 0
    while find is not None and (match := find.search(text, at)):
        at = match.start() + 1
        yield text[start:at]
        start = at
    if text[start:]:
        yield text[start:]
