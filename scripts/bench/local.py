"""Measure the local route beside llama.cpp alone, with the same model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llguidance import LLMatcher

from bench.shapes import SHAPES
from bench.table import Row
from bench.timing import Series, take_turns
from bridge.agent_loop.chat_model import ChatRequest, Message, ModelFailed
from bridge.agent_loop.reply_schema import narrowed
from bridge.config import Settings
from bridge.llama.chat_template import pieces_of
from bridge.llama.decode import Sampler, decode
from bridge.llama.grammar import grammar_of
from bridge.llama.local_model import LlamaModel, check_reply
from bridge.llama.model_files import ModelFile, find_model
from bridge.llama.prompt_cache import PromptCache, model_key
from bridge.llama.prompt_tokens import prompt_of
from bridge.llama.reply import ModelReplier
from bridge.llama.runtime import Llama
from bridge.llama.worker_client import tune

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CONTEXT = 8192
TOKENS = 96
HOT = 0.8
MIB = 1 << 20
# A shared prompt of about 1,700 tokens, as that of an agent with tools and examples.
PREFIX = Message("system", "You are a careful agent. Read before you answer. " * 150)
ASKED = Message("user", "Tell what you know about dogs, at some length, as JSON.")

_TEXT = {"type": "string", "minLength": 1000}
_OBJECT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"enum": ["success", "partial", "failed", "blocked"]},
        "summary": {"type": "string", "minLength": 100, "maxLength": 200},
        "evidence": {
            "type": "array",
            "minItems": 2,
            "maxItems": 4,
            "items": {
                "type": "object",
                "properties": {
                    "type": {"const": "command"},
                    "content": {"type": "string", "minLength": 20, "maxLength": 60},
                    "passed": {"type": "boolean"},
                },
                "required": ["type", "content", "passed"],
            },
        },
    },
    "required": ["status", "summary", "evidence"],
}
# An agent that answers at once, in about 40 tokens.
_TALKER = """\
name: talker
description: Says something about dogs.
tools: []
output_schema:
  type: object
  additionalProperties: false
  required: [said]
  properties: {said: {type: string, minLength: 80, maxLength: 90}}
"""

_ALONE = """
import sys
import llama_cpp.llama_cpp as lib
import llama_cpp
import numpy as np
path, context, threads, count = sys.argv[1], *map(int, sys.argv[2:])
lib.llama_backend_init()
model = lib.llama_model_load_from_file(path.encode(), lib.llama_model_default_params())
params = lib.llama_context_default_params()
params.n_ctx, params.n_batch = context, 512
params.n_threads = params.n_threads_batch = threads
held = lib.llama_init_from_model(model, params)
size = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
token = (lib.llama_token * 1)(1)
for _ in range(count):
    assert lib.llama_decode(held, lib.llama_batch_get_one(token, 1)) == 0
    scores = lib.llama_get_logits_ith(held, -1)
    token[0] = int(np.ctypeslib.as_array(scores, shape=(size,)).argmax())
"""

# Prints the milliseconds of a token of a prompt, and of a token that is decoded: those
# of a processor, on one thread, which tell builds apart on a busy machine, too.
_SPEEDS = """
import json, sys, time
import llama_cpp.llama_cpp as lib
path, count = sys.argv[1], int(sys.argv[2])
lib.llama_backend_init()
model = lib.llama_model_load_from_file(path.encode(), lib.llama_model_default_params())
params = lib.llama_context_default_params()
params.n_ctx, params.n_batch = 2048, 512
params.n_threads = params.n_threads_batch = 1
held = lib.llama_init_from_model(model, params)
def read(tokens):
    started = time.process_time()
    held_tokens = (lib.llama_token * len(tokens))(*tokens)
    batch = lib.llama_batch_get_one(held_tokens, len(tokens))
    assert lib.llama_decode(held, batch) == 0
    lib.llama_get_logits_ith(held, -1)
    return (time.process_time() - started) * 1000
read([1] * 32)
prompt = read(list(range(100, 228))) / 128
print(json.dumps([prompt, sum(read([200 + n]) for n in range(count)) / count]))
"""


class Bench:
    """The configured or the default model, in this process and in workers."""

    def __init__(self, rounds: int) -> None:
        tune(os.environ)
        home = Path(tempfile.mkdtemp(prefix="hostbridge-bench-"))
        chosen = Settings.from_environment()
        self.rounds = rounds
        self.settings = Settings(home=home, local_model=chosen.local_model)
        self.model: ModelFile = find_model(None, self.settings)
        self.path = str(self.model.path)
        self.home = home

    def speed(self) -> list[Row]:
        """The time of a token, constrained and free, at temperature 0 and 0.8."""
        model = Llama(self.path, context=CONTEXT)
        tokenizer = model.vocabulary.for_grammars()
        pieces = pieces_of([ASKED], self.model.header.chat_template)
        prompt = prompt_of(pieces, model.vocabulary, prefix=0).tokens

        def timed(act: Callable[[Sampler], int], temperature: float) -> float:
            model.keep(0)
            model.read(prompt)
            started = time.perf_counter()
            count = act(Sampler(temperature, 1))
            return (time.perf_counter() - started) * 1000 / count

        def free(sampler: Sampler) -> int:
            for _ in range(TOKENS):
                model.read([sampler.pick(model.scores())])
            return TOKENS

        def constrained(shape: dict[str, Any]) -> Callable[[Sampler], int]:
            grammar = grammar_of(narrowed(shape))

            def act(sampler: Sampler) -> int:
                matcher = LLMatcher(tokenizer, grammar, log_level=0)
                decoded = decode(
                    model, matcher, sampler, max_tokens=TOKENS, on_tokens=lambda _: None
                )
                return len(decoded.tokens)

            return act

        acts = {
            "free": free,
            "a string": constrained(_TEXT),
            "an object": constrained(_OBJECT),
        }
        cases: list[Callable[[], Mapping[str, float]]] = [
            lambda name=name, act=act, temperature=temperature: {  # type: ignore[misc]
                f"{name} {temperature}": timed(act, temperature)
            }
            for name, act in acts.items()
            for temperature in (0.0, HOT)
        ]
        found = take_turns(cases, self.rounds)
        return [
            Row(f"a token of {name}, at {temperature}", found[f"{name} {temperature}"],
                found[f"free {temperature}"], 1 / 0.95)
            for name in ("a string", "an object")
            for temperature in (0.0, HOT)
        ]  # fmt: skip

    def reply(self) -> list[Row]:
        """From no process to a reply with a cached prompt, beside loading and decoding.

        The floor is the same for a long prompt: after 1,700 tokens decoding costs
        llama.cpp itself more than twice as much as after none.
        """
        prefixes = {"short": Message("system", PREFIX.content[:600]), "long": PREFIX}
        counted = max([self._ours(prefixes["short"]) for _ in range(2)])
        self._ours(PREFIX)

        def ours(name: str) -> dict[str, float]:
            started = time.perf_counter()
            self._ours(prefixes[name])
            return {name: (time.perf_counter() - started) * 1000}

        cases = [
            lambda: self._alone(counted),
            lambda: ours("short"),
            lambda: ours("long"),
        ]
        found = take_turns(cases, self.rounds)
        return [
            Row(f"start, reply {counted} tokens", found["short"], found["alone"], 1.5),
            Row("  behind a prompt of 1,700", found["long"], found["alone"]),
        ]  # fmt: skip

    def ask(self) -> list[Row]:
        """All of `hostbridge ask`: its start, the record, the model, the answer."""
        project, agents = self.home / "project", self.home / "agents"
        (project / ".git").mkdir(parents=True, exist_ok=True)
        agents.mkdir(exist_ok=True)
        (agents / "talker.yaml").write_text(_TALKER)
        command = [sys.executable, "-m", "bridge", "ask", "talker", ASKED.content]
        command += ["--route", "local", "--json", "--accept-degraded"]
        env = {**os.environ, "BRIDGE_HOME": str(self.home)}

        def asked() -> tuple[float, int]:
            started = time.perf_counter()
            done = subprocess.run(
                command, cwd=project, env=env, check=True, stdout=subprocess.PIPE
            )
            took_ms = (time.perf_counter() - started) * 1000
            return took_ms, json.loads(done.stdout)["run"]["tokens"]

        # The first run leaves its prompt in the cache.
        counted = max([asked()[1] for _ in range(2)])
        cases: list[Callable[[], Mapping[str, float]]] = [
            lambda: self._alone(counted),
            lambda: {"asked": asked()[0]},
        ]
        found = take_turns(cases, self.rounds)
        return [
            Row(f"ask, {counted} tokens", found["asked"], found["alone"], 1.5),
        ]

    def build(self, other: str) -> list[Row]:
        """The installed build of llama.cpp beside another, in processes of their own.

        `other` is the folder of the other's libraries.
        """
        command = [sys.executable, "-c", _SPEEDS, self.path, str(TOKENS // 3)]

        def speeds(name: str, env: dict[str, str]) -> dict[str, float]:
            done = subprocess.run(
                command,
                env={**os.environ, **env},
                check=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            prompt, decoded = json.loads(done.stdout)
            return {f"{name} prompt": prompt, f"{name} reply": decoded}

        found = take_turns(
            [
                lambda: speeds("installed", {}),
                lambda: speeds("other", {"LLAMA_CPP_LIB_PATH": other}),
            ],
            self.rounds,
        )
        return [
            Row(f"a token of a {kind}", found[f"installed {kind}"],
                found[f"other {kind}"], 1.15)
            for kind in ("prompt", "reply")
        ]  # fmt: skip

    def _alone(self, count: int) -> dict[str, float]:
        """A process that only loads the model and decodes."""
        threads = max(1, len(os.sched_getaffinity(0)) - 1)
        command = [sys.executable, "-c", _ALONE, self.path, str(CONTEXT)]
        command += [str(threads), str(count)]
        started = time.perf_counter()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return {"alone": (time.perf_counter() - started) * 1000}

    def _ours(self, prefix: Message) -> int:
        """A reply from a new process; returns the number of its tokens."""
        with LlamaModel(self.model, self.settings, temperature=0) as llama:
            request = ChatRequest(
                messages=[prefix, ASKED],
                shape={"type": "string", "minLength": 90, "maxLength": 110},
                prefix=1,
                max_tokens=400,
                deadline_s=time.monotonic() + 120,
            )
            return llama.reply(request).tokens

    def valid(self, runs: int) -> list[Row]:
        """How many replies at temperature 0.8 are refused, cut or invalid."""
        replier = ModelReplier(
            Llama(self.path, context=2048), self.model.header.chat_template, None
        )
        rows = []
        each = max(1, runs // len(SHAPES))
        for name, open_shape in SHAPES.items():
            shape = narrowed(open_shape)
            bad = 0
            for seed in range(each):
                order = {
                    "messages": [{"role": "user", "content": ASKED.content}],
                    "shape": shape,
                    "prefix": 0,
                    "maxTokens": 400,
                    "temperature": HOT,
                    "seed": seed,
                }
                try:
                    reply = replier.reply(order, lambda _tokens, _seconds: None)
                    check_reply(shape, reply.text)
                except ModelFailed as failed:
                    bad += 1
                    print(f"{name}, seed {seed}: {failed.code}: {failed}")
            what = f"not valid of {each}: {name}"
            rows.append(Row(what, Series([bad]), None, 0, "value", "runs"))
        return rows

    def memory(self) -> list[Row]:
        """The peak memory of a worker with a long prompt, beside file and context."""
        llama = LlamaModel(self.model, self.settings, temperature=0)
        peaks: list[float] = []

        def look(_tokens: int, _seconds: float) -> None:
            status = Path(f"/proc/{llama.pid}/status").read_text()
            peaks.append(int(status.partition("VmHWM:")[2].split()[0]) / 1024)

        with llama:
            llama.reply(
                ChatRequest(
                    messages=[PREFIX, ASKED],
                    shape=narrowed(_OBJECT),
                    prefix=1,
                    max_tokens=600,
                    deadline_s=time.monotonic() + 120,
                    on_tokens=look,
                )
            )
        floor = (self.model.header.size + self._context_bytes()) / MIB
        return [
            Row("peak memory of the worker", Series([peaks[-1]]), Series([floor]),
                150, "more", "MiB")
        ]  # fmt: skip

    def _context_bytes(self) -> int:
        """Keys and values of 16 bits, for all layers and tokens."""
        facts, kind = self.model.header.metadata, self.model.header.architecture
        heads = facts[f"{kind}.attention.head_count"]
        width = facts[f"{kind}.embedding_length"] // heads
        shared = facts.get(f"{kind}.attention.head_count_kv", heads)
        return int(CONTEXT * facts[f"{kind}.block_count"] * shared * width * 2 * 2)

    def cache(self) -> list[Row]:
        """A prompt of 1,700 tokens is saved and restored, beside reading it."""
        model = Llama(self.path, context=CONTEXT)
        folder = self.home / "prompts"
        folder.mkdir(exist_ok=True)
        cache = PromptCache(folder, model_key(self.model.path, "bench"), 1 << 30)
        pieces = pieces_of([PREFIX, ASKED], self.model.header.chat_template)
        prompt = prompt_of(pieces, model.vocabulary, prefix=1)
        tokens = prompt.tokens[: prompt.shared]

        def timed(act: Callable[[], object]) -> float:
            started = time.perf_counter()
            act()
            return (time.perf_counter() - started) * 1000

        found = {name: Series() for name in ("read", "save", "restore")}
        for _ in range(max(2, self.rounds // 3)):
            model.keep(0)
            found["read"].values.append(timed(lambda: model.read(tokens)))
            found["save"].values.append(timed(lambda: cache.save(model, tokens)))
            model.keep(0)
            took_ms = timed(lambda: cache.restore(model, tokens))
            assert model.read_tokens == tokens
            found["restore"].values.append(took_ms)
        return [
            Row(f"{name} a prompt of {len(tokens)} tokens", found[name], found["read"])
            for name in ("save", "restore")
        ]
