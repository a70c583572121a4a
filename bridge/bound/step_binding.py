"""Which conversation's step binds an event: standard library only.

A step binds its conversation and every agent that this starts and that is not ours; one
of ours has its own. What the tools of a bound agent return moves nothing.
"""

from __future__ import annotations

import os

from bridge.bound.call_notes import is_name, load
from bridge.policy import step_workflow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bridge.policy.step_record import StepRecord

    Json = dict[str, Any]

MAX_BYTES = 4 * 1024 * 1024
_MAX_DEPTH = 20


class Binding:
    """The conversation whose step binds an event.

    Attributes:
        file: where its workflow is kept, whether or not there is one.
        fields: the event, as one of that conversation.
        run: the record of its agent, if it is one of ours.
        state: the state directory.
        is_own: whether the event happened in it, and not in an agent that it started.
    """

    __slots__ = ("fields", "file", "is_own", "run", "state")

    def __init__(self, state: str, fields: Json, run: Json | None) -> None:
        self.state = state
        agent_id = fields.get("agent_id")
        self.is_own = agent_id is None or (run is not None and not run.get("nested"))
        self.run = _starter(f"{state}/agents/", run) if run else None
        if self.run is not None:
            holder = self.run.get("agentId")
            self.file = f"{state}/agents/{holder}.steps"
            self.fields = {**fields, "agent_id": holder}
        else:
            name = fields.get("session_id")
            self.file = f"{state}/sessions/{name if is_name(name) else ''}.steps.json"
            self.fields = fields

    def record(self) -> StepRecord | None:
        """The record of its workflow; None if there is none.

        Raises:
            ValueError: it cannot be read.
        """
        found: Any = load(self.file, MAX_BYTES)
        if found is None and not os.path.lexists(self.file):
            return None
        version = found and found.get("schemaVersion")
        is_read = found is not None and (
            version == step_workflow.VERSION
            and found.keys() <= step_workflow.KEYS
            and (
                found.get("status") == "ended"
                or step_workflow.step_of(found) is not None
            )
        )
        if not is_read:
            raise ValueError(f"{self.file} is no workflow that can be read")
        record: StepRecord = found
        return record


def _starter(agents: str, run: Json) -> Json:
    """The agent of ours that an agent came from: itself, or the one above it."""
    for _ in range(_MAX_DEPTH):
        if not run.get("nested"):
            break
        parent = run.get("parent")
        above = load(f"{agents}{parent}.json") if is_name(parent) else None
        above = above or _serving(agents, run.get("requestId"))
        if above is None:
            break
        run = above
    return run


def _serving(agents: str, request_id: object) -> Json | None:
    """The agent that serves a request: who used a skill is not noted."""
    for name in os.listdir(agents):
        if name.endswith(".json"):
            run = load(agents + name)
            if run and run.get("requestId") == request_id and not run.get("nested"):
                return run
    return None


def place_of(
    state: str, fields: Json, run: Json | None
) -> tuple[str | None, str | None]:
    """The workflow that binds an event and its step; None for both if none does."""
    try:
        record = Binding(state, fields, run).record()
    except ValueError:
        return None, None
    if record is None or step_workflow.step_of(record) is None:
        return None, None
    return str(record["code"].get("name")), str(record["step"])
