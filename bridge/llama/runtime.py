"""What a reply needs of llama.cpp: loading, tokenizing, reading tokens, scores, state.

Only for the worker: a failure in here may end the process.

Source: llama.cpp, include/llama.h.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cached_property
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from bridge.agent_loop.chat_model import ModelFailed

# The package of llama-cpp-python loads its own chat formats, caches and models: 0.1 s
# in each worker, for code that nothing here calls. The module of the C functions only
# needs the package to exist, so it is created here and not executed.
_SPEC = find_spec("llama_cpp")
if _SPEC is not None and "llama_cpp" not in sys.modules:
    sys.modules["llama_cpp"] = module_from_spec(_SPEC)

import llama_cpp.llama_cpp as lib  # noqa: E402 - see above

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from llguidance import LLTokenizer

# Tokens read at once: fewer cost speed, more cost memory.
BATCH = 512
_MANY = 16
# Tokens that llguidance checks as one if all are allowed. This one of its four sets for
# JSON makes checks as cheap as all four do, and takes half the time to prepare in each
# process. Source: llguidance, `LLTokenizer.json_slices`.
_WITHIN_A_STRING = r'[^"\\\x00-\x1F\x7F]{1,30}'
# For llama_tokenize: add nothing, and look for no control words.
_PLAIN = (False, False)
_GGML_ERROR = 4
_PIECE_BYTES = 1 << 14
_SEQUENCE = 0


def build() -> str:
    """Identify the installed library, by the size and time of its file.

    Its version would say less, and `importlib.metadata` loads slowly.
    """
    facts = os.stat(lib._lib._name)  # noqa: SLF001 - as llguidance does
    return f"{facts.st_size} {facts.st_mtime_ns}"


def _on_log(level: int, text: bytes, _: object) -> None:
    """Keep only the errors that llama.cpp logs."""
    if level == _GGML_ERROR:
        os.write(2, text)


# Kept for ever: llama.cpp holds only its address.
_ON_LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(
    _on_log
)


class ReadFailed(Exception):
    """llama.cpp could not read tokens."""


class Vocabulary:
    """The tokenizer of a model; a `bridge.llama.prompt_tokens.Vocabulary`."""

    def __init__(self, model: Any) -> None:
        self.pointer: Any = lib.llama_model_get_vocab(model)
        self.size = lib.llama_vocab_n_tokens(self.pointer)
        self.pieces, self.controls, self.ends = self._words()

    @property
    def bos(self) -> int | None:
        """The token that begins every prompt, if there is one."""
        if not lib.llama_vocab_get_add_bos(self.pointer):
            return None
        return int(lib.llama_vocab_bos(self.pointer))

    def word(self, token: int) -> str:
        """A control token as the template writes it; empty if there is none."""
        return self.pieces[token].decode() if 0 <= token < self.size else ""

    @property
    def bos_word(self) -> str:
        """The word of the token that begins a text, even if prompts do not use it."""
        return self.word(lib.llama_vocab_bos(self.pointer))

    @property
    def eos_word(self) -> str:
        """The word of the token that ends a text."""
        return self.word(lib.llama_vocab_eos(self.pointer))

    def tokenize(self, text: str) -> list[int]:
        """Tokens of plain text."""
        data = text.encode("utf-8", errors="replace")
        room = len(data) + 8
        tokens = (lib.llama_token * room)()
        count = lib.llama_tokenize(self.pointer, data, len(data), tokens, room, *_PLAIN)
        if count < 0:
            raise ReadFailed(f"a text of {len(data)} bytes cannot be tokenized")
        return tokens[:count]

    def for_grammars(self) -> LLTokenizer:
        """The tokenizer for llguidance, with control tokens marked by a byte.

        Source: llguidance, `llguidance.llamacpp.lltokenizer_from_vocab`. It would go
        through the vocabulary a second time.
        """
        # Not at the top: the model loads in the meantime.
        from llguidance import LLTokenizer

        marked = list(self.pieces)
        for token in self.controls.values():
            marked[token] = b"\xff" + marked[token]
        tokenize = ctypes.cast(lib._lib.llama_tokenize, ctypes.c_void_p).value  # noqa: SLF001 - as llguidance does
        # Missing in its stubs.
        return LLTokenizer.from_llamacpp(  # type: ignore[attr-defined,no-any-return]
            tokens=marked,
            vocab_ptr=self.pointer,
            tokenize_fptr=tokenize,
            eos_token=sorted(self.ends),
            slices=[_WITHIN_A_STRING],
        )

    def _words(self) -> tuple[list[bytes], dict[str, int], frozenset[int]]:
        """The bytes of all tokens, the control tokens by word, the end tokens."""
        room = ctypes.create_string_buffer(_PIECE_BYTES)
        start = ctypes.addressof(room)
        # Looked up by name, these functions have no argument types. Checking those
        # takes twice as long as the calls, and there are many tokens.
        spell = lib._lib["llama_token_to_piece"]  # noqa: SLF001 - as llguidance does
        kind_of = lib._lib["llama_vocab_get_attr"]  # noqa: SLF001 - as above
        pointer, read = ctypes.c_void_p(self.pointer), ctypes.string_at
        odd = (
            lib.LLAMA_TOKEN_ATTR_CONTROL
            | lib.LLAMA_TOKEN_ATTR_UNKNOWN
            | lib.LLAMA_TOKEN_ATTR_USER_DEFINED
        )
        pieces, controls = [], {}
        for token in range(self.size):
            length = spell(pointer, token, room, _PIECE_BYTES, 0, 1)
            if length < 0:
                raise ModelFailed("model_unavailable", f"token {token} is too long")
            piece = read(start, length)
            pieces.append(piece)
            if (kind := kind_of(pointer, token)) & odd and _is_control(kind, piece):
                controls[piece.decode(errors="replace")] = token
        ends = {token for token in controls.values() if self._ends(token)}
        ends.add(lib.llama_vocab_eos(pointer))
        return pieces, controls, frozenset(ends - {-1})

    def _ends(self, token: int) -> bool:
        return bool(lib.llama_vocab_is_eog(self.pointer, token))


def _cores() -> int:
    """How many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _is_control(kind: int, piece: bytes) -> bool:
    """Whether it is a control token; a user-defined one if it looks like one."""
    if not piece:
        return False
    if kind & int(lib.LLAMA_TOKEN_ATTR_USER_DEFINED):
        return piece.startswith(b"<") and piece.endswith(b">")
    return True


class Llama:
    """A loaded model with one conversation in it.

    Args:
        path: the path of the model.
        context: how many tokens it may hold; it was trained with at least as many.

    Raises:
        ModelFailed: llama.cpp refuses it.
    """

    def __init__(self, path: str, *, context: int) -> None:
        lib.llama_log_set(_ON_LOG, ctypes.c_void_p(0))
        lib.llama_backend_init()
        self._model: Any = lib.llama_model_load_from_file(
            os.fsencode(path), lib.llama_model_default_params()
        )
        if not self._model:
            raise ModelFailed("model_unavailable", "llama.cpp cannot load it")
        self._wanted = context
        # With all cores, decoding is a tenth faster on an idle machine, and several
        # times slower on a busy one: each step waits for the last thread.
        self._threads = max(1, _cores() - 1)
        self.read_tokens: list[int] = []

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Its tokenizer."""
        return Vocabulary(self._model)

    @cached_property
    def _context(self) -> Any:
        """llama.cpp's memory of the conversation; raises `ModelFailed`."""
        params = lib.llama_context_default_params()
        params.n_ctx = self._wanted
        params.n_batch = min(BATCH, self._wanted)
        # Only the scores of the last token are needed; those of a whole batch would
        # take 100 MB for a vocabulary of 50,000.
        params.n_outputs_max = 1
        params.n_threads = self._threads
        params.no_perf = True
        context: Any = lib.llama_init_from_model(self._model, params)
        if not context:
            raise ModelFailed(
                "model_unavailable",
                f"llama.cpp has no room for a context of {self._wanted} tokens",
            )
        return context

    def prepare(self) -> None:
        """Allocate the memory of the conversation; raises `ModelFailed`."""
        _ = self._context

    @property
    def context_length(self) -> int:
        """How many tokens it may hold."""
        return int(lib.llama_n_ctx(self._context))

    def read(self, tokens: Sequence[int]) -> None:
        """Continue the conversation with these tokens.

        Raises:
            ReadFailed: there is no room, or llama.cpp gave up.
        """
        for start in range(0, len(tokens), BATCH):
            part = tokens[start : start + BATCH]
            # Kept in a variable, as the batch only points to it.
            held = (lib.llama_token * len(part))(*part)
            batch = lib.llama_batch_get_one(held, len(part))
            # A prompt is read with one more thread; it does not help with few tokens.
            more = self._threads + (len(part) >= _MANY)
            lib.llama_set_n_threads(self._context, self._threads, more)
            failed = lib.llama_decode(self._context, batch)
            if failed:
                raise ReadFailed(f"llama.cpp gave up on {len(part)} tokens: {failed}")
            self.read_tokens += part

    def scores(self) -> npt.NDArray[np.float32]:
        """The logits of the next token, valid until the next `read`."""
        pointer = lib.llama_get_logits_ith(self._context, -1)
        return np.ctypeslib.as_array(pointer, shape=(self.vocabulary.size,))

    def keep(self, count: int) -> int:
        """Forget all but the first `count` tokens; returns how many are kept.

        A model that cannot forget a part forgets everything.
        """
        memory = lib.llama_get_memory(self._context)
        if not lib.llama_memory_seq_rm(memory, _SEQUENCE, count, -1):
            lib.llama_memory_clear(memory, True)  # noqa: FBT003 - C
            count = 0
        del self.read_tokens[count:]
        return count

    def save(self, path: str) -> bool:
        """Write the state and its tokens to a file; False on failure."""
        tokens = self.read_tokens
        held = (lib.llama_token * len(tokens))(*tokens)
        written = lib.llama_state_seq_save_file(
            self._context, os.fsencode(path), _SEQUENCE, held, len(tokens)
        )
        return bool(written > 0)

    def restore(self, path: str, tokens: Sequence[int]) -> bool:
        """Restore the state saved after these tokens; if it fails, forget them all."""
        found = (lib.llama_token * len(tokens))()
        count = ctypes.c_size_t()
        loaded = lib.llama_state_seq_load_file(
            self._context,
            os.fsencode(path),
            _SEQUENCE,
            found,
            len(tokens),
            ctypes.byref(count),
        )
        if loaded and list(found[: count.value]) == list(tokens):
            self.read_tokens = list(tokens)
            return True
        self.keep(0)
        return False
