"""End a request that nobody wants any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.protocol.response import failed

if TYPE_CHECKING:
    from bridge.protocol.ids import RequestId
    from bridge.store.store import Store


def cancel(store: Store, request_id: RequestId) -> bool:
    """Cancel a request; False when it had ended, or there is none.

    A running agent is stopped at its next tool call. `store` is one that does not wait
    long for its lock: who cancels is on the way out.
    """
    found = store.find(request_id)
    if found is None or found.request is None or found.response is not None:
        return False
    why = "cancelled by its user"
    response = failed(found.request, "cancelled", why, now_ms=store.now_ms())
    return store.publish(response, source="cancel")
