"""Ask many questions in one real session: none lost or doubled, memory constant.

The asker is a separate process. It submits everything at once and waits for the
answers as they come; the session takes as many at a time as it has slots.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from bench import host
from bench.memory import rss_mib
from bench.table import Row
from bench.timing import Series
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.models import TOKEN, obedient_model
from bridge.testing.stage.replies import ToolUse, reply
from bridge.testing.stage.stream import StreamSession

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.testing.stage.replies import Answer
    from bridge.testing.stage.turns import ApiRequest

ASKER = """
import json, sys
from bridge import Bridge

bridge = Bridge.open()
count = int(sys.argv[1])
timeout_s = 120 + 10 * count
ids = {}
for number in range(count):
    ids[bridge.submit(f"question {number}", timeout_s=timeout_s)] = number
print(json.dumps({"submitted": len(ids)}), flush=True)
for result in bridge.wait(list(ids), timeout_s=timeout_s):
    parsed = result.parsed
    results = {"number": ids[result.request_id], "error": str(result.error)}
    results["answer"] = parsed.summary if parsed else None
    print(json.dumps(results), flush=True)
"""
SAMPLES = 10


class Crowd:
    """An obedient model that counts what it launches and answers."""

    def __init__(self) -> None:
        """Start with empty counts."""
        self.launched: Counter[str] = Counter()
        self.worked: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._obey = obedient_model(self._answer)

    def __call__(self, request: ApiRequest) -> Answer:
        """Give one turn, and keep nothing of the request."""
        answer = self._obey(request)
        with self._lock:
            for block in getattr(answer, "blocks", ()):
                if request.role == "main" and isinstance(block, ToolUse):
                    self.launched.update(TOKEN.findall(json.dumps(block.arguments)))
        # The server keeps every request; a thousand whole conversations are too many.
        body: Any = request.body
        for part in ("messages", "system"):
            body.pop(part, None)
        return answer

    def _answer(self, prompt: str, _request: ApiRequest) -> Answer:
        found = re.match(r"question (\d+)", prompt)
        number = found[1] if found else "?"
        with self._lock:
            self.worked[number] += 1
        summary = f"answer {number}"
        return reply(json.dumps({"status": "success", "summary": summary}))


def measure(root: Path, asks: int) -> list[Row]:
    """Ask, count, and measure how asker and client grow."""
    crowd = Crowd()
    with ExitStack() as stack:
        api = stack.enter_context(ScriptedApi(crowd))
        stage = host.world(root / "crowd", api, host.our_hooks())
        session = stack.enter_context(StreamSession(stage))
        session.ask("hello")
        start = time.monotonic()
        asker = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", ASKER, str(asks)],
                cwd=stage.project,
                env=stage.environment(),
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        assert asker.stdout is not None
        results: list[dict[str, Any]] = []
        asker_mib, client_mib = Series(), Series()
        for line in asker.stdout:
            results.append(json.loads(line))
            if (len(results) - 1) % max(1, asks // SAMPLES) == 0:
                asker_mib.values.append(rss_mib(asker.pid))
                client_mib.values.append(rss_mib(session.pid))
                _report(results, start, asker_mib, client_mib)
        took_s = time.monotonic() - start
        turns = len(api.turns("main"))
    answers = Counter(each["number"] for each in results if "number" in each)
    right = sum(
        each.get("answer") == f"answer {each.get('number')}" for each in results
    )
    twice = sum(count > 1 for count in crowd.launched.values())
    twice += sum(count > 1 for count in (crowd.worked | answers).values())
    state = host.state_of(stage)
    left = {
        name: len(list((state / name).iterdir()))
        for name in ("requests", "processing", "agents")
    }
    print(f"\ncrowd: {turns} turns of the host's model; left on disk: {left}")

    def row(what: str, values: list[float], goal: float | None, unit: str) -> Row:
        return Row(what, Series(values), None, goal, "value", unit)

    early, late = asker_mib.values[len(asker_mib.values) // 4], asker_mib.values[-1]
    return [
        row(f"{asks} asks: lost or wrong", [asks - right], 0, ""),
        row(f"{asks} asks: taken twice", [twice], 0, ""),
        row("  answers a second", [right / took_s], None, "1/s"),
        row("  asker grows, from a quarter to the end", [late - early], 5, "MiB"),
        row("  asker", asker_mib.values, None, "MiB"),
        row("  client", client_mib.values, None, "MiB"),
    ]


def _report(
    results: list[dict[str, Any]], start: float, asker: Series, client: Series
) -> None:
    print(
        f"  {len(results) - 1} answers after {time.monotonic() - start:.0f} s; asker "
        f"{asker.values[-1]:.0f} MiB, client {client.values[-1]:.0f} MiB",
        file=sys.stderr,
        flush=True,
    )
