"""`doctor --live`: ask the user's own open session, and watch how far it comes.

submitted   the request is on disk, the bells of the sessions ring
heard       a bell was silenced: the client runs our hook
claimed     a hook has offered it to the model
launched    the model has called its Agent tool
answered    the agent's words were taken, checked and written
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bridge.api.bridge import Bridge
from bridge.api.hosts import eligible_hosts
from bridge.doctor.finding import Finding, ok, problem
from bridge.errors import BridgeError
from bridge.host.wake_problems import why_unheard
from bridge.protocol.duration import seconds
from bridge.protocol.failure_codes import MEANINGS, cure_of
from bridge.store import wakeups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.doctor.subject import Subject
    from bridge.protocol.ids import RequestId
    from bridge.store import Found
    from bridge.store.sessions import Session

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"ok": {"const": True}},
    "required": ["ok"],
    "additionalProperties": False,
}
PROMPT = (
    "This is a test of the connection. Use no tools. Answer with this JSON and nothing "
    'else: {"ok": true}'
)
_POLL_S = 0.02

# Where it stopped: the stage that was not reached, why that is likely, what helps.
STOPS: dict[str, tuple[str, str]] = {
    "heard": (
        "the session is in the middle of a tool call, or was open before the install",
        "wait until it is idle, or restart it; see `hooks` and `session` above",
    ),
    "claimed": (
        "the hook ran and took nothing: all slots are taken, or it failed",
        "see `requests` and `hook errors` above",
    ),
    "launched": (
        "the model has not called Agent: a long turn, a dialog, or a refusal",
        "look at the session; restart it, perhaps with another model",
    ),
    "answered": (
        "the agent is at work, or waits for its model",
        "look at the session; try again with a longer --timeout",
    ),
}


@dataclass(slots=True)
class Progress:
    """When each stage was reached, in seconds after the start."""

    reached: dict[str, float] = field(default_factory=dict)

    def note(self, stage: str, at_s: float) -> bool:
        """Write down a stage, once; True when it is new."""
        if stage in self.reached:
            return False
        self.reached[stage] = max(0.0, at_s)
        return True

    def missing(self) -> str:
        """The first stage that was not reached."""
        if "claimed" in self.reached:
            return "answered" if "launched" in self.reached else "launched"
        return "claimed" if "heard" in self.reached else "heard"


def ask(subject: Subject, *, timeout_s: float) -> Iterator[Finding]:
    """Ask for a tiny typed answer; one finding for each stage, as it is reached."""
    bridge = Bridge(subject.settings, subject.project)
    try:
        request_id = bridge.submit(
            PROMPT, schema=SCHEMA, timeout_s=timeout_s, priority="high"
        )
    except BridgeError as exc:
        yield problem("live", str(exc), cause="nothing was asked", cure="as it says")
        return
    found = bridge.store.find(request_id)
    request = found.request if found else None
    hosts = request and eligible_hosts(bridge.store, request)
    refusal = _refusal(subject, hosts or [])
    if refusal is not None:
        with suppress(BridgeError):
            bridge.cancel(request_id)
        yield refusal
        return
    # Whoever waits looks after the request: it rings again, and sees dead sessions.
    waiter = threading.Thread(
        target=_wait, args=(bridge, request_id, timeout_s), daemon=True
    )
    waiter.start()
    yield from _watch(bridge, request_id, hosts or [], timeout_s)
    waiter.join(1)


def _refusal(subject: Subject, hosts: list[Session]) -> Finding | None:
    if not hosts:
        return problem(
            "live",
            f"no open session can take a request in {subject.project}",
            cause="none is open, or those that are do not run our hooks",
            cure=f"cd {subject.project} && claude; see `session` and `switch` above",
        )
    if all(host.host.pid == subject.settings.host_pid for host in hosts):
        return problem(
            "live",
            "this runs inside the only open session, which would wait for itself",
            cause="a session answers when its turn comes",
            cure="run `hostbridge doctor --live` in a terminal beside it",
        )
    return None


def _watch(
    bridge: Bridge, request_id: RequestId, hosts: list[Session], timeout_s: float
) -> Iterator[Finding]:
    progress = Progress()
    begun = time.monotonic()
    progress.note("submitted", 0)
    yield ok("live", f"submitted {request_id} to {len(hosts)} open session(s)")
    while time.monotonic() - begun < timeout_s + 2:
        found = bridge.store.find(request_id)
        if found is None:
            break
        elapsed_s = time.monotonic() - begun
        is_heard = not all(_rings(bridge, host) for host in hosts)
        if is_heard and progress.note("heard", elapsed_s):
            yield ok("live", f"heard after {elapsed_s:.2f} s: a bell was silenced")
        yield from _stages(found, progress)
        if found.response is not None:
            yield _end(found, progress)
            return
        time.sleep(_POLL_S)
    cause, cure = STOPS[progress.missing()]
    if progress.missing() == "heard":
        why = why_unheard(bridge.store, hosts[0]) if hosts else None
        cause, cure = (why.cause, why.cure) if why else (cause, cure)
    with suppress(BridgeError):
        bridge.cancel(request_id)
    yield problem(
        "live",
        f"no answer within {seconds(timeout_s)}; not {progress.missing()}",
        cause=cause,
        cure=cure,
    )


def _stages(found: Found, progress: Progress) -> Iterator[Finding]:
    """What the claim tells: it carries its own times."""
    request = found.request
    claim = request.claim if request else None
    if request is None or claim is None:
        return
    claimed_s = (claim.at - request.created_at) / 1000
    if progress.note("claimed", claimed_s):
        yield ok("live", f"claimed after {claimed_s:.2f} s by session {claim.session}")
    if claim.launched_at is not None:
        launched_s = (claim.launched_at - request.created_at) / 1000
        if progress.note("launched", launched_s):
            yield ok(
                "live", f"launched after {launched_s:.2f} s: the model called Agent"
            )


def _end(found: Found, progress: Progress) -> Finding:
    response = found.response
    assert response is not None  # noqa: S101 - the caller has looked
    spent_s = response.duration / 1000
    if response.error is None:
        return ok("live", f"answered after {spent_s:.2f} s: {response.parsed_output}")
    error, request_id = response.error, response.request_id
    cause, cure = MEANINGS[error.code], cure_of(error.code, error.stage, request_id)
    if error.code == "timeout":
        cause, cure = STOPS[progress.missing()]
    return problem(
        "live",
        f"ended after {spent_s:.2f} s with {error.code}: {error.message}",
        cause=cause,
        cure=cure,
    )


def _rings(bridge: Bridge, host: Session) -> bool:
    bell = bridge.store.place.state / "bell" / wakeups.folder_name(host.host)
    return (bell / wakeups.SIGNAL).exists()


def _wait(bridge: Bridge, request_id: RequestId, timeout_s: float) -> None:
    with suppress(BridgeError):
        bridge.wait(request_id, schema=SCHEMA, timeout_s=timeout_s)
