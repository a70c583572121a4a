"""Time a tool call in the client: from the model's call to the next request."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from bench import host
from bench.table import Row
from bench.timing import Series
from bridge.testing.stage.api import ScriptedApi
from bridge.testing.stage.replies import Reply, reply, tool_use
from bridge.testing.stage.stream import StreamSession

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.testing.stage.turns import ApiRequest

# Tool calls in one turn of a session, before the next session has its turn.
BLOCK = 8
TOOLS = ("Read", "Bash")


class CallingModel:
    """A model that makes `BLOCK` calls of one tool, one after the other, and ends."""

    def __init__(self, file: str) -> None:
        """`file` is what the calls of Read read."""
        self._inputs = {
            "Read": {"file_path": file},
            "Bash": {"command": ":", "description": "Nothing"},
        }
        self.found: dict[str, Series] = {tool: Series() for tool in TOOLS}
        self._tool = TOOLS[0]
        self._left = 0
        self._called_s: float | None = None

    def begin(self, tool: str) -> None:
        """Call this tool in the next turn."""
        self._tool, self._left, self._called_s = tool, BLOCK, None

    def __call__(self, request: ApiRequest) -> Reply:
        """Give one turn of the model."""
        if self._called_s is not None:
            assert not any(result.is_error for result in request.tool_results)
            ms = (request.time_s - self._called_s) * 1000
            self.found[self._tool].values.append(ms)
        if self._left == 0:
            return reply("done")
        self._left -= 1
        answer = reply(tool_use(self._tool, self._inputs[self._tool]))
        self._called_s = time.monotonic()
        return answer


def measure(root: Path, rounds: int) -> list[Row]:
    """Three clients, in turn: with our hooks, /bin/true in their place, none."""
    tables = {"ours": host.our_hooks(), "true": host.empty_hooks(), "none": {}}
    with ExitStack() as stack:
        pairs = []
        for name, hooks in tables.items():
            caller = CallingModel(str(root / name / "project" / "notes.txt"))
            api = stack.enter_context(ScriptedApi(caller))
            stage = host.world(root / name, api, hooks)
            session = stack.enter_context(StreamSession(stage))
            session.ask("hello")
            pairs.append((caller, session))
        for turn in range(-1, rounds):
            first = turn % len(pairs)
            for caller, session in pairs[first:] + pairs[:first]:
                for tool in TOOLS:
                    caller.begin(tool)
                    session.ask("go on", timeout_s=60)
                    if turn < 0:
                        caller.found[tool].values.clear()
    ours, empty, none = (caller.found for caller, _ in pairs)
    return [
        row
        for tool in TOOLS
        for row in (
            Row(f"{tool} call -> next request", ours[tool], empty[tool], 8, "more"),
            Row("  the client without hooks", none[tool], empty[tool], by="more"),
        )
    ]
