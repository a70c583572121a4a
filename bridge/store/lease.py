"""Whether the process that holds a claim is gone.

If the process can be seen, ask the kernel. A process in another PID namespace (a
container) cannot be seen from here: it counts as alive for `lease_s` seconds after its
last heartbeat. Its hooks touch `sessions/<id>.beat`; the times in the claim itself
count as well. Setting the wall clock forward ends such a lease early; setting it back
ends it late.
"""

from contextlib import suppress

from bridge.protocol.claim import Claim, HostProcess
from bridge.protocol.record import json_object
from bridge.store.directory import Folder, NotAPlainFile
from bridge.store.host_process import Liveness, liveness
from bridge.store.state import State


def host_is_gone(
    state: State, session: str, host: HostProcess, *, sign_ms: int = 0
) -> bool:
    """Whether `host` is gone; at `sign_ms` it was known to be alive."""
    seen = liveness(host)
    if seen is not Liveness.UNSEEN:
        return seen is Liveness.GONE
    last_s = max(sign_ms / 1000, _last_beat_s(state, session, host))
    return state.clock.now_us() / 1_000_000 - last_s > state.lease_s


def claimer_is_gone(state: State, claim: Claim) -> bool:
    """Whether the process that made this claim is gone."""
    sign_ms = max(claim.at, *claim.offers, claim.launched_at or 0)
    return host_is_gone(state, claim.session, claim.host, sign_ms=sign_ms)


def is_abandoned(claim: Claim | None) -> bool:
    """Whether the process that made a claim is known to be gone, whatever its lease."""
    return claim is not None and liveness(claim.host) is Liveness.GONE


def _last_beat_s(state: State, session: str, host: HostProcess) -> float:
    """When a session of this process last touched its heartbeat; 0 for never.

    `/clear` gives the process another session id and removes the files of the old one.
    """
    sessions = state["sessions"]
    names = {session} | {n for n in sessions.names() if _is_of(sessions, n, host)}
    facts = [sessions.facts(f"{name}.beat") for name in names]
    return max((beat.st_mtime for beat in facts if beat), default=0.0)


def _is_of(sessions: Folder, name: str, host: HostProcess) -> bool:
    with suppress(NotAPlainFile):
        found = json_object(sessions.read(f"{name}.json")).get("host")
        return bool(found == host.to_data())
    return False
