"""The tools on tasks, for programs: who calls, and how an agent is started for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from bridge.api.submission import Submitter
from bridge.api.task_holder import program_here
from bridge.tasks.tool_table import ToolContext, call

if TYPE_CHECKING:
    from bridge.config import Settings
    from bridge.store.store import Store
    from bridge.tasks.task import Holder
    from bridge.tasks.validation import Asked, StartAgent


def call_tool(
    store: Store,
    settings: Settings,
    name: str,
    arguments: Mapping[str, Any],
    *,
    key: str | None = None,
    holder: Holder | None = None,
    start: StartAgent | None = None,
) -> Any:
    """Call a tool for whoever this is, by default for this program.

    Raises:
        BridgeError: as `bridge.tasks.tool_table.call`.
    """
    holder = holder or program_here(store, settings)
    context = ToolContext(store, settings, holder, start or starter(store, settings))
    return call(context, name, arguments, key)


def starter(store: Store, settings: Settings) -> StartAgent:
    """How a program starts an agent that nobody waits for: it submits a request."""
    submitter = Submitter(store, settings)

    def start(**asked: Unpack[Asked]) -> str:
        given: Any = {name: asked[name] for name in ("task_id", "dedup_key")}
        return submitter.submit(asked["prompt"], asked["agent"], asked["schema"], given)

    return start
