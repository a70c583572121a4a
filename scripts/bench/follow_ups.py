"""Measure what it saves, and costs, to ask an agent again instead of a new one.

Every question is about the same files. A new agent reads them; one that has answered
has them in its conversation already. Two sessions are asked the same: in one each
question gets a new agent (that is the floor), in the other it continues the last one.
A token is taken for four characters of the JSON that the client sends.

    sent       everything that the client sends to the API, with each turn again
    anew       of it, what the request before in the same conversation did not have;
               of a new agent all: what a provider's cache keeps across agents is not
               known here
    growth     how much longer the main thread's conversation became

The model is scripted: the times are those of the client, the hooks and the turns, and
the more turns an agent takes the more a real model adds.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from itertools import pairwise
from typing import TYPE_CHECKING

from bench import host
from bench.table import Row
from bench.timing import Series
from bench.wakes import PAUSE_S, enter, open_bridge
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.models import obedient_model
from bridge.testing.stage.replies import reply, tool_use

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bridge.testing.stage.replies import Reply
    from bridge.testing.stage.turns import ApiRequest

CHARS_PER_TOKEN = 4
FILES, FILE_CHARS = 4, 16_000
HOWS = ("new", "continued")


def measure(root: Path, questions: int) -> list[Row]:
    """Ask `questions` questions, at least two, in each of the two ways."""
    count = max(2, questions)
    found: dict[str, list[Series]] = {}
    for how in HOWS:
        with ExitStack() as stack:
            api = stack.enter_context(ScriptedApi(obedient_model(_reads_first)))
            stage = host.world(root / how, api, host.our_hooks())
            for number in range(FILES):
                line = f"line of file {number}, which is long enough\n"
                text = line * (FILE_CHARS // len(line))
                (stage.project / f"file{number}.txt").write_text(text)
            enter(stack, stage, "stream")
            bridge = open_bridge(stage)
            times, before = [], api.turns("main")[-1]
            last: str | None = None
            for number in range(count):
                time.sleep(PAUSE_S)
                began = time.monotonic()
                goes_on = last if how == "continued" else None
                answer = bridge.ask(f"Question {number}?", continues=goes_on)
                times.append(time.monotonic() - began)
                last = answer.request_id
            time.sleep(PAUSE_S)
            found[how] = _figures(times, before, api, count)
    return _rows(found, count)


def _reads_first(_prompt: str, request: ApiRequest) -> Reply:
    """An agent that reads every file once, and answers."""
    if any(call.get("name") == "Read" for call in request.own_calls):
        summary = f"after {len(request.messages)} messages"
        return reply(json.dumps({"status": "success", "summary": summary}))
    files = (f"{_project(request)}/file{number}.txt" for number in range(FILES))
    return reply(*(tool_use("Read", {"file_path": file}) for file in files))


def _project(request: ApiRequest) -> str:
    said = json.dumps(request.body, ensure_ascii=False)
    return said.partition("Primary working directory: ")[2].partition("\\n")[0]


def _figures(
    times: list[float], before: ApiRequest, api: ScriptedApi, count: int
) -> list[Series]:
    main = [before, *(t for t in api.turns("main") if t.time_s > before.time_s)]
    agents: dict[str, list[ApiRequest]] = {}
    for turn in api.turns("subagent"):
        agents.setdefault(str(turn.agent_id), []).append(turn)
    sent = sum(turn.size_bytes for turn in api.turns("subagent"))
    anew = sum(turns[0].size_bytes + _grown(turns) for turns in agents.values())
    values = [
        sent,
        anew,
        sum(turn.size_bytes for turn in main[1:]),
        main[-1].size_bytes - main[0].size_bytes,
    ]
    tokens = [Series([value / CHARS_PER_TOKEN / count]) for value in values]
    return [*tokens, Series(times[1:])]


def _grown(turns: Sequence[ApiRequest]) -> int:
    return sum(max(0, b.size_bytes - a.size_bytes) for a, b in pairwise(turns))


def _rows(found: dict[str, list[Series]], count: int) -> list[Row]:
    names = (
        ("agents: sent", "tokens"),
        ("agents: sent anew", "tokens"),
        ("main thread: sent", "tokens"),
        ("main thread: growth", "tokens"),
        ("question -> answer, from the second on", "s"),
    )
    each = zip(names, found["continued"], found["new"], strict=True)
    return [
        Row(f"{count} questions, each: {name}", continued, new, unit=unit)
        for (name, unit), continued, new in each
    ]
