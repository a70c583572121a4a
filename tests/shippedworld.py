"""A shipped step workflow over real tasks: every call of a tool is made, and told it.

world = Shipped(tmp_path, "task-expansion")
world.begin()
world.uses("get_task", task_id="#1")
"""

from itertools import count
from pathlib import Path
from typing import Any

from stepflows import acting, after
from toolworld import ToolWorld

from bridge.agents.workflow_choice import workflow_settings
from bridge.policy.rule_set import Whose
from bridge.policy.step_workflow import refusal, step_of
from bridge.store import step_states
from bridge.store.variables import Holder, set_variables, values_of
from bridge.workflows import progress
from bridge.workflows.conversation import Conversation
from bridge.workflows.progress import WorkflowProgress
from bridge.workflows.reader import find_workflow

OURS = "mcp__hostbridge__"
HOLDER = Holder.session("s-1")


class Shipped:
    """A conversation that a shipped workflow leads; `tools` are its tasks."""

    def __init__(self, folder: Path, name: str) -> None:
        self.tools = ToolWorld(folder)
        self.name = name
        self.path: list[str] = []
        self.words: list[str] = []
        self._calls = count(1)

    def begin(self, **params: Any) -> None:
        """Activate it, as a person does."""
        settings, store = self.tools.context.settings, self.tools.store
        found = find_workflow(settings, store.place.project, self.name)
        assert found.problems == ()
        given = {"target_task_id": "#1", **params}
        code = found.compiled()
        self._take(
            progress.begin(store, self._conversation(), code, given, by="person")
        )

    def uses(self, tool: str, **arguments: Any) -> Any:
        """The model calls a tool of ours, which is open to it; its result."""
        full = OURS + tool
        assert self.refusal(full) is None
        result = self.tools(tool, **arguments)
        self.told(full, result)
        return result

    def told(self, tool: str, output: Any) -> None:
        """A tool has ended with this output."""
        event = after(tool, output, call=f"toolu_{next(self._calls)}")
        done = progress.advance(self.tools.store, self._conversation(), event)
        assert done is not None
        self._take(done)

    def says(self, **values: Any) -> None:
        """The model sets variables with `set_variables`."""
        set_variables(self.tools.store, HOLDER, values, "model")
        self.told(f"{OURS}set_variables", values)

    def refusal(self, tool: str) -> str | None:
        """Why a call is refused in this step; None if it is not."""
        fields = {"tool_name": tool, "tool_input": {}}
        record = step_states.find(self.tools.store, HOLDER)
        assert record is not None
        return refusal(record, fields, self._whose, dict)

    @property
    def variables(self) -> dict[str, Any]:
        return values_of(self.tools.store, HOLDER)

    @property
    def step(self) -> str:
        return self.path[-1]

    @property
    def is_active(self) -> bool:
        record = step_states.find(self.tools.store, HOLDER)
        return record is not None and step_of(record) is not None

    def task(self, ref: str = "#1") -> dict[str, Any]:
        """A task as `get_task` shows it."""
        found: dict[str, Any] = self.tools("get_task", task_id=ref)
        return found

    def _whose(self) -> Whose:
        return Whose(self.variables)

    def _conversation(self) -> Conversation:
        return Conversation(
            HOLDER,
            HOLDER.owner_id,
            self._whose,
            settings=workflow_settings(self.tools.context.settings),
            act=acting(self.tools.context),
        )

    def _take(self, done: WorkflowProgress) -> None:
        self.path += [to for _from, to in done.moved]
        self.words += done.messages
        progress.told(self.tools.store, HOLDER, done.rev)
