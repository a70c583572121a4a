"""From messages and a schema to a reply, in the worker: prompt, cache, decoding.

The prefix that all requests of an agent share is always read on its own, whether it
comes from the cache or not: so both ways give the same numbers, and the same reply.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bridge.agent_loop.chat_model import Message, ModelFailed
from bridge.llama.chat_template import TemplateFailed, pieces_of
from bridge.llama.decode import GrammarFailed, decode
from bridge.llama.prompt_cache import LEAST_TOKENS
from bridge.llama.prompt_tokens import prompt_of
from bridge.llama.sampling import Sampler

if TYPE_CHECKING:
    from collections.abc import Callable

    from llguidance import LLMatcher, LLTokenizer

    from bridge.llama.prompt_cache import PromptCache
    from bridge.llama.prompt_tokens import Prompt
    from bridge.llama.runtime import Llama

# A conversation that leaves less room than this for a reply is too long.
LEAST_ROOM = 64
_TELL_EVERY_S = 0.1


class Replier:
    """A loaded model that replies, one conversation after the other.

    Args:
        model: loaded; its room is made by the first reply, where it was not before.
        template: its chat template, None where it has none.
        cache: of prompts, None for none.
    """

    def __init__(
        self, model: Llama, template: str | None, cache: PromptCache | None
    ) -> None:
        self._model = model
        self._template = template
        self._cache = cache
        # Done while others make room, or read the prompt: one after the other, as
        # they are needed.
        self._pool = ThreadPoolExecutor(1)
        self._vocabulary = self._pool.submit(lambda: model.vocabulary)
        self._tokenizer = self._pool.submit(self._for_grammars)

    def _for_grammars(self) -> LLTokenizer:
        return self._model.vocabulary.for_grammars()

    def reply(
        self, order: dict[str, Any], on_tokens: Callable[[int, float], None]
    ) -> dict[str, Any]:
        """Reply to one order of `bridge.llama.local_model`; returns the reply's fields.

        Raises:
            ModelFailed: AGENT_001 for the schema, AGENT_002 for the template,
                AGENT_004 for what is too long.
        """
        started = time.monotonic()
        matching = self._pool.submit(self._matcher, order["shape"])
        try:
            prompt = self._prompt(order)
        except TemplateFailed as exc:
            raise ModelFailed("AGENT_002", str(exc)) from None
        room = self._room(prompt, order["maxTokens"])
        cached = self._read(prompt)
        matcher = matching.result()
        teller = _Teller(started, on_tokens)
        sampler = Sampler(order["temperature"], order["seed"])
        try:
            decoded = decode(
                self._model, matcher, sampler, max_tokens=room, on_tokens=teller.tell
            )
        except GrammarFailed as exc:
            said = f"the schema is too complex: {exc}"
            raise ModelFailed("AGENT_001", said) from None
        text = self._text(decoded.tokens)
        if not decoded.is_whole:
            raise ModelFailed(
                "AGENT_004",
                f"the reply was cut after {len(decoded.tokens)} tokens, before it was "
                f"whole; it began: {text[:200]}",
            )
        return {
            "text": text,
            "promptTokens": len(prompt.tokens),
            "cachedTokens": cached,
            "tokens": len(decoded.tokens),
            "seconds": time.monotonic() - started,
        }

    def _matcher(self, shape: dict[str, Any]) -> LLMatcher:
        """The grammar of a schema, at its beginning; raises `ModelFailed`."""
        # Not above: it takes long to load, and the prompt does not need it.
        from llguidance import LLMatcher

        from bridge.llama.grammar import ShapeRefused, grammar_of

        try:
            grammar = grammar_of(shape)
        except ShapeRefused as exc:
            raise ModelFailed("AGENT_001", str(exc)) from None
        matcher = LLMatcher(self._tokenizer.result(), grammar, log_level=0)
        if matcher.is_error():
            raise ModelFailed("AGENT_001", matcher.get_error())
        return matcher

    def _prompt(self, order: dict[str, Any]) -> Prompt:
        vocabulary = self._vocabulary.result()
        messages = [Message(m["role"], m["content"]) for m in order["messages"]]
        pieces = pieces_of(
            messages,
            self._template,
            bos=vocabulary.bos_word,
            eos=vocabulary.eos_word,
        )
        return prompt_of(pieces, vocabulary, prefix=order["prefix"])

    def _room(self, prompt: Prompt, max_tokens: int) -> int:
        """How many tokens the reply may have."""
        length = self._model.context_length
        room = length - len(prompt.tokens)
        if room < min(max_tokens, LEAST_ROOM):
            raise ModelFailed(
                "AGENT_004",
                f"the conversation has {len(prompt.tokens)} tokens; the context of "
                f"{length} leaves no room for a reply",
            )
        return min(max_tokens, room)

    def _read(self, prompt: Prompt) -> int:
        """Have the model read the prompt; returns how much of it needed no reading."""
        # The last token is always read: its scores are what decoding begins with.
        tokens, shared = prompt.tokens, min(prompt.shared, len(prompt.tokens) - 1)
        model = self._model
        same = model.keep(min(_common(model.read_tokens, tokens), len(tokens) - 1))
        if same < shared:
            model.keep(0)
            same = self._read_shared(tokens[:shared])
        model.read(tokens[len(model.read_tokens) :])
        return same

    def _read_shared(self, tokens: list[int]) -> int:
        """Have it read the shared part, or take it from the cache; as `_read`."""
        cache = self._cache if len(tokens) >= LEAST_TOKENS else None
        if cache is not None and cache.restore(self._model, tokens):
            return len(tokens)
        self._model.read(tokens)
        if cache is not None:
            cache.save(self._model, tokens)
        return 0

    def _text(self, tokens: list[int]) -> str:
        vocabulary = self._vocabulary.result()
        said = (vocabulary.pieces[t] for t in tokens if t not in vocabulary.ends)
        return b"".join(said).decode(errors="replace")


class _Teller:
    """Tells how many tokens there are, now and then."""

    def __init__(self, started: float, on_tokens: Callable[[int, float], None]) -> None:
        self._started = started
        self._told = started
        self._on_tokens = on_tokens

    def tell(self, tokens: int) -> None:
        now = time.monotonic()
        if now - self._told >= _TELL_EVERY_S:
            self._told = now
            self._on_tokens(tokens, now - self._started)


def _common(one: list[int], other: list[int]) -> int:
    """How many of the first tokens are the same."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count
