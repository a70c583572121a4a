"""Sample first, mask only on a miss: the same replies with less work."""

from collections import Counter

import needs
import pytest

np = pytest.importorskip("numpy")

A, B, C, END = range(4)


@pytest.fixture(autouse=True)
def _extra():
    needs.local_model()


class Model:
    """Gives the same scores at every step."""

    def __init__(self, *scores: float) -> None:
        self.read_tokens: list[int] = []
        self._scores = np.array(scores, np.float32)

    def scores(self):
        return self._scores

    def read(self, tokens) -> None:
        self.read_tokens += tokens


class Grammar:
    """Allows one set of tokens a step; a set of one token leaves no choice."""

    def __init__(self, *steps: set[int]) -> None:
        self._steps = list(steps)
        self._error = ""
        self.masks = 0

    def try_consume_tokens(self, tokens: list[int]) -> int:
        for taken, token in enumerate(tokens):
            if not self._steps or token not in self._steps[0]:
                return taken
            self._steps.pop(0)
        return len(tokens)

    def compute_ff_tokens(self) -> list[int]:
        forced = []
        for step in self._steps:
            if len(step) > 1:
                break
            forced += step
        return forced

    def compute_bitmask(self) -> bytes:
        self.masks += 1
        return bytes([sum(1 << token for token in self._steps[0])])

    def is_stopped(self) -> bool:
        return not self._steps

    def get_error(self) -> str:
        return self._error


def run(model, grammar, *, temperature=0.0, seed=0, max_tokens=10):
    from bridge.llama.decode import Sampler, decode

    sampler = Sampler(temperature, seed)
    how = {"max_tokens": max_tokens, "on_tokens": lambda _count: None}
    return decode(model, grammar, sampler, **how)


def test_an_allowed_token_costs_no_mask():
    grammar = Grammar({A, B}, {A, C})

    decoded = run(Model(9, 1, 1, 1), grammar)

    assert (decoded.tokens, decoded.is_whole, grammar.masks) == ([A, A], True, 0)


def test_after_a_miss_an_allowed_token_is_sampled():
    grammar = Grammar({B, C}, {A, B})

    decoded = run(Model(9, 1, 2, 1), grammar)

    assert (decoded.tokens, grammar.masks) == ([C, A], 1)


def test_forced_tokens_are_read_together_and_not_sampled():
    model = Model(9, 1, 1, 1)

    decoded = run(model, Grammar({C}, {B}, {A, B}, {END}))

    assert decoded.tokens == [C, B, A, END]
    assert model.read_tokens == [C, B]


@pytest.mark.parametrize("steps", [1, 3], ids=["sampled", "forced"])
def test_a_reply_that_is_cut_is_not_whole(steps):
    grammar = Grammar(*([{A, B}] * 3)) if steps == 1 else Grammar({A}, {B}, {C})

    decoded = run(Model(9, 1, 1, 1), grammar, max_tokens=2)

    assert (len(decoded.tokens), decoded.is_whole) == (2, False)


def test_error_no_token_is_allowed():
    from bridge.llama.decode import GrammarFailed

    with pytest.raises(GrammarFailed, match="no token is allowed"):
        run(Model(9, 1, 1, 1), Grammar({7, 6}))


def test_the_distribution_is_that_of_masking_each_time():
    """Sampling first must not favour anything."""
    scores = np.log([0.5, 0.2, 0.2, 0.1])
    drawn: Counter[int] = Counter()
    for seed in range(3000):
        grammar = Grammar({B, C, END})
        drawn.update(run(Model(*scores), grammar, temperature=1, seed=seed).tokens)

    shares = [drawn[token] / 3000 for token in (A, B, C, END)]
    assert shares == pytest.approx([0, 0.4, 0.4, 0.2], abs=0.04)


def test_the_same_seed_gives_the_same():
    scores = np.log([0.3, 0.3, 0.2, 0.2])
    grammars = [Grammar(*([{A, B, C, END}] * 8)) for _ in range(3)]

    seeds = (1, 1, 2)
    one, again, other = [
        run(Model(*scores), grammar, temperature=1, seed=seed).tokens
        for grammar, seed in zip(grammars, seeds, strict=True)
    ]

    assert one == again
    assert one != other


def test_absurd_tokens_are_never_taken():
    """Each has one chance in a thousand, but there are fifty thousand of them."""
    scores = np.log([0.9, 0.04, 0.03, 0.03])

    drawn = {
        run(Model(*scores), Grammar({A, B, C, END}), temperature=1, seed=seed).tokens[0]
        for seed in range(200)
    }

    assert drawn == {A}
