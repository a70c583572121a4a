"""What an event does to a step workflow, and what the model is shown of it. Pure."""

from __future__ import annotations

from bridge.policy.variable_changes import VariableChanges
from bridge.protocol.wording import fitted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from bridge.policy.step_record import Action, StepRecord

    Json = dict[str, Any]

    class Deeds(Protocol):
        """What a workflow does beside its own state.

        Each raises `ValueError`, and `act` also `Busy`. `theirs` are variables that no
        workflow sets, and whose they are.
        """

        theirs: Mapping[str, str]

        def render(self, text: str, scope: Mapping[str, Any]) -> str:
            """Fill in a text for the model."""

        def act(self, action: Action, given: Json, key: str) -> Any:
            """Do a `call_tool` or `spawn_agent`; the value is its result."""


MAX_MESSAGE = 20_000
# Of a workflow that an agent of ours must follow.
UNREAD = "hostbridge: this agent must follow a workflow that cannot be read: {why}"


class Busy(Exception):
    """A deed cannot be done just now: somebody else has what it needs."""


class Said:
    """The result of a deed, with a text that the model is told as it is."""

    __slots__ = ("text", "value")

    def __init__(self, value: Any, text: str) -> None:
        self.value = value
        self.text = text


class Change(VariableChanges):
    """What an event came to.

    Attributes:
        record: the workflow's record as it is now; it is not written yet.
        is_changed: whether it differs from what it was.
        moved: the steps it went through: from, to.
        problems: what could not be done, and why.
        waits: why a deed has to wait; nothing of the event has happened then.
    """

    __slots__ = ("is_changed", "moved", "problems", "record", "waits")

    own_names = VariableChanges.own_names | {"tool_failed", "vars", "settings"}

    def __init__(self, record: StepRecord) -> None:
        super().__init__()
        self.record = record
        self.is_changed = False
        self.moved: list[tuple[str, str]] = []
        self.problems: list[str] = []
        self.waits = ""


def shortened(text: str) -> str:
    """A text for the model, at most as long as one may be."""
    return fitted(text, MAX_MESSAGE)


def introduction(record: StepRecord) -> str:
    """What the model is told of the step that it is in: on entry, and again later."""
    return "\n".join(part for part in (_heading(record), record.get("message")) if part)


def _heading(record: StepRecord) -> str:
    code = record["code"]
    step = code["steps"][record["step"]]
    lines = [f"Workflow {code['name']}, step {record['step']}."]
    gate = step["gate"]
    if gate["tools"] is not None:
        named = [*gate["tools"], *(gate["mcp"] or ())]
        lines.append(f"Tools: {', '.join(named) or 'none'}.")
    if gate["blocked"] or gate["blockedMcp"]:
        lines.append(f"Refused: {', '.join([*gate['blocked'], *gate['blockedMcp']])}.")
    lines += [f"Goes on to {t['to']} when {t['text']}." for t in step["transitions"]]
    own = code["variables"].keys() - code["owners"].keys()
    asked = sorted(name for name in own if name in step["asks"])
    if asked:
        names = ", ".join(asked)
        lines.append(
            f"You set {names}: with the tool set_variables of hostbridge, or with "
            f"`hostbridge vars set {asked[0]}:=true`."
        )
    return " ".join(lines)
