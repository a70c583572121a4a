"""The tool calls of a run, and which of them would tell the model nothing new. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import orjson

from bridge.agent_loop.evidence import ToolRun
from bridge.agent_loop.tool import ToolResult

if TYPE_CHECKING:
    from bridge.agent_loop.model_policy import ModelPolicy
    from bridge.agent_loop.reply_schema import RequestedCall
    from bridge.agents.definition import ExampleCall


class CallHistory:
    """What was called with which arguments, and how it ended.

    Attributes:
        runs: the calls that were carried out, in order.
        repeats: how many refused repetitions there were in a row.
    """

    def __init__(self, policy: ModelPolicy) -> None:
        self.runs: list[ToolRun] = []
        self.repeats = 0
        self._policy = policy
        self._last: dict[bytes, ToolRun] = {}
        self._times: Counter[bytes] = Counter()
        # Calls with a result that cannot have changed: no command has run since.
        self._unchanged: set[bytes] = set()

    @property
    def is_stuck(self) -> bool:
        """Whether the model only repeats itself."""
        return self.repeats >= self._policy.max_repeats

    def find_repeated(self, call: RequestedCall) -> ToolRun | None:
        """The earlier run of a call that must not be repeated, if it is one."""
        key = _key(call)
        if key in self._unchanged or self._times[key] >= self._policy.max_same_calls:
            return self._last[key]
        return None

    def add(self, call: RequestedCall, run: ToolRun) -> None:
        """Record a call that was carried out."""
        key = _key(call)
        self.repeats = 0
        self.runs.append(run)
        self._last[key] = run
        self._times[key] += 1
        self.after(run.result)
        self._unchanged.add(key)

    def after(self, result: ToolResult) -> None:
        """Allow every call again if commands ran: they may have changed its result."""
        if result.ran:
            self._unchanged.clear()

    def result_of(self, call: ExampleCall) -> ToolResult | None:
        """The result of the last call with the same tool and arguments, if any."""
        run = self._last.get(_key(call))
        return None if run is None else run.result


def _key(call: RequestedCall | ExampleCall) -> bytes:
    """The same for the same tool and arguments."""
    return orjson.dumps([call.tool, call.arguments], option=orjson.OPT_SORT_KEYS)
