"""Decode one reply that a grammar allows.

The model samples a token first, and the grammar is asked about that one. Only if it
refuses are all tokens masked and an allowed one is sampled. The distribution is that of
masking every time, at nearly the cost of never masking.
What the grammar forces (braces, names of properties) is not sampled: the model reads
those tokens together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    from llguidance import LLMatcher

    from bridge.llama.runtime import Llama

# A token with less than this share of the highest probability is never taken: among
# 50,000 tokens the absurd ones add up.
MIN_P = 0.05


class GrammarFailed(Exception):
    """The grammar became too complex during decoding; the message says where."""


class Sampler:
    """Samples by temperature, the same for the same seed; 0 takes the likeliest."""

    def __init__(self, temperature: float, seed: int) -> None:
        self._temperature = temperature
        self._random = np.random.default_rng(seed)

    def pick(self, scores: npt.NDArray[np.float32]) -> int:
        """Sample from all tokens; `scores` are their logits."""
        best = int(scores.argmax())
        if self._temperature <= 0:
            return best
        least = scores[best] + self._temperature * math.log(MIN_P)
        tokens = np.flatnonzero(scores >= least)
        if len(tokens) == 1:
            return best
        weights = np.exp((scores[tokens] - scores[best]) / self._temperature)
        weights /= weights.sum()
        return int(self._random.choice(tokens, p=weights))

    def pick_allowed(self, scores: npt.NDArray[np.float32], mask: bytes) -> int | None:
        """Sample from the tokens whose bit is set, lowest first; None if none is."""
        bits = np.unpackbits(np.frombuffer(mask, np.uint8), bitorder="little")
        allowed = np.flatnonzero(bits[: len(scores)])
        if not len(allowed):
            return None
        return int(allowed[self.pick(scores[allowed])])


@dataclass(frozen=True, slots=True)
class Decoded:
    """The tokens of a reply; `is_whole` if they satisfy the grammar."""

    tokens: list[int]
    is_whole: bool


def decode(
    model: Llama,
    matcher: LLMatcher,
    sampler: Sampler,
    *,
    max_tokens: int,
    on_tokens: Callable[[int], None],
) -> Decoded:
    """Decode until the grammar is satisfied or there are `max_tokens` tokens.

    Raises:
        GrammarFailed: the grammar gave up.
    """
    tokens = _forced(matcher, max_tokens)
    unread = list(tokens)
    while not matcher.is_stopped() and len(tokens) < max_tokens:
        if unread:
            model.read(unread)
        token = _sampled(model, matcher, sampler)
        unread = [token]
        if not matcher.is_stopped():
            unread += _forced(matcher, max_tokens - len(tokens) - 1)
        tokens += unread
        on_tokens(len(tokens))
    if matcher.get_error():
        raise GrammarFailed(matcher.get_error())
    return Decoded(tokens, matcher.is_stopped())


def _sampled(model: Llama, matcher: LLMatcher, sampler: Sampler) -> int:
    """The next token, sampled and accepted by the grammar; raises as `decode`."""
    scores = model.scores()
    token: int | None = sampler.pick(scores)
    if token is not None and matcher.try_consume_tokens([token]) == 1:
        return token
    token = sampler.pick_allowed(scores, matcher.compute_bitmask())
    if token is None or matcher.try_consume_tokens([token]) != 1:
        raise GrammarFailed(matcher.get_error() or "no token is allowed")
    return token


def _forced(matcher: LLMatcher, at_most: int) -> list[int]:
    """Tokens without any choice; the grammar has consumed them."""
    tokens = matcher.compute_ff_tokens()[: max(0, at_most)]
    return tokens[: matcher.try_consume_tokens(tokens)] if tokens else []
