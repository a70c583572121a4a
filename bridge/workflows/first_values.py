"""The variables of a workflow: its first values, and those that are to be written."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from itertools import chain
from typing import TYPE_CHECKING, Any

from bridge.errors import InvalidRequest
from bridge.hints import did_you_mean
from bridge.policy.condition import ConditionError
from bridge.policy.variable_changes import check_length, value_of
from bridge.protocol.names import declared_as
from bridge.protocol.plain_json import dumps
from bridge.store import step_states
from bridge.store.variables import NotYours, Variable, read_variables, set_variables

if TYPE_CHECKING:
    from bridge.policy.step_record import CompiledWorkflow
    from bridge.store.store import Store
    from bridge.workflows.conversation import Conversation

    Json = dict[str, Any]
    from bridge.policy.step_record import StepRecord
    from bridge.store.state import State
    from bridge.store.variables import Holder


def first_values(
    store: Store,
    conversation: Conversation,
    code: CompiledWorkflow,
    params: Mapping[str, Any],
    by: str,
) -> Json:
    """The first values of all variables that a workflow declares or makes.

    A parameter (see `named`) goes before what the conversation began with, and that
    before what a person has set there; the file's own value comes last.

    Raises:
        InvalidRequest: a variable belongs to the rules, or a value is too long.
        NotYours: a model gives a parameter that is not a model's to set, or the
            workflow sets a variable of a person's or a rule's.
    """
    declared = code["variables"]
    given = {n: v for n, v in conversation.given.items() if n in declared}
    for variable in {**declared, **dict.fromkeys(code["made"])}:
        if variable in conversation.kept and variable not in given:
            whose = conversation.kept[variable].whose
            raise InvalidRequest(
                f"{code['name']} has a variable {variable}, which belongs to {whose}: "
                "rename one of them"
            )
    known = read_variables(store, conversation.holder)
    _check_not_theirs(code, known)
    theirs = {n: v.value for n, v in known.items() if is_theirs(v) and n in declared}
    if by == "model":
        _check_model(code, params, {**given, **theirs})
    computed = {n: _computed(conversation, n, c) for n, c in code["computed"].items()}
    made = dict.fromkeys(code["made"])
    first = {**made, **declared, **computed, **theirs, **given, **params}
    for name, value in first.items():
        try:
            check_length(name, value)
        except ValueError as error:
            raise InvalidRequest(str(error)) from None
    return first


def is_theirs(variable: Variable) -> bool:
    """Whether a variable is a person's or a rule's: no workflow sets it."""
    return variable.owner in ("person", "rule")


def _check_not_theirs(code: CompiledWorkflow, known: Mapping[str, Variable]) -> None:
    for name in sorted(_set_by(code)):
        if name in known and is_theirs(known[name]):
            raise NotYours(
                f"{name} belongs to the {known[name].owner} here, and the workflow "
                f"{code['name']} would set it: give it up first, in a terminal of your "
                f"own: hostbridge vars unset {name}"
            )


def _set_by(code: CompiledWorkflow) -> set[str]:
    """The variables that the actions of a workflow set."""
    names = set(code["made"])
    for step in code["steps"].values():
        doing = [step["enter"], step["exit"]]
        doing += [each["do"] for each in (*step["onTool"], *step["transitions"])]
        for action in chain.from_iterable(doing):
            names |= action.get("values", {}).keys() | action.get("by", {}).keys()
            names |= {action["into"]} if action.get("into") else set()
    return names


def named(code: CompiledWorkflow, params: Mapping[str, Any]) -> Json:
    """Parameters by the names of the variables that they are for.

    Raises:
        InvalidRequest: one is none of them.
    """
    found = {declared_as(n, code["variables"]): value for n, value in params.items()}
    for param in found:
        if param not in code["variables"]:
            known = ", ".join(code["variables"]) or "none"
            hint = did_you_mean(param, code["variables"]) or f"; it has {known}"
            raise InvalidRequest(f"{param!r} is no variable of {code['name']}{hint}")
    return found


def _check_model(
    code: CompiledWorkflow, params: Mapping[str, Any], theirs: Mapping[str, Any]
) -> None:
    for param in params:
        if param in code["owners"]:
            why = f"the workflow {code['name']} sets it, from what tools return"
        elif param in theirs:
            why = "it was given from outside"
        else:
            continue
        raise NotYours(f"{param} is not a model's to set: {why}; leave it out")


def _computed(conversation: Conversation, name: str, code: Any) -> Any:
    try:
        return value_of(code, {"settings": dict(conversation.settings)})
    except ConditionError as error:
        raise InvalidRequest(f"variables.{name}: {error.message}") from None


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
