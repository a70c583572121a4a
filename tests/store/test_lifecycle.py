"""What becomes of a claimed request."""

from __future__ import annotations

from storeworld import (
    START_US,
    request,
    this_process,
)

from bridge.protocol.claim import Claim
from bridge.protocol.failed_try import FailedTry
from bridge.store.lifecycle import fate_of_claimed


def claimed(**fields: object):
    claim = Claim(session="s", host=this_process(), at=START_US // 1000)
    return request("a", claim=claim, **fields)


def test_every_fate_of_a_claimed_request():
    now_ms = START_US // 1000
    unnamed, late = request("a"), claimed(timeout=5)

    assert fate_of_claimed(claimed(), host_is_gone=False, now_ms=now_ms) is None
    assert fate_of_claimed(unnamed, host_is_gone=False, now_ms=now_ms) is unnamed
    again = fate_of_claimed(claimed(), host_is_gone=True, now_ms=now_ms)
    gone = "the session that held the request is gone, and 2 attempts were used up"
    failed = FailedTry(at=now_ms, code="host_gone", message=gone, attempt=1)
    prompt = again.prompt  # type: ignore[union-attr]
    assert again == claimed(prompt=prompt, attempt=1, failures=(failed,))
    used_up = fate_of_claimed(claimed(attempt=1), host_is_gone=True, now_ms=now_ms)
    assert used_up.error.message == gone  # type: ignore[union-attr]
    ended = fate_of_claimed(late, host_is_gone=False, now_ms=now_ms + 5)
    assert ended.error.message == (  # type: ignore[union-attr]
        "no answer within 0.005 s: it had been offered to a session, which started no "
        "agent"
    )
