"""The variables of a workflow that are still to be written, as its record says."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from bridge.errors import InvalidRequest
from bridge.protocol.plain_json import dumps
from bridge.store import step_states
from bridge.store.variables import read_variables, set_variables
from bridge.workflows.first_values import is_theirs

if TYPE_CHECKING:
    from bridge.policy.step_record import StepRecord
    from bridge.store.state import State
    from bridge.store.store import Store
    from bridge.store.variables import Holder
    from bridge.workflows.conversation import Conversation


def write_pending(
    store: Store,
    state: State,
    conversation: Conversation,
    record: StepRecord,
    problems: list[str],
) -> StepRecord:
    """Write what is pending into the variables; the record without it.

    What they cannot have is left out, and added to `problems`: the workflow goes on.
    """
    pending = record.get("pending")
    if not pending:
        return record
    holder, kept = conversation.holder, conversation.kept
    known = read_variables(store, holder)
    owners = record["code"]["owners"]
    # A person may have set one meanwhile: that one stays as it is.
    ours = pending["changes"].keys() - persons_variables(store, holder).keys()
    # What belongs to a tool stays a tool's; the rest are set as the model's.
    tools = {
        name
        for name in ours
        if name in owners or name in kept or _is_tools(known.get(name))
    }
    for owner, names in (("tool", tools), ("model", ours - tools)):
        changes = {name: pending["changes"][name] for name in sorted(names)}
        counted = {n: by for n, by in pending["counted"].items() if n in changes}
        while changes:
            try:
                set_variables(
                    store, holder, changes, owner,  # type: ignore[arg-type]  # a literal
                    kept=kept, counted=counted, call=f"{pending['call']}-{owner}",
                )  # fmt: skip
                break
            except InvalidRequest as error:
                largest = max(changes, key=lambda name: len(dumps(changes[name])))
                problems.append(f"{largest} is not set: {error}")
                del changes[largest]
    now = copy(record)
    del now["pending"]
    step_states.save(state, holder, now)
    return now


def _is_tools(variable: Any) -> bool:
    return variable is not None and variable.owner == "tool"


def persons_variables(store: Store, holder: Holder) -> dict[str, str]:
    """The variables of persons and rules, which no workflow sets; whose each is."""
    known = read_variables(store, holder)
    return {name: each.owner for name, each in known.items() if is_theirs(each)}
