"""The variables of an open session, or of an agent in it, which rules read.

    variables = Bridge.open().variables()
    variables.set(task="rename the module")
    variables.all()          # {'task': 'rename the module', 'limit': 3}

They outlive hooks, `/clear`, `--resume` and compaction; an agent's end with it. What a
rules file declares is there from the beginning; `null` is a value: off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.trust import InsideSession, refuse_inside_a_session
from bridge.errors import BridgeError, InvalidRequest
from bridge.host.calling_agent import find_caller, inherited_variables
from bridge.rules.compiled import declared_variables
from bridge.store.sessions import live_sessions, open_session
from bridge.store.variables import (
    Holder,
    Owner,
    Variable,
    read_variables,
    set_variables,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from bridge.config import Settings
    from bridge.store.sessions import Session
    from bridge.store.store import Store
    from bridge.store.subagent_runs import AgentRun


class Variables:
    """The variables of one session, or of one agent.

    `first` are those that nobody has set there: declared, or the agent began with them.
    """

    def __init__(
        self, store: Store, holder: Holder, owner: Owner, first: Mapping[str, Variable]
    ) -> None:
        self.store = store
        self.holder = holder
        self.owner = owner
        self.first = first

    @classmethod
    def open(
        cls, store: Store, settings: Settings, session: str | None, owner: Owner
    ) -> Variables:
        """Those of the agent this runs in, or of a session.

        That is the session named, the one this runs in, or the only one. `owner` keeps
        what this sets, unless this runs inside a session: then a model may be behind
        it, and only what belongs to models can be changed.

        Raises:
            InvalidRequest: it is not open, or there are none, or several.
        """
        caller = find_caller(store, settings) if session is None else None
        if caller and caller.run and caller.store and caller.is_sure:
            return cls.of_agent(caller.store, settings, caller.run)
        if caller and caller.store is None and store.exists():
            begun = inherited_variables(store, None, caller)
            return cls.of_own_agent(store, settings, caller.request_id, begun)
        try:
            clients = [each.host.pid for each in live_sessions(store)]
            refuse_inside_a_session(settings, clients)
        except InsideSession:
            owner = "model"
        found = _session(store, settings, session)
        return cls.of_session(store, settings, found.session_id, owner)

    @classmethod
    def of_session(
        cls, store: Store, settings: Settings, session_id: str, owner: Owner
    ) -> Variables:
        """Those of a session."""
        first = _declared(store, settings)
        return cls(store, Holder.session(session_id), owner, first)

    @classmethod
    def of_agent(cls, store: Store, settings: Settings, run: AgentRun) -> Variables:
        """Those of an agent in a session, for its model."""
        first = {} if run.replaces_variables else _declared(store, settings)
        first |= _begun_with(store, settings, run, first)
        return cls(store, Holder.agent(run.agent_id), "model", first)

    @classmethod
    def of_own_agent(
        cls, store: Store, settings: Settings, request_id: str, begun: dict[str, Any]
    ) -> Variables:
        """Those of an agent that no session runs, for its model."""
        first = _declared(store, settings)
        first |= {name: Variable(value, "person") for name, value in begun.items()}
        return cls(store, Holder.agent(request_id), "model", first)

    def known(self) -> dict[str, Variable]:
        """Every variable with its owner, by name, also if nobody has set it."""
        found = {**self.first, **read_variables(self.store, self.holder)}
        return dict(sorted(found.items()))

    def all(self) -> dict[str, Any]:
        """Every variable's value, by name."""
        return {name: each.value for name, each in self.known().items()}

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a variable."""
        return self.all().get(name, default)

    def set(self, **values: Any) -> None:
        """Set variables to JSON values; raises as `change`."""
        self.change(values)

    def unset(self, *names: str) -> None:
        """Forget what was set: the others have their first values again.

        Raises:
            NotYours: one belongs to somebody else; nothing is changed.
        """
        self.change({}, names)

    def change(self, values: Mapping[str, Any], unset: Collection[str] = ()) -> None:
        """Set variables to JSON values and forget others, all of them or none.

        Raises:
            NotYours: one belongs to somebody else; nothing is changed.
            InvalidRequest: a name means something else in conditions, or there would be
                too much in them.
        """
        from bridge.policy.condition_compiler import shadowed

        for problem in shadowed(values):
            raise InvalidRequest(problem)
        theirs = [name for name, each in self.first.items() if each.owner != "model"]
        set_variables(
            self.store,
            self.holder,
            values,
            self.owner,
            unset=unset,
            declared=theirs,
        )


def _declared(store: Store, settings: Settings) -> dict[str, Variable]:
    declared = declared_variables(settings, store)
    return {name: Variable(value, "person") for name, value in declared.items()}


def _begun_with(
    store: Store, settings: Settings, run: AgentRun, declared: Mapping[str, Variable]
) -> dict[str, Variable]:
    """What an agent began with: a model's only if it came from a model above it."""
    from bridge.store.subagent_runs import all_runs

    holders = [Holder.session(run.session)]
    holders += [Holder.agent(each.agent_id) for each in all_runs(store)]
    models = [
        (name, each.value)
        for holder in holders
        for name, each in read_variables(store, holder).items()
        if each.owner == "model"
    ]
    defined = _defined(store, settings, run) if models else None
    found = {}
    for name, value in run.variables.items():
        is_models = (name, value) in models and defined is not None
        is_models = is_models and name not in {*declared, *(defined or ())}
        found[name] = Variable(value, "model" if is_models else "person")
    return found


def _defined(store: Store, settings: Settings, run: AgentRun) -> set[str] | None:
    """The variables in the definitions of an agent and those above; None if unknown."""
    from bridge.agents.known_agents import Agents

    agents = Agents.open(settings, store.place.project)
    found: set[str] = set()
    try:
        for definition in map(agents.find, run.above):
            if definition is not None:
                found |= definition.default_variables.keys()
                found |= definition.lifecycle_variables.keys()
    except BridgeError:
        return None
    return found


def _session(store: Store, settings: Settings, session: str | None) -> Session:
    if session is not None:
        return open_session(store, session)
    alive = live_sessions(store)
    here = [each for each in alive if each.host.pid == settings.host_pid]
    found = here or alive
    if len(found) == 1:
        return found[0]
    if not found:
        raise InvalidRequest(
            "no session is open here, and variables belong to a session; start claude "
            "in this project. Rules files can declare variables for all of them"
        )
    ids = ", ".join(each.session_id for each in found)
    raise InvalidRequest(f"several sessions are open here, name one: --session {ids}")
