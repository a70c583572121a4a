"""The variables of an open session, which its rules read.

    variables = Bridge.open().variables()
    variables.set(task="rename the module")
    variables.all()          # {'task': 'rename the module', 'limit': 3}

They outlive hooks, `/clear`, `--resume` and compaction. What a rules file declares is
there from the beginning; `null` is a value: off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.agents.trust import InsideSession, refuse_inside_a_session
from bridge.errors import InvalidRequest
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
    from bridge.config import Settings
    from bridge.store.sessions import Session
    from bridge.store.store import Store


class Variables:
    """The variables of one session."""

    def __init__(
        self, store: Store, settings: Settings, session_id: str, owner: Owner
    ) -> None:
        self.store = store
        self.settings = settings
        self.session_id = session_id
        self.owner = owner

    @classmethod
    def open(
        cls, store: Store, settings: Settings, session: str | None, owner: Owner
    ) -> Variables:
        """Those of a session: the one named, the one this runs in, or the only one.

        `owner` keeps what this sets, unless this runs inside a session: then its model
        may be behind it, and only what belongs to models can be changed.

        Raises:
            InvalidRequest: it is not open, or there are none, or several.
        """
        try:
            clients = [each.host.pid for each in live_sessions(store)]
            refuse_inside_a_session(settings, clients)
        except InsideSession:
            owner = "model"
        found = _session(store, settings, session)
        return cls(store, settings, found.session_id, owner)

    def known(self) -> dict[str, Variable]:
        """Every variable with its owner, by name; declared ones that nobody has set."""
        declared = declared_variables(self.settings, self.store)
        own = read_variables(self.store, Holder.session(self.session_id))
        found = {name: Variable(v, "person") for name, v in declared.items()} | own
        return dict(sorted(found.items()))

    def all(self) -> dict[str, Any]:
        """Every variable's value, by name."""
        return {name: each.value for name, each in self.known().items()}

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a variable."""
        return self.all().get(name, default)

    def set(self, **values: Any) -> None:
        """Set variables to JSON values.

        Raises:
            NotYours: one belongs to somebody else; nothing is changed.
            InvalidRequest: a name means something else in conditions, or there would be
                too much in them.
        """
        from bridge.policy.condition_compiler import shadowed

        for problem in shadowed(values):
            raise InvalidRequest(problem)
        self._change(values, ())

    def unset(self, *names: str) -> None:
        """Forget what was set: declared variables have their first values again.

        Raises:
            NotYours: one belongs to somebody else; nothing is changed.
        """
        self._change({}, names)

    def _change(self, values: dict[str, Any], names: tuple[str, ...]) -> None:
        set_variables(
            self.store,
            Holder.session(self.session_id),
            values,
            self.owner,
            unset=names,
            declared=declared_variables(self.settings, self.store),
        )


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
