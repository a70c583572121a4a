"""Choose the next token from the scores that the model gives to each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

# A token this much less likely than the likeliest is never taken: with 50,000 tokens
# the sum of the absurd ones is not small.
MIN_P = 0.05


class Sampler:
    """Chooses by temperature, the same for the same seed; 0 takes the likeliest."""

    def __init__(self, temperature: float, seed: int) -> None:
        self._temperature = temperature
        self._random = np.random.default_rng(seed)

    def pick(self, scores: npt.NDArray[np.float32]) -> int:
        """Choose among all; `scores` are logits, one a token."""
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
        """Choose among those whose bit is set, lowest bit first; None without any."""
        bits = np.unpackbits(np.frombuffer(mask, np.uint8), bitorder="little")
        allowed = np.flatnonzero(bits[: len(scores)])
        if not len(allowed):
            return None
        return int(allowed[self.pick(scores[allowed])])
