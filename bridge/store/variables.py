"""Variables of sessions and agents, which rules read and set.

    sessions/<id>.vars.json     those of a session
    agents/<agent_id>.vars      what was set in an agent of ours

A session's outlive its hooks, `/clear`, compaction and `--resume`; `prune` removes them
once nobody has touched them for long. Each value has an owner: a person, a rule, a tool
or a model. A model changes only what models have set; who else sets a model's variable
takes it over. What a rules file declares belongs to the person, what its rules set to
the rule, from the beginning. `null` is a value: off.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bridge.errors import InvalidRequest
from bridge.policy.variable_record import owned_in
from bridge.protocol import plain_json
from bridge.protocol.record import json_object, refuse_newer
from bridge.store.book import Book
from bridge.store.store import Store

if TYPE_CHECKING:
    from bridge.policy.variable_record import Owner
    from bridge.store.subagent_runs import AgentRun

VERSION = 1
MAX_BYTES = 1024 * 1024
MAX_VARIABLES = 1000
# Tool calls whose changes are in: a call that two hooks see counts once.
_MAX_APPLIED = 64


class NotYours(InvalidRequest):
    """A variable belongs to somebody whom this writer may not overrule."""


class Holder(NamedTuple):
    """Whose variables: a session's, or an agent's."""

    folder: Literal["sessions", "agents"]
    owner_id: str

    @classmethod
    def session(cls, session_id: str) -> Holder:
        """The variables of a session."""
        return cls("sessions", session_id)

    @classmethod
    def agent(cls, agent_id: str) -> Holder:
        """The variables of an agent of ours."""
        return cls("agents", agent_id)


class Variable(NamedTuple):
    """A value, and whose it is."""

    value: Any
    owner: Owner


class _Values(NamedTuple):
    """The variables of one holder, and the calls whose changes are in them."""

    variables: Mapping[str, Variable] = MappingProxyType({})
    applied: tuple[str, ...] = ()


class Kept(NamedTuple):
    """Whose a variable is before anybody has set it; `whose` names him and the file."""

    owner: Owner
    whose: str


def read_variables(store: Store, holder: Holder) -> dict[str, Variable]:
    """The variables that were set; none if there is no such file, or it is broken."""
    if not store.exists():
        return {}
    found = _BOOKS[holder.folder].get(store, holder.owner_id) or _Values()
    return {**found.variables}


def values_of(store: Store, holder: Holder) -> dict[str, Any]:
    """The values of the variables that were set, by name."""
    return {name: each.value for name, each in read_variables(store, holder).items()}


def variables_of(store: Store, run: AgentRun) -> dict[str, Any]:
    """The variables of an agent: those it began with, and what was set since."""
    return {**run.variables, **values_of(store, Holder.agent(run.agent_id))}


def set_variables(
    store: Store,
    holder: Holder,
    changes: Mapping[str, Any],
    owner: Owner,
    *,
    unset: Collection[str] = (),
    kept: Mapping[str, Kept] = MappingProxyType({}),
    counted: Mapping[str, float] = MappingProxyType({}),
    call: str = "",
) -> dict[str, Variable]:
    """Set variables, and forget those in `unset`; returns all as they are then.

    `kept` says which are somebody's already, `counted` by how much some are to grow:
    from what they are by now, if that is a number. A `call` whose changes are in
    already changes nothing.

    Raises:
        NotYours: one belongs to somebody else; nothing is changed.
        InvalidRequest: there would be too many, or too much in them.
        NewerSchema: a newer hostbridge wrote the file.
    """
    with store.state() as state, state.hold():
        book = _BOOKS[holder.folder]
        known, applied = book.known(state, holder.owner_id) or _Values()
        if call and call in applied:
            return {**known}
        if owner == "model":
            check_owner(known, {*changes, *unset}, kept)
        after = {name: each for name, each in known.items() if name not in unset}
        for name, value in changes.items():
            now = _grown(known.get(name), counted.get(name), value)
            after[name] = Variable(now, _owner_of(known, name, owner, kept))
        if call:
            applied = (*applied, call)[-_MAX_APPLIED:]
        book.put(state, holder.owner_id, _Values(after, applied))
    return after


def _grown(known: Variable | None, by: float | None, value: Any) -> Any:
    """What a variable becomes: one that is counted up may have grown meanwhile."""
    if known is None or by is None or type(known.value) not in (int, float):
        return value
    return known.value + by


def _owner_of(
    known: Mapping[str, Variable], name: str, owner: Owner, kept: Mapping[str, Kept]
) -> Owner:
    """Who keeps a variable: setting it makes only a model's one's own."""
    if name in known and known[name].owner != "model":
        return known[name].owner
    return kept[name].owner if name in kept else owner


def check_owner(
    known: Mapping[str, Variable], names: Collection[str], kept: Mapping[str, Kept]
) -> None:
    """Check that a model may set these variables.

    Raises:
        NotYours: one belongs to somebody else.
    """
    for name in sorted(names):
        owner = _owner_of(known, name, "model", kept)
        if owner != "model":
            whose = kept[name].whose if name in kept else f"the {owner}"
            raise NotYours(
                f"{name} belongs to {whose}: a model can change only what models have "
                "set. Set it in a terminal of your own: "
                f"hostbridge vars set {name}=…"
            )


def forget_models(store: Store, names: Collection[str]) -> None:
    """Forget what models had set before these variables became somebody else's."""
    for book in _BOOKS.values():
        with store.state() as state:
            for owner_id in book.names(state):
                if _without_models(book.get(state, owner_id), names):
                    with state.hold():
                        after = _without_models(book.get(state, owner_id), names)
                        if after:
                            book.put(state, owner_id, after)


def _without_models(found: _Values | None, names: Collection[str]) -> _Values | None:
    """The values without those of models among `names`; None if there are none."""
    known, applied = found or _Values()
    gone = {name for name in names if name in known and known[name].owner == "model"}
    left = {name: each for name, each in known.items() if name not in gone}
    return _Values(left, applied) if gone else None


def _read(data: bytes) -> _Values:
    record = json_object(data)
    version = record.get("schemaVersion")
    refuse_newer(version if isinstance(version, int) else VERSION, VERSION)
    variables = {
        name: Variable(each.get("value"), each["owner"])
        for name, each in owned_in(record).items()
    }
    return _Values(variables, tuple(map(str, record.get("applied") or ())))


def _write(values: _Values) -> bytes:
    variables = values.variables
    record: dict[str, Any] = {
        "schemaVersion": VERSION,
        "variables": {name: each._asdict() for name, each in variables.items()},
    }
    if values.applied:
        record["applied"] = values.applied
    try:
        data = plain_json.dumps(record, indented=True, line=True)
    except TypeError as exc:
        raise InvalidRequest(f"a variable's value must be JSON: {exc}") from None
    if len(variables) > MAX_VARIABLES or len(data) > MAX_BYTES:
        raise InvalidRequest(
            f"too much for one session: at most {MAX_VARIABLES} variables and "
            f"{MAX_BYTES // 1024} KiB"
        )
    return data


_BOOKS = {
    "sessions": Book("sessions", ".vars.json", _read, _write, limit=MAX_BYTES),
    "agents": Book("agents", ".vars", _read, _write, limit=MAX_BYTES),
}
