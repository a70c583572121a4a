"""`doctor --live`: ask the user's own open session, and watch how far the request gets.

submitted   the request is on disk, the sessions are signalled
heard       a session took its signal: the client runs our hook
claimed     a hook has offered the request to the model
launched    the model has called its Agent tool
answered    the agent's answer was captured, checked and written
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from bridge.api.bridge import Bridge
from bridge.doctor.finding import Finding, ok, problem
from bridge.doctor.subject import Subject
from bridge.errors import BridgeError
from bridge.host.wake_problems import find_wake_problem
from bridge.protocol.failure_codes import MEANINGS, cure_of
from bridge.protocol.ids import RequestId
from bridge.protocol.request import Request
from bridge.protocol.response import Response
from bridge.protocol.wording import seconds
from bridge.store import wakeups
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

# The stages in their order; why one may not be reached, and what helps.
STOPS: dict[str, tuple[str, str]] = {
    "heard": (
        "the session is in the middle of a tool call, or was open before the install",
        "wait until the session is idle, or restart it; see `hooks` and `session`",
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


def ask(subject: Subject, *, timeout_s: float) -> Iterator[Finding]:
    """Ask for a tiny typed answer; one finding for each stage, when it is reached."""
    bridge = Bridge(subject.settings, subject.project)
    # Not asked: where nobody would answer, nothing is left behind.
    test = Request(request_id="test", prompt=PROMPT, created_at=bridge.store.now_ms())
    hosts = bridge.hosts.of(test)
    if why := bridge.hosts.why_waiting(test):
        cause = "a request would wait, or fail at once"
        yield problem(f"nothing was asked: {why.why}", cause, why.ways[0])
        return
    if all(host.host.pid == subject.settings.host_pid for host in hosts):
        yield problem(
            "nothing was asked: this runs inside the only open session, which would "
            "wait for itself",
            "a session answers when its turn comes",
            "run `hostbridge doctor --live` in a terminal beside it",
        )
        return
    request_id = bridge.submit(
        PROMPT, schema=SCHEMA, timeout_s=timeout_s, priority="high"
    )
    # A waiter looks after the request: it wakes sessions again, and notices dead ones.
    waiter = threading.Thread(
        target=_wait, args=(bridge, request_id, timeout_s), daemon=True
    )
    waiter.start()
    yield from _watch(bridge, request_id, hosts, timeout_s)
    waiter.join(1)


def _wait(bridge: Bridge, request_id: RequestId, timeout_s: float) -> None:
    with suppress(BridgeError):
        bridge.wait(request_id, schema=SCHEMA, timeout_s=timeout_s)


def _watch(
    bridge: Bridge, request_id: RequestId, hosts: list[Session], timeout_s: float
) -> Iterator[Finding]:
    reached: set[str] = set()
    begun_s = time.monotonic()
    s = "s" if len(hosts) > 1 else ""
    yield ok(f"submitted {request_id} to {len(hosts)} open session{s}")
    while (elapsed_s := time.monotonic() - begun_s) < timeout_s + 2:
        found = bridge.store.find(request_id)
        if found is None:
            break
        stages = list(_claim_stages(found.request))
        if any(wakeups.unanswered_s(bridge.store, h.host) is None for h in hosts):
            stages.insert(0, ("heard", elapsed_s, "a session took its signal"))
        for stage, at_s, words in stages:
            if stage not in reached:
                reached.add(stage)
                yield ok(f"{stage} after {max(0.0, at_s):.2f} s: {words}")
        if found.response is not None:
            yield _end(found.response, _missing(reached))
            return
        time.sleep(_POLL_S)
    missing = _missing(reached)
    cause, cure = STOPS[missing]
    if missing == "heard" and (why := find_wake_problem(bridge.store, hosts[0])):
        cause, cure = why.cause, why.cure
    with suppress(BridgeError):
        bridge.cancel(request_id)
    found_so_far = f"no answer within {seconds(timeout_s)}; not {missing}"
    yield problem(found_so_far, cause, cure)


def _claim_stages(request: Request | None) -> Iterator[tuple[str, float, str]]:
    """The stages that the claim shows: name, seconds after the start, what happened."""
    claim = request.claim if request else None
    if request is None or claim is None:
        return
    claimed_s = (claim.at - request.created_at) / 1000
    yield "claimed", claimed_s, f"by session {claim.session}"
    if claim.launched_at is not None:
        launched_s = (claim.launched_at - request.created_at) / 1000
        yield "launched", launched_s, "the model called Agent"


def _missing(reached: set[str]) -> str:
    """The stage after the last one that was reached."""
    stages = list(STOPS)
    return stages[1 + max(map(stages.index, reached), default=-1)]


def _end(response: Response, missing: str) -> Finding:
    error, spent_s = response.error, response.duration / 1000
    if error is None:
        answer = json.dumps(response.parsed_output)
        return ok(f"answered after {spent_s:.2f} s: {answer}")
    cause = MEANINGS[error.code]
    cure = cure_of(error.code, error.stage, response.request_id, response.route)
    if error.code == "timeout":
        cause, cure = STOPS[missing]
    found = f"ended after {spent_s:.2f} s with {error.code}: {error.message}"
    return problem(found, cause, cure)
