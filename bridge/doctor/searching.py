"""Can agents that only read search in the open sessions?

They run as an agent of ours that has Grep and Glob. The client learns of it when it
starts, from a file of the user's, or from the plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.doctor.finding import Finding, ok, warning
from bridge.doctor.hooks import INSTALL, all_registered
from bridge.errors import BridgeError
from bridge.host.carrier import OF_PLUGIN, CarrierFile
from bridge.store import sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.doctor.subject import Subject

_NAME = "search"


def agents_search(subject: Subject) -> Iterator[Finding]:
    """Whether the agent of ours is there, and which open sessions know it."""
    store = subject.store()
    open_now = sessions.live_sessions(store) if store else []
    # What the plugin brings needs no file.
    rest = [each for each in open_now if each.carrier != OF_PLUGIN]
    if not rest and (open_now or not all_registered(subject)):
        return
    broken = _file(subject)
    if broken is not None:
        yield broken
        return
    unaware = [each for each in rest if each.carrier is None]
    for each in unaware:
        yield warning(
            _NAME,
            f"agents that only read have no Grep and no Glob in session "
            f"{each.session_id} (pid {each.host.pid})",
            cause="it was open before hostbridge's own agent was installed, which a "
            "client looks for when it starts",
            cure="restart that session",
        )
    if not unaware:
        yield ok(_NAME, "agents that only read can search")


def _file(subject: Subject) -> Finding | None:
    """What is wrong with the file of the user's; None for nothing."""
    carrier = CarrierFile(subject.settings)
    try:
        state = carrier.state()
    except BridgeError as exc:
        found, cause, cure = str(exc), "it cannot be read", f"mend it, or {INSTALL}"
    else:
        if state in ("there", "written"):
            return None
        found = f"{carrier.file} is not there"
        cause = "it was removed, or an older version installed the hooks"
        cure = f"{INSTALL}, then restart the open sessions"
        if state is not None:
            found = f"{carrier.file} is not hostbridge's"
            cause = "somebody else wrote or changed it"
            cure = f"rename it; {cure}"
    return warning(
        _NAME, f"agents that only read cannot search: {found}", cause=cause, cure=cure
    )
