"""The variables of an open session, or of an agent in it, which rules read.

    variables = Bridge.open().variables()
    variables.set(task="rename the module")
    variables.all()          # {'task': 'rename the module', 'limit': 3}

They outlive hooks, `/clear`, `--resume` and compaction; an agent's end with it. What a
rules file declares is there from the beginning; `null` is a value: off.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from bridge.agents.trust import InsideSession, refuse_unless_by_hand
from bridge.bound.session_above import clients_of
from bridge.config import Settings
from bridge.errors import BridgeError, InvalidRequest
from bridge.host.calling_agent import find_caller, inherited_variables
from bridge.policy.variable_record import misnamed
from bridge.protocol.ids import RequestId
from bridge.rules.compiled import declared_variables, kept_variables
from bridge.store.sessions import Session, live_sessions, open_session
from bridge.store.store import Store
from bridge.store.subagent_runs import AgentRun
from bridge.store.variables import (
    Holder,
    Kept,
    Variable,
    check_owner,
    read_variables,
    set_variables,
)

if TYPE_CHECKING:
    from bridge.policy.variable_record import Owner


_NO_SESSION = (
    "no session is open here, and variables belong to a session; start claude in this "
    "project. Rules files can declare variables for all of them"
)


class Variables:
    """The variables of one session, or of one agent.

    `first` are those that nobody has set there: declared, or the agent began with them.
    `kept` are no model's, whether anybody has set them or not.
    """

    def __init__(
        self,
        store: Store,
        holder: Holder,
        owner: Owner,
        first: Mapping[str, Variable],
        kept: Mapping[str, Kept],
    ) -> None:
        begun = {
            name: Kept(each.owner, f"the {each.owner} (the agent began with it)")
            for name, each in first.items()
            if each.owner != "model"
        }
        self.store = store
        self.holder = holder
        self.owner = owner
        self.first = first
        self.kept = {**begun, **kept}

    @classmethod
    def open(
        cls,
        store: Store,
        settings: Settings,
        session: str | None,
        owner: Owner,
        no_session: str = _NO_SESSION,
    ) -> Variables:
        """Those of the agent this runs in, or of a session.

        That is the session named, the one this runs in, or the only one. `owner` keeps
        what this sets, unless this runs inside a session: then a model may be behind
        it, and only what belongs to models can be changed.

        Raises:
            InvalidRequest: it is not open, or there are several, or none: then with
                the words `no_session`.
        """
        if session is None and (own := cls._of_this_agent(store, settings)):
            return own
        if _is_models(store, settings):
            owner = "model"
        found = _session(store, settings, session, no_session)
        return cls.of_session(store, settings, found.session_id, owner)

    @classmethod
    def _of_this_agent(cls, store: Store, settings: Settings) -> Variables | None:
        caller = find_caller(store, settings)
        if caller and caller.run and caller.store and caller.is_sure:
            return cls.of_agent(caller.store, settings, caller.run)
        if caller is None or caller.store is not None or not store.exists():
            return None
        # One that nobody knows may be a model's invention.
        if store.find(RequestId(caller.request_id)):
            begun = inherited_variables(store, None, caller)
            return cls.of_own_agent(store, settings, caller.request_id, begun)
        return None

    @classmethod
    def of_session(
        cls, store: Store, settings: Settings, session_id: str, owner: Owner
    ) -> Variables:
        """Those of a session."""
        first, kept = _declared(store, settings), kept_variables(settings, store)
        return cls(store, Holder.session(session_id), owner, first, kept)

    @classmethod
    def of_agent(cls, store: Store, settings: Settings, run: AgentRun) -> Variables:
        """Those of an agent in a session, for its model."""
        first = {} if run.replaces_variables else _declared(store, settings)
        kept = kept_variables(settings, store)
        first |= _begun_with(store, settings, run, kept)
        return cls(store, Holder.agent(run.agent_id), "model", first, kept)

    @classmethod
    def of_own_agent(
        cls, store: Store, settings: Settings, request_id: str, begun: dict[str, Any]
    ) -> Variables:
        """Those of an agent that no session runs, for its model."""
        first = _declared(store, settings)
        # The owner of what was set since is on record; a workflow may have set it.
        since = read_variables(store, Holder.agent(request_id))
        first |= {
            name: Variable(value, "person")
            for name, value in begun.items()
            if name not in since
        }
        kept = kept_variables(settings, store)
        return cls(store, Holder.agent(request_id), "model", first, kept)

    @property
    def of(self) -> str:
        """Whose they are, such as `session 018f5e6d`."""
        return f"{self.holder.folder.removesuffix('s')} {self.holder.owner_id}"

    def __repr__(self) -> str:
        return f"<Variables of {self.of}>"

    def known(self) -> dict[str, Variable]:
        """Every variable with its owner, by name, also if nobody has set it."""
        found = {**self.first, **read_variables(self.store, self.holder)}
        return dict(sorted(found.items()))

    def origin(self, name: str) -> str:
        """Where a variable's value is from: a file, or who set it."""
        if set_here := read_variables(self.store, self.holder).get(name):
            owner = set_here.owner
            return "set by you" if owner == "person" else f"set by a {owner}"
        file = self.kept[name].whose.partition(" (")[2] if name in self.kept else ""
        return file.removesuffix(")") or "what the agent began with"

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
        set_variables(
            self.store, self.holder, values, self.owner, unset=unset, kept=self.kept
        )

    def check_given(self, names: Collection[str]) -> None:
        """Check that a model may give variables to an agent: those it may set itself.

        Raises:
            NotYours: one belongs to somebody else.
        """
        check_owner(read_variables(self.store, self.holder), names, self.kept)


def check_given(
    store: Store,
    settings: Settings,
    given: Collection[str],
    *,
    is_checked: bool = False,
    is_models: bool = False,
) -> None:
    """Check that what asks here may give these variables to an agent.

    A person or a program may give any. A model may be behind it inside a session, and
    is for `is_models`. Whose they are `is_checked` where who asks was known before.

    Raises:
        InvalidRequest: a name cannot be a variable's.
        NotYours: a model asks, and one belongs to somebody else.
    """
    for wrong in misnamed(given):
        raise InvalidRequest(wrong)
    if is_checked:
        return
    own = Variables._of_this_agent(store, settings)  # noqa: SLF001
    if own is not None:
        own.check_given(given)
    elif is_models or _is_models(store, settings):
        kept = kept_variables(settings, store)
        check_owner({}, given, kept)
        for session in _nearest(store, settings):
            holder = Holder.session(session.session_id)
            check_owner(read_variables(store, holder), given, kept)


def _is_models(store: Store, settings: Settings) -> bool:
    """Whether a model may be behind this process."""
    try:
        refuse_unless_by_hand(settings, clients_of(store))
    except InsideSession:
        return True
    return False


def _declared(store: Store, settings: Settings) -> dict[str, Variable]:
    declared = declared_variables(settings, store)
    return {name: Variable(value, "person") for name, value in declared.items()}


def _begun_with(
    store: Store, settings: Settings, run: AgentRun, kept: Collection[str]
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
        is_models = is_models and name not in {*kept, *(defined or ())}
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


def _nearest(store: Store, settings: Settings) -> list[Session]:
    """The session this runs in; if it runs in none, all that are open."""
    alive = live_sessions(store)
    return [each for each in alive if each.host.pid == settings.host_pid] or alive


def _session(
    store: Store, settings: Settings, session: str | None, no_session: str
) -> Session:
    if session is not None:
        return open_session(store, session)
    found = _nearest(store, settings)
    if len(found) == 1:
        return found[0]
    if not found:
        raise InvalidRequest(no_session)
    ids = ", ".join(each.session_id for each in found)
    raise InvalidRequest(f"several sessions are open here, name one: --session {ids}")
