"""Decode one reply that a grammar allows.

The model samples first; the grammar is asked about that one token. Only where it says
no are all tokens looked at, and one of the allowed is sampled. The distribution is that
of masking each time, and the cost nearly that of not masking at all.
What the grammar forces (braces, names of properties) is not sampled: those tokens go
into the model together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt

    from bridge.llama.sampling import Sampler


class Model(Protocol):
    """What decoding needs of a model that has read the prompt."""

    def scores(self) -> npt.NDArray[np.float32]:
        """Logits of the next token, valid until the next `read`."""

    def read(self, tokens: Sequence[int]) -> None:
        """Go on by these tokens."""


class Matcher(Protocol):
    """A grammar and how far the reply has come in it: `llguidance.LLMatcher`."""

    def try_consume_tokens(self, tokens: list[int]) -> int: ...  # noqa: D102 - its own say
    def compute_ff_tokens(self) -> list[int]: ...  # noqa: D102 - its own say
    def compute_bitmask(self) -> bytes: ...  # noqa: D102 - its own say
    def is_stopped(self) -> bool: ...  # noqa: D102 - its own say
    def get_error(self) -> str: ...  # noqa: D102 - its own say


@dataclass(frozen=True, slots=True)
class Decoded:
    """The reply's tokens; `is_whole` when the grammar is satisfied."""

    tokens: list[int]
    is_whole: bool


class GrammarFailed(Exception):
    """The grammar became too complex on the way; says at what."""


def decode(
    model: Model,
    matcher: Matcher,
    sampler: Sampler,
    *,
    max_tokens: int,
    on_tokens: Callable[[int], None],
) -> Decoded:
    """Decode until the grammar is satisfied, or `max_tokens` are there.

    Raises:
        GrammarFailed: the grammar gave up.
    """
    tokens = _forced(matcher, max_tokens)
    unread = list(tokens)
    while not matcher.is_stopped() and len(tokens) < max_tokens:
        if unread:
            model.read(unread)
        token = sampled(model, matcher, sampler)
        unread = [token]
        if not matcher.is_stopped():
            unread += _forced(matcher, max_tokens - len(tokens) - 1)
        tokens += unread
        on_tokens(len(tokens))
    if matcher.get_error():
        raise GrammarFailed(matcher.get_error())
    return Decoded(tokens, matcher.is_stopped())


def sampled(model: Model, matcher: Matcher, sampler: Sampler) -> int:
    """The next token, sampled and taken by the grammar; raises as `decode`."""
    scores = model.scores()
    token: int | None = sampler.pick(scores)
    if token is not None and matcher.try_consume_tokens([token]) == 1:
        return token
    token = sampler.pick_allowed(scores, matcher.compute_bitmask())
    if token is None or matcher.try_consume_tokens([token]) != 1:
        raise GrammarFailed(matcher.get_error() or "no token is allowed")
    return token


def _forced(matcher: Matcher, at_most: int) -> list[int]:
    """Tokens that the grammar allows no choice of, taken by it."""
    tokens = matcher.compute_ff_tokens()[: max(0, at_most)]
    return tokens[: matcher.try_consume_tokens(tokens)] if tokens else []
