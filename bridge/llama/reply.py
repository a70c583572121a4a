"""Make a reply from messages and a schema, in the worker: prompt, cache, decoding.

The prefix that all requests to an agent share is always read separately, cached or not.
So both ways give the same numbers, and the same reply.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from bridge.agent_loop.chat_model import Message, ModelFailed, ModelReply
from bridge.llama.chat_template import ChatTemplateFailed, pieces_of
from bridge.llama.decode import GrammarFailed, Sampler, decode
from bridge.llama.prompt_cache import LEAST_TOKENS, PromptCache
from bridge.llama.prompt_tokens import Prompt, prompt_of

if TYPE_CHECKING:
    from llguidance import LLMatcher

    from bridge.llama.runtime import Llama

# A conversation that leaves fewer tokens than this for a reply is too long.
LEAST_ROOM = 64
_REPORT_EVERY_S = 0.1


class ModelReplier:
    """A loaded model that replies, one conversation after the other.

    Args:
        model: a loaded model.
        template: its chat template, if it has one.
        cache: the cache of prompts, if there is one.
    """

    def __init__(
        self, model: Llama, template: str | None, cache: PromptCache | None
    ) -> None:
        self._model = model
        self._template = template
        self._cache = cache
        # Done in this order while the context is made and the prompt is read.
        self._pool = ThreadPoolExecutor(1)
        self._vocabulary = self._pool.submit(lambda: model.vocabulary)
        self._tokenizer = self._pool.submit(
            lambda: self._vocabulary.result().for_grammars()
        )

    def reply(
        self, order: dict[str, Any], on_tokens: Callable[[int, float], None]
    ) -> ModelReply:
        """Reply to one order of `bridge.llama.local_model`.

        Raises:
            ModelFailed: bad_request for the schema, model_unavailable for the template,
                too_long if something is too long.
        """
        started = time.monotonic()
        matching = self._pool.submit(self._matcher, order["shape"])
        try:
            prompt = self._prompt(order)
        except ChatTemplateFailed as exc:
            raise ModelFailed("model_unavailable", str(exc)) from None
        room = self._room(prompt, order["maxTokens"])
        cached = self._read(prompt)
        matcher = matching.result()
        sampler = Sampler(order["temperature"], order["seed"])
        reported = started

        def report(tokens: int) -> None:
            nonlocal reported
            now = time.monotonic()
            if now - reported >= _REPORT_EVERY_S:
                reported = now
                on_tokens(tokens, now - started)

        try:
            decoded = decode(
                self._model, matcher, sampler, max_tokens=room, on_tokens=report
            )
        except GrammarFailed as exc:
            message = f"the schema is too complex: {exc}"
            raise ModelFailed("bad_request", message) from None
        text = self._text(decoded.tokens)
        if not decoded.is_whole:
            raise ModelFailed(
                "too_long",
                f"the reply was cut after {len(decoded.tokens)} tokens, before it was "
                f"whole; it began: {text[:200]}",
            )
        return ModelReply(
            text,
            prompt_tokens=len(prompt.tokens),
            cached_tokens=cached,
            tokens=len(decoded.tokens),
            seconds=time.monotonic() - started,
        )

    def _matcher(self, shape: dict[str, Any]) -> LLMatcher:
        """A fresh matcher for a schema; raises `ModelFailed`."""
        # Not at the top: it loads slowly, and the prompt does not need it.
        from llguidance import LLMatcher

        from bridge.llama.grammar import ShapeRefused, grammar_of

        try:
            grammar = grammar_of(shape)
        except ShapeRefused as exc:
            raise ModelFailed("bad_request", str(exc)) from None
        matcher = LLMatcher(self._tokenizer.result(), grammar, log_level=0)
        if matcher.is_error():
            raise ModelFailed("bad_request", matcher.get_error())
        return matcher

    def _prompt(self, order: dict[str, Any]) -> Prompt:
        vocabulary = self._vocabulary.result()
        messages = [Message(m["role"], m["content"]) for m in order["messages"]]
        pieces = pieces_of(
            messages, self._template, bos=vocabulary.bos_word, eos=vocabulary.eos_word
        )
        return prompt_of(pieces, vocabulary, prefix=order["prefix"])

    def _room(self, prompt: Prompt, max_tokens: int) -> int:
        """How many tokens the reply may have; raises `ModelFailed`."""
        length = self._model.context_length
        room = length - len(prompt.tokens)
        if room < min(max_tokens, LEAST_ROOM):
            raise ModelFailed(
                "too_long",
                f"the conversation has {len(prompt.tokens)} tokens; the context of "
                f"{length} leaves no room for a reply",
            )
        return min(max_tokens, room)

    def _read(self, prompt: Prompt) -> int:
        """Read the prompt; returns how many of its tokens were already read."""
        # The last token is always read: decoding begins with its scores.
        tokens, shared = prompt.tokens, min(prompt.shared, len(prompt.tokens) - 1)
        model = self._model
        same = model.keep(min(_common(model.read_tokens, tokens), len(tokens) - 1))
        if same < shared:
            model.keep(0)
            same = self._read_shared(tokens[:shared])
        model.read(tokens[len(model.read_tokens) :])
        return same

    def _read_shared(self, tokens: list[int]) -> int:
        """Read the shared part, or restore it from the cache; returns as `_read`."""
        cache = self._cache if len(tokens) >= LEAST_TOKENS else None
        if cache is not None and cache.restore(self._model, tokens):
            return len(tokens)
        self._model.read(tokens)
        if cache is not None:
            cache.save(self._model, tokens)
        return 0

    def _text(self, tokens: list[int]) -> str:
        vocabulary = self._vocabulary.result()
        pieces = (vocabulary.pieces[t] for t in tokens if t not in vocabulary.ends)
        return b"".join(pieces).decode(errors="replace")


def _common(one: list[int], other: list[int]) -> int:
    """How many of the first tokens are the same."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
