"""Measure what one request adds to the host's own conversation, in and out.

Growth is what the main thread's next request has in addition to the last one, for each
request answered in between. It has three parts: the output of our hooks, that of the
model (its call, its closing words), and what the client wraps around both.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench import host
from bench.table import Row
from bench.timing import Series
from bench.wakes import PAUSE_S, enter, open_bridge
from bridge.host.request_tokens import INTRODUCTION, instruction
from bridge.host.unseen_ends import LAUNCHED
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.models import TOKEN, obedient_model
from bridge.testing.stage.replies import reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bridge.testing.stage.replies import Reply
    from bridge.testing.stage.turns import ApiRequest

# Half of a call is a random id, in which a token is about two characters.
CHARS_PER_TOKEN = 2.5
BIG_PROMPT = 600_000
BIG_ANSWER = 100_000
ASKS = 4


def measure(root: Path) -> list[Row]:
    """Ask tiny and big questions in two kinds of session."""
    rows = []
    with ExitStack() as stack:
        for kind in ("stream", "terminal, auto mode"):
            api = stack.enter_context(ScriptedApi(obedient_model(_answer)))
            stage = host.world(root / kind.partition(",")[0], api, host.our_hooks())
            say = enter(stack, stage, kind)
            bridge = open_bridge(stage)
            grown = {}
            for size, prompt in (("tiny", "How are you?"), ("big", "word " * 120_000)):
                before = _newest(api)
                for _ in range(ASKS):
                    time.sleep(PAUSE_S)
                    bridge.ask(prompt, timeout_s=60)
                time.sleep(PAUSE_S)
                say(f"and now {size}")
                grown[size] = _growth(before, _newest(api))
            rows += _rows(kind, grown["tiny"], grown["big"])
    return rows


@dataclass(frozen=True, slots=True)
class Growth:
    """Characters that each request adds to the host's input."""

    hooks: float
    model: float
    client: float
    calls: float

    @property
    def total(self) -> float:
        """Their sum."""
        return self.hooks + self.model + self.client


def _answer(prompt: str, _request: ApiRequest) -> Reply:
    summary = "y" * (BIG_ANSWER if len(prompt) >= BIG_PROMPT else 20)
    output = {"status": "success", "summary": summary, "evidence": []}
    return reply(json.dumps(output))


def _newest(api: ScriptedApi) -> ApiRequest:
    return api.turns("main")[-1]


def _growth(before: ApiRequest, after: ApiRequest) -> Growth:
    """Divide what `after` adds, without the prompt that caused the request."""
    new = after.messages[len(before.messages) :]
    written = [text for item in new if _is_model(item) for text in _texts(item)]
    read = [text for item in new if not _is_model(item) for text in _texts(item)]
    # Its answer to the last prompt, and the newest prompt, are no cost of ours.
    closing, prompt = written.pop(0), read.pop()
    assert (closing, prompt[:7]) == ("ok", "and now"), new
    calls = [text for text in written if "bridge:" in text]
    assert len(calls) == ASKS, written
    ids = TOKEN.findall("".join(calls))
    ours = [instruction([i]) for i in ids] + [LAUNCHED] * ASKS
    everything = "\n".join(read)
    assert all(words in everything for words in ours), everything
    hooks = sum(map(len, ours))
    return Growth(
        hooks / ASKS,
        sum(map(len, written)) / ASKS,
        (sum(map(len, read)) - hooks) / ASKS,
        sum(map(len, calls)) / ASKS,
    )


def _is_model(item: Mapping[str, Any]) -> bool:
    return item.get("role") == "assistant"


def _texts(part: Any) -> Iterator[str]:
    """All texts in a message, and the calls as the model must write them."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, list):
        for each in part:
            yield from _texts(each)
    elif isinstance(part, dict) and part.get("type") == "tool_use":
        call = {"name": part["name"], "input": part["input"]}
        yield json.dumps(call, separators=(",", ":"))
    elif isinstance(part, dict):
        yield from _texts(part.get("text") or part.get("content") or "")


def _rows(kind: str, tiny: Growth, big: Growth) -> list[Row]:
    out = tiny.model / CHARS_PER_TOKEN

    def row(what: str, value: float, goal: float | None = None) -> Row:
        return Row(what, Series([value]), goal=goal, by="value", unit="chars")

    return [
        Row(f"{kind}: output, estimated", Series([out]), None, 60, "value", "tokens"),
        row("  the call itself", tiny.calls),
        row(f"{kind}: growth of input", big.total, 300),
        row("  of it, what our hooks say", big.hooks),
        row("  of it, what the model written", big.model),
        row("  of it, what the client wraps around", big.client),
        row("  600 kB and 100 kB against tiny", abs(big.total - tiny.total), 300),
        row("  once a session: our introduction", len(INTRODUCTION)),
    ]
