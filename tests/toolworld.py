"""The tools on tasks, called on a state of their own.

world = ToolWorld(tmp_path)
world("create_task", title="Limit uploads")
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from storeworld import FakeClock, claim_all, request, store_in, this_process

from bridge.config import Settings
from bridge.protocol.ids import RequestId
from bridge.protocol.response import answered
from bridge.store.store import Store
from bridge.tasks.task import Holder
from bridge.tasks.tool_table import ToolContext, call


def ask_validator(store: Store, **asked: Any) -> str:
    """Start a validator as an API does: by a request with that key."""
    # So that the same question has the same text, as the API's has.
    asking = request(
        prompt=asked["prompt"],
        agent_type=asked["agent"],
        task_id=asked["task_id"],
        dedup_key=asked["dedup_key"],
    )
    return store.submit(asking).request_id


class Validators:
    """Starts validators as an API does: by requests, which a test answers."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.asked: list[dict[str, Any]] = []

    def __call__(self, **asked: Any) -> str:
        self.asked.append(asked)
        return ask_validator(self.store, **asked)

    def answer(self, **verdict: Any) -> None:
        """Have all that were started answer."""
        for mine in claim_all(self.store):
            self.store.publish(
                answered(
                    mine,
                    raw="it is so",
                    parsed=verdict,
                    route="host",
                    now_ms=self.store.now_ms(),
                ),
                source="test",
            )


class ToolWorld:
    """Calls tools as one holder."""

    def __init__(self, folder: Path) -> None:
        self.store = store_in(folder, clock=FakeClock())
        self.validators = Validators(self.store)
        settings, me = Settings(home=folder), Holder("tester", this_process())
        self.context = ToolContext(self.store, settings, me, self.validators)

    def __call__(self, tool: str, key: str | None = None, **arguments: Any) -> Any:
        return call(self.context, tool, arguments, key)

    def as_(self, name: str) -> ToolWorld:
        """The same, for another holder."""
        other = object.__new__(ToolWorld)
        other.store, other.validators = self.store, self.validators
        holder = Holder(name, this_process())
        other.context = self.context._replace(holder=holder)
        return other

    def task(self, title: str = "A task", **fields: Any) -> str:
        """Add a task; how it is called."""
        made: str = self("create_task", title=title, **fields)["id"]
        return made

    def expanded(self, *subtasks: Any) -> Any:
        """A task, and what it was divided into."""
        self.task("Epic")
        self("save_expansion_spec", task_id="#1", spec={"subtasks": list(subtasks)})
        return self("execute_expansion", task_id="#1")

    def request(self, status: dict[str, Any]) -> RequestId:
        """The request of a validation that runs."""
        return RequestId(status["requestId"])
