"""The open session that this process runs under: its limits bind what a model starts.

CLAUDE_PID names its client, and so do our ancestors, whatever the environment says by
now. Of several clients the outermost counts: a session does not begin anew because its
model starts another client. A process that has left its ancestors, and has another
environment, is under no session that can be seen. What a person alone may do is refused
below any open session (`open_clients`).
"""

import os
import pwd
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from bridge.config import HOME_FOLDER, TABLE, Settings
from bridge.errors import BridgeError
from bridge.store.host_process import (
    UNSEEN_PID,
    Environments,
    Liveness,
    environments_above,
    liveness,
)
from bridge.store.pins import Pins
from bridge.store.sessions import Session, live_sessions
from bridge.store.store import Store


class Above(NamedTuple):
    """A session, and the store that has its record."""

    session: Session
    store: Store


def session_above(
    store: Store, settings: Settings, above: Environments | None = None
) -> Above | None:
    """The session that this process runs under, whatever its folder; None if none.

    `above`: the environments of its ancestors, if the caller knows them.
    """
    above = environments_above() if above is None else above
    known = [settings, *_settings_of(above.values())]
    named = {each.host_pid for each in known if each.host_pid} - set(above)
    clients = [*named, *above]
    guards = {each.state_dir or each.home for each in known}
    places = {
        place
        for guard in guards
        for _, place in Pins(guard).of_processes(clients)
        if place.state != store.place.state
    }
    found = []
    for each in (store, *map(Store, places)):
        with suppress(BridgeError, OSError):
            mine = live_sessions(each, which=lambda s: s.host.pid in clients)
            found += [Above(session, each) for session in mine]
    return max(found, key=lambda a: clients.index(a.session.host.pid), default=None)


def _settings_of(above: Iterable[Mapping[str, str]]) -> Iterator[Settings]:
    """What processes above us were started with: a client's own settings are there."""
    for environment in above:
        with suppress(BridgeError):
            yield Settings.from_environment(environment)


def at_most(
    settings: Settings, above: Above | None, key: Literal["fan_out", "max_depth"]
) -> int:
    """A limit that binds the asker: below a session a variable does not raise it."""
    mine: int = getattr(settings, key)
    limits = above and above.session.limits
    is_by_variable = settings.sources.get(key) == TABLE[key].variable
    if not limits or not (is_by_variable or key in limits.by_variable):
        # From files, which only a person changes; the session reads them later.
        return mine
    most: int | None = getattr(limits, key)
    return mine if most is None else min(mine, most)


def open_clients(settings: Settings, store: Store) -> set[int]:
    """The processes of all open sessions of this user, whatever their project.

    `UNSEEN_PID` stands for any that cannot be seen from here.
    """
    found: set[int] = set()
    stores = {store.place: store}
    for guard in _guards(settings):
        pins = Pins(guard)
        found |= pins.clients()
        stores |= {p: Store(p, lease_s=settings.lease_s) for p in pins.places()}
    for each in stores.values():
        with suppress(BridgeError, OSError):
            found |= clients_of(each)
    return found


def _guards(settings: Settings) -> Iterator[Path]:
    """Where this user's pins may lie, whatever HOME and BRIDGE_* say here.

    Also in the home of the user's account, and around the state directory that is used:
    a model may have named another home for a command that it starts.
    """
    state = settings.state_dir
    homes = {settings.home, *((state, *state.parents) if state else ())}
    with suppress(KeyError):  # an account without a name, as in a container
        homes.add(Path(pwd.getpwuid(os.geteuid()).pw_dir, HOME_FOLDER))
    for home in homes:
        with suppress(OSError):
            if os.stat(home).st_uid == os.geteuid():
                yield home


def clients_of(store: Store) -> set[int]:
    """The processes of the open sessions of a project, as `open_clients` has them."""
    hosts = [session.host for session in live_sessions(store)]
    return {
        UNSEEN_PID if liveness(host) is Liveness.UNSEEN else host.pid for host in hosts
    }


def only_outside_sessions(settings: Settings, store: Store, command: str) -> None:
    """Refuse what starts programs to a model that its user let run this command.

    Raises:
        InsideSession: as `bridge.agents.trust.refuse_inside_a_session`.
    """
    from bridge.agents.trust import refuse_inside_a_session

    refuse_inside_a_session(settings, open_clients(settings, store), command)


def only_by_hand(settings: Settings, store: Store, command: str) -> None:
    """Refuse what a model of an open session could have started.

    Raises:
        InsideSession: as `bridge.agents.trust.refuse_unless_by_hand`.
    """
    from bridge.agents.trust import refuse_unless_by_hand

    refuse_unless_by_hand(settings, open_clients(settings, store), command)
